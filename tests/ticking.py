"""Time that goes when the test says so."""

import asyncio


class Clock:
    """A monotonic clock that only the test, and waiting between two tries, moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Ticks:
    """The `tick` of an index that asks for news once for each `await ticks.tick()`, which waits until it has."""

    def __init__(self) -> None:
        self._go = asyncio.Semaphore(0)
        self._waiting = asyncio.Event()

    async def __call__(self) -> None:
        self._waiting.set()
        await self._go.acquire()

    async def tick(self) -> None:
        await self._waiting.wait()
        self._waiting.clear()
        self._go.release()
        await self._waiting.wait()
