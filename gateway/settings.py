"""What the gateway can be told, read once at the composition root and passed in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from gateway.errors import ConfigurationError

MOST_TOOL_SECONDS: Final = 3600
"""The longest that an operator can let a tool run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopSettings:
    """Bounds of one run of the tool loop."""

    max_rounds: int = 10
    """Rounds in which tools run; one more wish for tools ends the run with a normal answer that says so."""
    max_results: int = 5
    """The operator's cap on tools per search; a model may ask for fewer."""
    tool_timeout_seconds: float = 30.0
    search_context: bool = True
    """TOOLSCOUT_SEARCH_CONTEXT: a search is also told what the user said; its encoder reads it like a query."""
    max_concurrent_calls: int = 8
    """Calls of one round that run at the same time."""
    max_calls: int = 200
    """Tool calls of one run, however many rounds they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOfferSettings:
    """What a model is shown before it has searched; all of it is off unless it is asked for."""

    passthrough_tokens: int = 0
    """A catalog whose tools take no more prompt tokens than this is shown whole, without a search tool."""
    preload_min_score: float | None = None
    """Tools that match what the user says at least so well, 0 to 1, are shown at once."""
    preload_max: int = 3
    """Tools shown at once for one message of the user."""
    described_namespaces: int = 0
    """The search tool names the caller's namespaces if there are no more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSafetySettings:
    """When a run that repeats itself is ended."""

    max_blocks: int = 3
    """Calls for what is already done that are answered with BLOCKED; one more ends the run."""
    max_stops: int = 5
    """Calls that repeat the one before that are answered with STOP; one more ends the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Where the gateway listens, which model it talks to, and how far a run may go."""

    host: str = "127.0.0.1"
    """TOOLSCOUT_HOST."""
    port: int = 8080
    """TOOLSCOUT_PORT."""
    api_key: str | None = None
    """TOOLSCOUT_API_KEY: what callers must send as a bearer token; needed to listen beyond loopback."""
    upstream_url: str | None = None
    """TOOLSCOUT_UPSTREAM_URL: an OpenAI-compatible endpoint, `https://host/v1`; without it a scripted model answers."""
    upstream_key: str | None = None
    """TOOLSCOUT_UPSTREAM_KEY."""
    upstream_model: str = ""
    """TOOLSCOUT_UPSTREAM_MODEL: used where a request names no model."""
    upstream_timeout_seconds: float = 120.0
    """TOOLSCOUT_UPSTREAM_TIMEOUT: how long to wait for the next byte of the model."""
    keep_alive_seconds: float = 10.0
    """How long a stream may have nothing to say before a comment keeps its connection open."""
    loop: ToolLoopSettings = field(default_factory=ToolLoopSettings)
    first_offer: FirstOfferSettings = field(default_factory=FirstOfferSettings)
    safety: LoopSafetySettings = field(default_factory=LoopSafetySettings)
    trace: bool = False
    """TOOLSCOUT_TRACE: write every tool call, result and thought to standard error, for a developer to read."""

    @property
    def upstream_shown(self) -> str | None:
        """The upstream's URL as anyone may see it."""
        return None if self.upstream_url is None else shown_url(self.upstream_url)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "GatewaySettings":
        """Read the settings from environment variables (this process's own by default).

        Raises: ConfigurationError for a value that is not of its kind.
        """
        env = os.environ if environment is None else environment
        return cls(
            host=env.get("TOOLSCOUT_HOST") or "127.0.0.1",
            port=_whole_number(env, "TOOLSCOUT_PORT", 8080, low=0, high=65535),
            api_key=_key(env, "TOOLSCOUT_API_KEY"),
            upstream_url=_url(env, "TOOLSCOUT_UPSTREAM_URL"),
            upstream_key=_key(env, "TOOLSCOUT_UPSTREAM_KEY"),
            upstream_model=env.get("TOOLSCOUT_UPSTREAM_MODEL") or "",
            upstream_timeout_seconds=float(_whole_number(env, "TOOLSCOUT_UPSTREAM_TIMEOUT", 120, low=1, high=3600)),
            loop=ToolLoopSettings(
                max_rounds=_whole_number(env, "TOOLSCOUT_MAX_ROUNDS", 10, low=1, high=100),
                max_results=_whole_number(env, "TOOLSCOUT_MAX_RESULTS", 5, low=1, high=20),
                tool_timeout_seconds=float(
                    _whole_number(env, "TOOLSCOUT_TOOL_TIMEOUT", 30, low=1, high=MOST_TOOL_SECONDS)
                ),
                search_context=bool(_whole_number(env, "TOOLSCOUT_SEARCH_CONTEXT", 1, low=0, high=1)),
                max_calls=_whole_number(env, "TOOLSCOUT_MAX_CALLS", 200, low=1, high=100_000),
            ),
            first_offer=FirstOfferSettings(
                passthrough_tokens=_whole_number(env, "TOOLSCOUT_PASSTHROUGH_TOKENS", 0, low=0, high=1_000_000),
                preload_min_score=_share(env, "TOOLSCOUT_PRELOAD_SCORE"),
                preload_max=_whole_number(env, "TOOLSCOUT_PRELOAD_MAX", 3, low=1, high=20),
                described_namespaces=_whole_number(env, "TOOLSCOUT_DESCRIBED_NAMESPACES", 0, low=0, high=1000),
            ),
            safety=LoopSafetySettings(
                max_blocks=_whole_number(env, "TOOLSCOUT_MAX_BLOCKS", 3, low=0, high=100),
                max_stops=_whole_number(env, "TOOLSCOUT_MAX_STOPS", 5, low=0, high=100),
            ),
            trace=bool(_whole_number(env, "TOOLSCOUT_TRACE", 0, low=0, high=1)),
        )


def shown_url(url: str) -> str:
    """A URL without the user, password and query that it may hold."""
    base = url.partition("?")[0].rstrip("/")
    scheme, mark, rest = base.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _key(env: Mapping[str, str], name: str) -> str | None:
    """A key without the line end that a file of secrets leaves behind it; never shown."""
    key = (env.get(name) or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigurationError(f"{name} holds a character that no HTTP header carries; set it to letters and digits")
    return key or None


def _url(env: Mapping[str, str], name: str) -> str | None:
    """An HTTP URL; what is wrong with one is said without it, for it may hold a password."""
    url = (env.get(name) or "").strip().rstrip("/")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or "#" in url or not url.isprintable() or " " in url:
        raise ConfigurationError(f"{name} is no URL of an endpoint; set it to one like https://host/v1, or unset it")
    return url


def _share(env: Mapping[str, str], name: str) -> float | None:
    text = env.get(name)
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # which what is not a number is not, either
        raise ConfigurationError(f"{name}={text!r} is no share; set it to a number from 0 to 1, or unset it")
    return share


def _whole_number(env: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    text = env.get(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise ConfigurationError(
            f"{name}={text!r} is not a whole number; set it to {low}..{high}, or unset it"
        ) from None
    if not low <= number <= high:
        raise ConfigurationError(f"{name}={number} is out of range; set it to {low}..{high}, or unset it")
    return number
