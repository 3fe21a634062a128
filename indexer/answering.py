"""Who waits for whom: searches that ask at the same moment are answered in one pass over the catalog."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, final

import anyio.to_thread

from indexer.replica_state import ReplicaState
from indexer.search import ToolSearchRequest, ToolSearchResponse

Answer = Callable[[ReplicaState, Sequence[ToolSearchRequest]], list[ToolSearchResponse]]
"""Answers several requests from one state, in their order."""

INLINE_BYTES: Final = 16 * 2**20
"""Vectors that one search reads in about a millisecond: where there are more, searches leave the event loop. In a
thread a small one takes twice as long, because it and the loop wait for the interpreter lock in turn."""
INLINE_BATCH: Final = 16
"""Searches that hold the event loop at a time, where so many wait: some 10 ms of it, at 10,000 tools. Eight would take
a tenth longer each, 32 a twentieth less."""
THREAD_BATCH: Final = 32


@final
class _Ticket:
    """A request that waits for its answer, or for its turn to answer."""

    def __init__(self, state: ReplicaState, request: ToolSearchRequest) -> None:
        self.state = state
        self.request = request
        self.called: asyncio.Future[None] | None = None
        """Done when there is an outcome, or a turn; None for one that does not wait."""
        self.leads = False
        self.left = False
        """Whoever asked waits no longer."""
        self.outcome: ToolSearchResponse | Exception | None = None

    def settle(self, outcome: ToolSearchResponse | Exception) -> None:
        self.outcome = outcome
        self._call()

    def lead(self) -> None:
        self.leads = True
        self._call()

    def _call(self) -> None:
        if self.called is not None and not self.called.done():  # cancelled
            self.called.set_result(None)


@final
class SearchLane:
    """Answers one batch at a time: whoever comes first answers for all that wait by then, then hands over.

    With one caller that is a plain call; the more callers wait, the more of them share each reading of the vectors.
    """

    def __init__(self, answer: Answer, *, may_hold_loop: Callable[[], bool]) -> None:
        """`may_hold_loop`: whether a search over few vectors is sure to be short, its encoder being quick."""
        self._answer = answer
        self._may_hold_loop = may_hold_loop
        self._waiting: deque[_Ticket] = deque()
        self._busy = False

    async def search(self, state: ReplicaState, request: ToolSearchRequest) -> ToolSearchResponse:
        """Answer a request from the state it was made in."""
        ticket = _Ticket(state, request)
        self._waiting.append(ticket)
        ticket.leads, self._busy = not self._busy, True
        try:
            if not ticket.leads:
                # A plain future: an event of anyio costs twice as much, for each of thousands a second.
                ticket.called = asyncio.get_running_loop().create_future()
                await ticket.called
            if ticket.leads:
                await asyncio.sleep(0)  # those who ask in the same moment join
                await self._lead(ticket)
        finally:
            self._leave(ticket)
        if not isinstance(ticket.outcome, ToolSearchResponse):
            raise ticket.outcome or RuntimeError("a search was called without being answered")
        return ticket.outcome

    def _leave(self, ticket: _Ticket) -> None:
        ticket.left = True
        if ticket.outcome is None and ticket in self._waiting:  # cancelled
            self._waiting.remove(ticket)
        if not ticket.leads:
            return
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].lead()

    async def _lead(self, leader: _Ticket) -> None:
        inline = leader.state.matrix.vectors.nbytes <= INLINE_BYTES and self._may_hold_loop()
        batch = self._take(leader, INLINE_BATCH if inline else THREAD_BATCH)
        outcomes: Sequence[ToolSearchResponse | Exception] = ()
        try:
            if inline:
                outcomes = self._outcomes(batch)
            else:
                outcomes = await anyio.to_thread.run_sync(self._outcomes, batch, abandon_on_cancel=True)
        finally:
            if not outcomes:  # this leader was cancelled: the next one answers for the others
                # Not those who left before it did: the turn would go to one who never takes it.
                self._waiting.extendleft([ticket for ticket in reversed(batch[1:]) if not ticket.left])
        for ticket, outcome in zip(batch, outcomes, strict=True):
            ticket.settle(outcome)

    def _take(self, leader: _Ticket, limit: int) -> list[_Ticket]:
        """The leader and others that wait on the same state; the rest keep their places."""
        self._waiting.remove(leader)
        batch, others = [leader], deque[_Ticket]()
        while self._waiting and len(batch) < limit:
            ticket = self._waiting.popleft()
            (batch if ticket.state is leader.state else others).append(ticket)
        self._waiting.extendleft(reversed(others))
        return batch

    def _outcomes(self, batch: Sequence[_Ticket]) -> list[ToolSearchResponse | Exception]:
        try:
            return [*self._answer(batch[0].state, [ticket.request for ticket in batch])]
        except Exception as error:  # noqa: BLE001  raised by whom it concerns: a search must not fail those beside it
            if len(batch) == 1:
                return [error]
            return [outcome for ticket in batch for outcome in self._outcomes([ticket])]
