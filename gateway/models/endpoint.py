"""Where a model is reached: its addresses, and what of them and of its key may be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.settings import shown_url

_HIDDEN: Final = "[hidden]"
_SHORTEST_SECRET: Final = 16
"""Characters of a real key; shorter ones (`ollama`, `lm-studio`) are words that an error may well hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """An OpenAI-compatible endpoint, `https://host/v1`; a query, as some clouds ask for, stays behind each path."""

    url: str
    key: str | None = field(default=None, repr=False)

    def at(self, path: str) -> str:
        """The address of a path below the endpoint."""
        base, mark, query = self.url.partition("?")
        return f"{base.rstrip('/')}{path}{mark}{query}"

    def named(self, path: str) -> str:
        """An address as logs and errors may show it: without the user, password and query of the URL."""
        return shown_url(self.url) + path

    @property
    def headers(self) -> dict[str, str]:
        """The key, where there is one."""
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def without_key(self, body: bytes) -> bytes:
        """What the endpoint says, fit for others to read: some servers repeat the key that they refuse."""
        if self.key is None or len(self.key) < _SHORTEST_SECRET:
            return body
        return body.replace(self.key.encode(), _HIDDEN.encode())


def sendable(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as the bytes that they came as: a server reads them as Latin-1, and httpx takes only ASCII as text."""
    return [(name.encode(), _bytes_of(value)) for name, value in headers.items()]


def _bytes_of(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()
