"""An index that answers an equal search from memory: several deliveries ask the same of the same view."""

from collections.abc import Callable, Iterable, Sequence

from indexer import (
    IndexStats,
    RegistrationReport,
    RejectedTool,
    SearchScope,
    StoredTool,
    ToolDefinition,
    ToolIndex,
    ToolKey,
    ToolSearchRequest,
    ToolSearchResponse,
)


class RememberingIndex:
    """A tool index over another whose catalog does not change meanwhile."""

    def __init__(self, index: ToolIndex) -> None:
        self._index = index
        self._known: dict[ToolSearchRequest, ToolSearchResponse] = {}
        self.search_ms: list[float] = []
        """Of the searches that were made, not remembered."""

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        response = self._known.get(request)
        if response is None:
            response = self._known[request] = await self._index.search(request)
            self.search_ms.append(response.took_ms)
        return response

    def forget(self) -> None:
        """Let go of what will not be asked again."""
        self._known.clear()

    # The rest is the index's own.

    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        self.forget()
        return await self._index.register(entries, progress=progress)

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        self.forget()
        return await self._index.delete(keys)

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
