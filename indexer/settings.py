"""What the indexer can be told, read once at the composition root and passed in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from indexer.errors import InvalidSettingError

DEFAULT_ENCODER = "static"
_MOST_HOURS: Final = 24 * 366


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantSettings:
    """How a Qdrant server or cluster keeps the catalog, and how several gateways follow it there."""

    url: str | None = None
    """TOOLSCOUT_QDRANT_URL: a Qdrant server; without it Qdrant is embedded under the home."""
    api_key: str | None = field(default=None, repr=False)
    """TOOLSCOUT_QDRANT_API_KEY."""
    collection: str = "toolscout"
    """TOOLSCOUT_COLLECTION: the alias on that server, and the beginning of the names of the collections behind it."""
    shards: int | None = None
    """TOOLSCOUT_QDRANT_SHARDS: of a collection that is made; None: as many as the server takes."""
    replicas: int = 1
    """TOOLSCOUT_QDRANT_REPLICATION: how often each shard is kept, of a collection that is made."""
    write_consistency: int = 1
    """TOOLSCOUT_QDRANT_WRITE_CONSISTENCY: replicas that must have a change before it counts."""
    timeout_seconds: int = 30
    """TOOLSCOUT_QDRANT_TIMEOUT: how long one request may take, and for how long it is tried again."""
    poll_seconds: float = 0.5
    """TOOLSCOUT_POLL_INTERVAL: how often this gateway asks what others have changed."""
    tombstone_hours: int = 168
    """TOOLSCOUT_TOMBSTONE_HOURS: a gateway that was away for longer reads everything again when it comes back."""
    memory_budget_mb: int | None = None
    """TOOLSCOUT_MEMORY_BUDGET_MB: a catalog that needs more is searched on the server; None: always in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerSettings:
    """Where the catalog lives and which encoder reads it."""

    home: Path
    """TOOLSCOUT_HOME: everything kept on this machine. Default: `~/.local/share/toolscout`."""
    encoder: str = DEFAULT_ENCODER
    """TOOLSCOUT_ENCODER: `static`, `use-multilingual`, `use-multilingual-untuned`, `sentence-transformers:NAME`,
    `openai:MODEL` or `hashing`."""
    qdrant: QdrantSettings = QdrantSettings()
    recall: float = 1.0
    """TOOLSCOUT_RECALL: share of the ten best tools that a search of a large catalog must find, 0.9 to 1. Below 1 they
    are found by sign bits, which take an eighth of the memory of the bounds that find them all and half of the time of
    the slowest searches; half of the searches take as long."""

    store_process: bool = True
    """TOOLSCOUT_STORE_PROCESS: whether what runs for long gives the embedded Qdrant a process of its own, 1 or 0. Its
    calls hold the interpreter; where they do so in the process that searches, searches wait for writes."""

    def __post_init__(self) -> None:
        """A home given as text is one all the same."""
        object.__setattr__(self, "home", Path(self.home))

    @property
    def qdrant_url(self) -> str | None:
        """The server, if the catalog is on one."""
        return self.qdrant.url

    @property
    def snapshot_directory(self) -> Path:
        """Where files lie that can be derived from a store again."""
        return self.home / "snapshots"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "IndexerSettings":
        """Read the settings from environment variables (this process's own by default).

        Raises: InvalidSettingError for a value that cannot be used.
        """
        env = os.environ if environment is None else environment
        home = env.get("TOOLSCOUT_HOME")
        return cls(
            home=Path(home).expanduser() if home else Path.home() / ".local" / "share" / "toolscout",
            encoder=env.get("TOOLSCOUT_ENCODER") or DEFAULT_ENCODER,
            qdrant=_qdrant_settings(env),
            recall=_number(env, "TOOLSCOUT_RECALL", 1, low=0.9, high=1, whole=False),
            store_process=_number(env, "TOOLSCOUT_STORE_PROCESS", 1, low=0, high=1) == 1,
        )


def _qdrant_settings(env: Mapping[str, str]) -> QdrantSettings:
    replicas = int(_number(env, "TOOLSCOUT_QDRANT_REPLICATION", 1, low=1, high=16))
    consistency = int(_number(env, "TOOLSCOUT_QDRANT_WRITE_CONSISTENCY", 1, low=1, high=16))
    if consistency > replicas:
        raise InvalidSettingError(
            f"TOOLSCOUT_QDRANT_WRITE_CONSISTENCY={consistency} is more than there are replicas "
            f"(TOOLSCOUT_QDRANT_REPLICATION={replicas}); no change could ever count. Set it to 1..{replicas}"
        )
    return QdrantSettings(
        url=_url(env, "TOOLSCOUT_QDRANT_URL"),
        api_key=env.get("TOOLSCOUT_QDRANT_API_KEY") or None,
        collection=_collection(env),
        shards=_optional(env, "TOOLSCOUT_QDRANT_SHARDS", low=1, high=1024),
        replicas=replicas,
        write_consistency=consistency,
        timeout_seconds=int(_number(env, "TOOLSCOUT_QDRANT_TIMEOUT", 30, low=1, high=600)),
        poll_seconds=_number(env, "TOOLSCOUT_POLL_INTERVAL", 0.5, low=0.05, high=3600, whole=False),
        tombstone_hours=int(_number(env, "TOOLSCOUT_TOMBSTONE_HOURS", 168, low=1, high=_MOST_HOURS)),
        memory_budget_mb=_optional(env, "TOOLSCOUT_MEMORY_BUDGET_MB", low=1, high=1 << 30),
    )


def _url(env: Mapping[str, str], name: str) -> str | None:
    text = (env.get(name) or "").rstrip("/")
    if text and not text.startswith(("http://", "https://")):
        raise InvalidSettingError(f"{name}={text!r} is no address; write http://HOST:6333 or https://HOST")
    return text or None


def _collection(env: Mapping[str, str]) -> str:
    name = env.get("TOOLSCOUT_COLLECTION") or "toolscout"
    if len(name) > 200 or name in (".", "..") or any(letter in '<>:"/\\|?*\0\x1f' for letter in name):
        raise InvalidSettingError(
            f"TOOLSCOUT_COLLECTION={name!r} is no name for a collection; use letters, digits, - and _ (200 at most)"
        )
    return name


def _optional(env: Mapping[str, str], name: str, *, low: int, high: int) -> int | None:
    return int(_number(env, name, low, low=low, high=high)) if env.get(name) else None


def _number(env: Mapping[str, str], name: str, default: float, *, low: float, high: float, whole: bool = True) -> float:
    text = env.get(name)
    if not text:
        return default
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        kind = "whole number" if whole else "number"
        raise InvalidSettingError(f"{name}={text!r} is no {kind}; set it to {low}..{high}, or unset it") from None
    if not low <= number <= high:  # also what is not a number at all
        raise InvalidSettingError(f"{name}={text} is out of range; set it to {low}..{high}, or unset it")
    return number
