"""What the indexer can be told, read once at the composition root and passed in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_ENCODER = "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerSettings:
    """Where the catalog lives and which encoder reads it."""

    home: Path
    """TOOLSCOUT_HOME: everything kept on this machine. Default: `~/.local/share/toolscout`."""
    qdrant_url: str | None = None
    """TOOLSCOUT_QDRANT_URL: a Qdrant server; without it Qdrant is embedded under `home`."""
    qdrant_api_key: str | None = None
    """TOOLSCOUT_QDRANT_API_KEY."""
    collection: str = "toolscout"
    """TOOLSCOUT_COLLECTION: the collection on a Qdrant server."""
    encoder: str = DEFAULT_ENCODER
    """TOOLSCOUT_ENCODER: `static`, `use-multilingual`, `sentence-transformers:NAME`, `openai:MODEL` or `hashing`."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "IndexerSettings":
        """Read the settings from environment variables (this process's own by default)."""
        env = os.environ if environment is None else environment
        home = env.get("TOOLSCOUT_HOME")
        return cls(
            home=Path(home).expanduser() if home else Path.home() / ".local" / "share" / "toolscout",
            qdrant_url=env.get("TOOLSCOUT_QDRANT_URL") or None,
            qdrant_api_key=env.get("TOOLSCOUT_QDRANT_API_KEY") or None,
            collection=env.get("TOOLSCOUT_COLLECTION") or "toolscout",
            encoder=env.get("TOOLSCOUT_ENCODER") or DEFAULT_ENCODER,
        )
