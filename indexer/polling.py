"""Asking for news in the background, for as long as an index is open."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, final

from indexer.errors import IndexerError

_log = logging.getLogger(__name__)

Ticker: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until it is time to ask again."""


def every(seconds: float) -> Ticker:
    """A tick about every so many seconds; a tenth at random, so that gateways do not ask in step."""

    async def tick() -> None:
        await asyncio.sleep(seconds * random.uniform(0.9, 1.1))

    return tick


@final
class Poller:
    """A task that asks again and again, and says once when that begins to fail and once when it succeeds again."""

    def __init__(self, poll: Callable[[], Awaitable[None]], tick: Ticker) -> None:
        self._poll = poll
        self._tick = tick
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why the last question was not answered; empty if it was."""

    def start(self) -> None:
        """Begin, in the event loop that is running; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="toolscout: following the catalog")

    async def _run(self) -> None:
        while True:
            await self._tick()
            await self.ask()

    async def ask(self) -> None:
        """Ask now."""
        try:
            await self._poll()
        except IndexerError as error:
            if str(error) != self.problem:
                _log.warning("the catalog cannot be followed; searches go on with what is known: %s", error)
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001  the task must outlive any fault, or the catalog grows old unseen
            _log.exception("the catalog cannot be followed; searches go on with what is known")
            self.problem = repr(error)
        else:
            if self.problem:
                _log.warning("the catalog is followed again")
            self.problem = ""

    async def aclose(self) -> None:
        """End the task; a question that is being asked is waited for."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
