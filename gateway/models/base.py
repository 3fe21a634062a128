"""The seam between the loop and a model."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from gateway.chat.exchange import ChatResponse, ModelEvent
from gateway.chat.prompt import Prompt


class ChatModel(Protocol):
    """One model call; knows nothing of tools being run."""

    async def call(self, prompt: Prompt) -> ChatResponse:
        """The model's answer. Raises: ModelError."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
        """Deltas as they come, then one RoundFinished. Raises: ModelError, TruncatedStreamError."""
        ...

    async def aclose(self) -> None: ...


@runtime_checkable
class ModelLister(Protocol):
    """A chat model whose endpoint can say which models it has."""

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """The endpoint's own entries, each with an `id`. Raises: ModelError."""
        ...
