"""An index that answers an equal search from memory: several deliveries ask the same of the same view."""

from collections.abc import Callable, Iterable

from typing_extensions import override

from indexer import (
    ForwardingToolIndex,
    RegistrationReport,
    RejectedTool,
    ToolDefinition,
    ToolIndex,
    ToolKey,
    ToolSearchRequest,
    ToolSearchResponse,
)


class RememberingIndex(ForwardingToolIndex):
    """A tool index over another whose catalog does not change meanwhile."""

    def __init__(self, index: ToolIndex) -> None:
        super().__init__(index)
        self._known: dict[ToolSearchRequest, ToolSearchResponse] = {}
        self.search_ms: list[float] = []
        """Of the searches that were made, not remembered."""

    @override
    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        response = self._known.get(request)
        if response is None:
            response = self._known[request] = await self._index.search(request)
            self.search_ms.append(response.took_ms)
        return response

    def forget(self) -> None:
        """Let go of what will not be asked again."""
        self._known.clear()

    @override
    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        self.forget()
        return await super().register(entries, progress=progress)

    @override
    async def delete(self, keys: Iterable[ToolKey]) -> int:
        self.forget()
        return await super().delete(keys)
