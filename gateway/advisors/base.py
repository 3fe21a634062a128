"""An advisor that only looks at, or changes, what goes in and what comes out."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from gateway.advisors.chain import CallAdvisorChain
from gateway.advisors.chat_model import close_stream
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunEvent, RunFinished, StopReason
from gateway.chat.memory import Turn
from gateway.chat.messages import Message


class HistoryAdvisor(Protocol):
    """An advisor that remembers; found inside the loop, it takes the place of the loop's own history."""

    async def earlier_turns(self, request: ChatClientRequest) -> Sequence[Turn]:
        """What it remembers of the request's conversation."""
        ...


class EndListener(Protocol):
    """An advisor inside the loop that wants to hear of an end which no model call shows it."""

    async def run_ended(
        self, request: ChatClientRequest, messages: Sequence[Message], stop_reason: StopReason | None
    ) -> None:
        """`messages` are all that the run has added; `stop_reason` is None if it failed or was cancelled."""
        ...


class BaseAdvisor:
    """Two hooks, the same for call and stream; a subclass overrides one or both and holds no state of a request."""

    name: str = "BaseAdvisor"
    order: int = 0

    async def before(self, request: ChatClientRequest) -> ChatClientRequest:
        """What goes further in."""
        return request

    async def after(self, request: ChatClientRequest, response: ChatClientResponse) -> ChatClientResponse:
        """What goes back out; `request` is what went further in."""
        return response

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        request = await self.before(request)
        return await self.after(request, await chain.next_call(request))

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        request = await self.before(request)
        events = chain.next_stream(request)
        try:
            async for event in events:
                if isinstance(event, RunFinished):
                    event = RunFinished(response=await self.after(request, event.response))
                yield event
        finally:
            await close_stream(events)
