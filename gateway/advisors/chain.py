"""The advisor chain: an immutable value, so that any round may run it again from any point."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Protocol, cast, runtime_checkable

from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunEvent

HIGHEST_PRECEDENCE: Final = -(2**31)
LOWEST_PRECEDENCE: Final = 2**31 - 1


class Advisor(Protocol):
    """Something that happens around what lies further in; shared between requests, so it holds no request state."""

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int:
        """Smaller is outer; ties keep the order in which they were added."""
        ...


@runtime_checkable
class CallAdvisor(Advisor, Protocol):
    """An advisor around calls that are answered whole."""

    async def advise_call(self, request: ChatClientRequest, chain: "CallAdvisorChain") -> ChatClientResponse: ...


@runtime_checkable
class StreamAdvisor(Advisor, Protocol):
    """An advisor around calls whose answer comes in pieces."""

    def advise_stream(self, request: ChatClientRequest, chain: "CallAdvisorChain") -> AsyncIterator[RunEvent]:
        """Events, the last of them RunFinished."""
        ...


@dataclass(frozen=True, slots=True)
class CallAdvisorChain:
    """Advisors, outermost first; the last one calls the model. Serves call and stream."""

    advisors: tuple[Advisor, ...]
    position: int = 0

    @classmethod
    def of(cls, *advisors: Advisor) -> "CallAdvisorChain":
        """A chain sorted by order; equal orders keep their place."""
        return cls(tuple(sorted(advisors, key=lambda advisor: advisor.order)))

    async def next_call(self, request: ChatClientRequest) -> ChatClientResponse:
        """Hand over to the next advisor that advises calls."""
        for position in range(self.position, len(self.advisors)):
            # Asking the Protocol costs a hundred times as much, in every round.
            if hasattr(self.advisors[position], "advise_call"):
                return await cast("CallAdvisor", self.advisors[position]).advise_call(request, self._after(position))
        raise LookupError("the chain has no further advisor: the innermost one must call the model")

    def next_stream(self, request: ChatClientRequest) -> AsyncIterator[RunEvent]:
        """Hand over to the next advisor that advises streams."""
        for position in range(self.position, len(self.advisors)):
            if hasattr(self.advisors[position], "advise_stream"):
                return cast("StreamAdvisor", self.advisors[position]).advise_stream(request, self._after(position))
        raise LookupError("the chain has no further advisor: the innermost one must call the model")

    def copy(self, after: Advisor) -> "CallAdvisorChain":
        """The part of the chain inside an advisor, ready to run again. Raises: LookupError if it is not in it."""
        for position, advisor in enumerate(self.advisors):
            if advisor is after:
                return self._after(position)
        raise LookupError(f"the advisor {after.name} is not in this chain")

    def _after(self, position: int) -> "CallAdvisorChain":
        return CallAdvisorChain(self.advisors, position + 1)
