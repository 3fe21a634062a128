"""The innermost advisor: it calls the model."""

from collections.abc import AsyncIterator

from gateway.advisors.chain import LOWEST_PRECEDENCE, CallAdvisorChain
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RoundFinished, RunEvent, RunFinished
from gateway.errors import TruncatedStreamError
from gateway.models.base import ChatModel


class ChatModelCallAdvisor:
    """Ends the chain: the prompt goes to the model as the advisors outside have left it."""

    name = "ChatModelCallAdvisor"
    order = LOWEST_PRECEDENCE

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        return ChatClientResponse(response=await self._model.call(request.prompt), context=request.context)

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        finished: RoundFinished | None = None
        stream = self._model.stream(request.prompt)
        try:
            async for event in stream:
                if isinstance(event, RoundFinished):
                    finished = event
                yield event
        finally:
            await close_stream(stream)
        if finished is None:
            raise TruncatedStreamError(
                "the model's stream ended before its message was complete; no tool of it was run"
            )
        yield RunFinished(response=ChatClientResponse(response=finished.response, context=request.context))


async def close_stream(stream: AsyncIterator[object]) -> None:
    """Close a stream that may have been left early, so that what it holds open is let go at once."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
