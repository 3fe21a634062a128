"""The `ToolIndex` Protocol: the catalog as everything above it sees it. `vector_index` implements it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from indexer.definition import ToolDefinition, ToolKey
from indexer.search import RegistrationReport, RejectedTool, SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.stores.base import StoredTool


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStats:
    """What the index holds and what that costs."""

    tools: int
    quarantined: int
    namespaces: int
    catalog_revision: int
    encoder_id: str
    dimensions: int
    store: str
    """'edge', 'qdrant' or 'memory'."""
    parts_bytes: dict[str, int] = field(default_factory=dict[str, int])
    """Memory by part: vectors, lexical, definitions, columns; bounds or bits of a large catalog."""
    search: str = ""
    """How one search of the whole catalog reads the vectors, and why."""
    stale: bool = False
    """The store has not answered for a while, or the catalog is not this process's any more."""
    silence_seconds: float = 0.0
    """How long ago a store on a server last answered; 0 for an embedded one."""
    problem: str = ""
    """Why it does not answer, for people."""


class ToolIndex(Protocol):
    """The catalog as everything above it sees it."""

    async def register(
        self,
        entries: Iterable[ToolDefinition | RejectedTool],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> RegistrationReport:
        """Add or change tools; what has not changed is not embedded again. Streams in batches.

        A `RejectedTool` among the entries (a source or a parser could not read it) goes into the report's
        `refused`. `progress` hears how many entries are done so far. On return they are durable and the next
        search sees them.
        """
        ...

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """Delete tools; how many there were."""
        ...

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse: ...

    async def get(self, key: ToolKey) -> StoredTool | None:
        """A tool that is active or quarantined; None for one that never was or was deleted."""
        ...

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        """The active tools in scope behind model-facing aliases; names that are not in scope are left out."""
        ...

    async def list_tools(
        self, scope: SearchScope, *, offset: int = 0, limit: int = 100, quarantined: bool = False
    ) -> Sequence[StoredTool]:
        """Tools in scope in order of namespace and name; only quarantined ones if asked."""
        ...

    async def namespaces(self, scope: SearchScope) -> dict[str, int]:
        """Namespaces in scope and how many active tools each holds."""
        ...

    async def pinned(self, scope: SearchScope) -> Sequence[ToolDefinition]:
        """Active tools in scope that every request shows, in order of namespace and name."""
        ...

    async def stats(self) -> IndexStats: ...

    async def aclose(self) -> None:
        """Save the replica's snapshot and let go of the store."""
        ...
