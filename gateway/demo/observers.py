"""Wrappers that listen: to the searches of an index, and to what a model is given."""

from collections.abc import AsyncIterator, Callable

from typing_extensions import override

from gateway.chat.exchange import ChatResponse, ModelEvent
from gateway.chat.prompt import Prompt
from gateway.models.base import ChatModel
from indexer import ForwardingToolIndex, ToolIndex, ToolSearchRequest, ToolSearchResponse


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


class ObservedIndex(ForwardingToolIndex):
    """A tool index that tells what every search asked and found."""

    def __init__(self, index: ToolIndex, on_search: Callable[[ToolSearchRequest, ToolSearchResponse], None]) -> None:
        super().__init__(index)
        self._on_search = on_search

    @override
    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        response = await self._index.search(request)
        self._on_search(request, response)
        return response
