"""The seam between the loop and a model."""

from collections.abc import AsyncIterator
from typing import Protocol

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
