"""A thread of its own for what blocks and goes one by one: the way there and back is half of that of a shared pool."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Generic, TypeVar, final

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

_Result = TypeVar("_Result")


@final
class _Call(Generic[_Result]):
    """A call that is made in the thread, and what became of it."""

    def __init__(self, call: Callable[[], _Result]) -> None:
        self._call = call
        self._context: Context = copy_context()
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._results: list[_Result] = []
        self._error: BaseException | None = None

    def make(self) -> None:
        try:
            self._results.append(self._context.run(self._call))
        except BaseException as error:  # noqa: BLE001  raised where the call came from
            self._error = error
        try:
            self._loop.call_soon_threadsafe(self._tell)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _tell(self) -> None:
        if not self.done.cancelled():
            self.done.set_result(None)

    def outcome(self) -> _Result:
        """Raises: what the call raised."""
        if self._error is not None:
            raise self._error
        return self._results[0]


@final
class WritingThread:
    """Makes blocking calls for event loops, in the order in which they come. It begins with the first one."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """The result of a call; it is waited for even if the caller is cancelled, who begins none any more.

        Raises: what the call raises.
        """
        await checkpoint_if_cancelled()
        if self._thread is None:
            # A process that ends without `close` does not wait for it.
            self._thread = threading.Thread(target=self._work, name="toolscout-writing", daemon=True)
            self._thread.start()
        made = _Call(call)
        self._calls.put(made.make)
        with anyio.CancelScope(shield=True):
            await made.done
        return made.outcome()

    def close(self) -> None:
        """End the thread, once it has made the calls that came before; another call would begin another one."""
        if self._thread is not None:
            self._thread = None
            self._calls.put(None)

    def _work(self) -> None:
        while (make := self._calls.get()) is not None:
            make()
            del make  # it holds what it returned, until the next call comes
