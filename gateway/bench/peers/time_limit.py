"""A limit on the time that code which is not ours may take, where it cannot be asked to stop."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_REPEAT_SECONDS: Final = 1.0


class TimeLimitError(BaseException):
    """Time is up. Not an Exception, so that a broad handler in the code under the limit does not swallow it."""


@contextmanager
def time_limit(seconds: float) -> Generator[None, None, None]:
    """Raise TimeLimitError in the block after so many seconds.

    Only in the main thread, on systems with SIGALRM; elsewhere there is no limit.
    """
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def time_is_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
