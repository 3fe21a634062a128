"""An index that hands everything on to another: what wraps one overrides only what it changes."""

from collections.abc import Callable, Iterable, Sequence

from indexer.definition import ToolDefinition, ToolKey
from indexer.index import IndexStats, ToolIndex
from indexer.search import RegistrationReport, RejectedTool, SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.stores.base import StoredTool


class ForwardingToolIndex:
    """A `ToolIndex` over another, which a subclass changes in part; closing it closes the one within."""

    def __init__(self, index: ToolIndex) -> None:
        self._index = index

    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        return await self._index.register(entries, progress=progress)

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        return await self._index.delete(keys)

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        return await self._index.search(request)

    async def get(self, key: ToolKey) -> StoredTool | None:
        return await self._index.get(key)

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        return await self._index.resolve(names, scope)

    async def list_tools(
        self, scope: SearchScope, *, offset: int = 0, limit: int = 100, quarantined: bool = False
    ) -> Sequence[StoredTool]:
        return await self._index.list_tools(scope, offset=offset, limit=limit, quarantined=quarantined)

    async def namespaces(self, scope: SearchScope) -> dict[str, int]:
        return await self._index.namespaces(scope)

    async def pinned(self, scope: SearchScope) -> Sequence[ToolDefinition]:
        return await self._index.pinned(scope)

    async def stats(self) -> IndexStats:
        return await self._index.stats()

    async def aclose(self) -> None:
        await self._index.aclose()
