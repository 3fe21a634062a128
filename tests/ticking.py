"""A ticker that goes when the test says so."""

import asyncio


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
