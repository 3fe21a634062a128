"""Blocking calls in worker threads that are not left behind when their caller is cancelled.

A thread cannot be stopped from outside. So a caller that is cancelled tells the call, which may look, and waits for the
thread to end, no longer than it would have waited anyway.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_THREADS: Final = 64
"""Of an event loop, apart from those that searches run in: calls that hang must not hold up a search."""
GRACE_SECONDS: Final = 0.5
"""How long a call that is cancelled, and out of time, may take to notice."""

_threads: RunVar[anyio.CapacityLimiter] = RunVar("gateway_threads")


class Cancellation:
    """Tells a call in a worker thread that nobody waits for its result any more."""

    def __init__(self) -> None:
        self._requested = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether the call is to end as soon as it can."""
        return self._requested.is_set()

    def wait(self, seconds: float) -> bool:
        """Pause for so long, or until the call is to end; whether it is."""
        return self._requested.wait(seconds)

    def request(self) -> None:
        """Ask the call to end."""
        self._requested.set()


async def run_in_thread(call: Callable[[], T], *, name: str, cancellation: Cancellation | None = None) -> T:
    """The result of a blocking call, made in a worker thread.

    When the caller is cancelled, `cancellation` is requested and the thread waited for: until the deadline of the
    scopes around, and at least half a second. One that runs on even then is named in the log. A call that has not
    begun yet does not begin any more.
    """
    told = cancellation or Cancellation()
    deadline = anyio.current_effective_deadline()
    begun = False
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        nonlocal begun
        begun = True  # before the question below: one of the two sides sees the other, whoever comes first
        if told.requested:
            return
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  raised on below: out of a task, SystemExit would end the loop
            errors.append(error)

    task = asyncio.ensure_future(anyio.to_thread.run_sync(work, limiter=_limiter()))
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        told.request()
        if not begun:
            task.cancel()
        with anyio.CancelScope(deadline=max(deadline, anyio.current_time() + GRACE_SECONDS), shield=True):
            await asyncio.wait({task})
        if not task.done():
            logger.warning("%s goes on in its thread although nobody waits for it: it cannot be stopped", name)
        raise
    task.result()
    if errors:
        raise errors[0]
    return results[0]


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        _threads.set(limiter := anyio.CapacityLimiter(MAX_THREADS))
        return limiter
