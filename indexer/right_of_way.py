"""Searches go before writes: whoever reads new tools in a thread gives way, tool by tool, while a search is on."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, final

_WORK_SECONDS: Final = 0.001
"""What a writer does at least between two waits, so that searches without a pause do not stop it."""
_WAIT_SECONDS: Final = 0.005
_QUIET_SECONDS: Final = 0.25
"""Without a search for so long, none is expected."""


@final
class RightOfWay:
    """Counts the searches that are on, in one thread; another thread asks, and waits for them a little.

    A thread that computes takes the interpreter lock back each time a search lets go of it, in every larger array
    operation: a search of 2 ms then takes 10, and at a few hundred searches a second none comes to an end in time.
    """

    def __init__(self, *, wait_seconds: float = _WAIT_SECONDS, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wait_seconds = wait_seconds
        self._monotonic = monotonic
        self._searches = 0
        self._waited_for = False
        self._thread = 0
        """That of the searches."""
        self._free = threading.Event()
        self._last_search = -_QUIET_SECONDS
        self._resumed = 0.0

    @contextmanager
    def searching(self) -> Generator[None]:
        """Hold writers up for the length of the block, from its wait for a turn to its answer."""
        self._searches += 1
        self._thread = threading.get_ident()
        self._last_search = self._monotonic()
        try:
            yield
        finally:
            self._searches -= 1
            if self._waited_for and not self._searches:
                self._free.set()

    @property
    def is_asked_for(self) -> bool:
        """Whether searches come in these days: what cannot give way had better be short."""
        return self._searches > 0 or self._monotonic() - self._last_search < _QUIET_SECONDS

    def give_way(self) -> None:
        """Wait until no search is on, but not for long, and at most once in a millisecond of work.

        Whoever works in the thread of the searches would wait for itself, and does not.
        """
        if not self._searches or threading.get_ident() == self._thread:
            return
        if self._monotonic() - self._resumed >= _WORK_SECONDS:
            self._free.clear()
            self._waited_for = True
            if self._searches:  # still: one that ended just now has told nobody
                self._free.wait(self._wait_seconds)
            self._waited_for = False
            self._resumed = self._monotonic()
