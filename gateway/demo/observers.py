"""Wrappers that listen: to the searches of an index, and to what a model is given."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from gateway.chat.exchange import ChatResponse, ModelEvent
from gateway.chat.prompt import Prompt
from gateway.models.base import ChatModel
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


class ObservedModel:
    """A chat model that tells what it was given, before it answers."""

    def __init__(self, model: ChatModel, on_prompt: Callable[[Prompt], None]) -> None:
        self._model = model
        self._on_prompt = on_prompt

    async def call(self, prompt: Prompt) -> ChatResponse:
        self._on_prompt(prompt)
        return await self._model.call(prompt)

    def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
        self._on_prompt(prompt)
        return self._model.stream(prompt)

    async def aclose(self) -> None:
        await self._model.aclose()


class ObservedIndex:
    """A tool index that tells what every search asked and found."""

    def __init__(self, index: ToolIndex, on_search: Callable[[ToolSearchRequest, ToolSearchResponse], None]) -> None:
        self._index = index
        self._on_search = on_search

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        response = await self._index.search(request)
        self._on_search(request, response)
        return response

    # The rest is the index's own.

    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        return await self._index.register(entries, progress=progress)

    async def delete(self, keys: Iterable[ToolKey]) -> int:
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
