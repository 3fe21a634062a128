"""What a peer, a tool search made by others, must offer to be measured beside the product."""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from indexer import Embedder, ToolDefinition


class PeerSearch(Protocol):
    """A catalog under a peer's search."""

    def rank(self, query: str, k: int) -> list[int]:
        """Rows of the k best tools, best first."""
        ...


class Peer(Protocol):
    """A peer as it is installed, if it is."""

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str:
        """The distribution that must be installed."""
        ...

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> PeerSearch:
        """Index a catalog. Peers that bring no encoder of their own may use ours. Raises: ImportError."""
        ...


class RankedBy:
    """A peer's search as one function of query and k that gives rows."""

    def __init__(self, search: Callable[[str, int], Sequence[int]]) -> None:
        self._search = search

    def rank(self, query: str, k: int) -> list[int]:
        return list(dict.fromkeys(self._search(query, k)))[:k]


def installed_version(peer: Peer) -> str | None:
    """The version of a peer's distribution; None where it is not installed."""
    try:
        return version(peer.package)
    except PackageNotFoundError:
        return None


def row_names(tools: Sequence[ToolDefinition]) -> list[str]:
    """A name of each tool that no other has: its own where that is unique, else with its namespace and row."""
    names: list[str] = []
    taken: set[str] = set()
    for row, tool in enumerate(tools):
        name = tool.name if tool.name not in taken else f"{tool.namespace}_{tool.name}_{row}"
        names.append(name)
        taken.add(name)
    return names


def schema_of(tool: ToolDefinition) -> dict[str, Any]:
    """A tool's input schema as a dict that peers may change."""
    return dict(tool.input_schema) or {"type": "object", "properties": {}}
