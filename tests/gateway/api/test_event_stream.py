"""A source of events and its reader, each at its own pace."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from gateway.api.event_stream import ClientGoneError, EventPump

LONG = 10.0


async def nobody_leaves() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


class Source:
    """Waits to be let go on, then says some items without a pause; notes how many were taken."""

    def __init__(self, items: int, *, fails: bool = False) -> None:
        self.items = items
        self.fails = fails
        self.go_on = asyncio.Event()
        self.said = 0
        self.closed = False

    async def __call__(self) -> AsyncIterator[int]:
        try:
            await self.go_on.wait()
            for number in range(self.items):
                self.said += 1
                yield number
            if self.fails:
                raise ValueError("the source broke")
        finally:
            self.closed = True


async def test_a_reader_that_has_waited_long_gets_the_first_of_a_burst_before_the_source_goes_on() -> None:
    source = Source(5)
    pump = EventPump(source(), nobody_leaves)
    # Longer than the half millisecond from which a wait counts as long.
    asyncio.get_running_loop().call_later(0.01, source.go_on.set)
    with anyio.fail_after(LONG):
        assert await pump.next(LONG) == [0]
        assert source.said == 1
        assert await pump.next(LONG) == [1, 2, 3, 4]
        with pytest.raises(StopAsyncIteration):
            await pump.next(LONG)
    await pump.aclose()


async def test_there_is_nothing_after_the_time_a_reader_gives() -> None:
    source = Source(1)
    pump = EventPump(source(), nobody_leaves)
    with anyio.fail_after(LONG):
        assert await pump.next(0.001) == []
        assert await pump.next(-1.0) == []
        source.go_on.set()
        assert await pump.next(LONG) == [0]
    await pump.aclose()


async def test_what_was_said_before_a_failure_is_read_before_it() -> None:
    source = Source(2, fails=True)
    source.go_on.set()
    pump = EventPump(source(), nobody_leaves)
    read: list[int] = []
    with anyio.fail_after(LONG), pytest.raises(ValueError, match="the source broke"):
        while True:
            read += await pump.next(LONG)
    assert read == [0, 1]
    assert source.closed
    await pump.aclose()


async def test_a_source_does_not_run_far_ahead_of_its_reader() -> None:
    source = Source(1000)
    source.go_on.set()
    pump = EventPump(source(), nobody_leaves)
    await anyio.wait_all_tasks_blocked()
    assert source.said == 64
    with anyio.fail_after(LONG):
        assert await pump.next(LONG) == list(range(64))
    await anyio.wait_all_tasks_blocked()
    assert source.said == 128
    await pump.aclose()
    assert source.closed


async def test_a_reader_hears_that_the_client_has_left() -> None:
    left = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await left.wait()
        return {"type": "http.disconnect"}

    source = Source(1)
    pump = EventPump(source(), receive)
    reading = asyncio.create_task(pump.next(LONG))
    await anyio.wait_all_tasks_blocked()
    left.set()
    with anyio.fail_after(LONG), pytest.raises(ClientGoneError):
        await reading
    await pump.aclose()
    assert source.closed
