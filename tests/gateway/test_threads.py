"""A cancelled call in a thread is told, and waited for as long as it may take."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from gateway.threads import MAX_THREADS, Cancellation, run_in_thread


class Work:
    """A blocking call that tells when it has begun and ends when it is let."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.ended = False
        self.cancellation = Cancellation()

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(30)
        self.ended = True
        return "done"

    def until_cancelled(self) -> str:
        self.begun.set()
        assert self.cancellation.wait(30)
        self.ended = True
        return "stopped"

    async def run(self, call: Callable[[], str] | None = None) -> str:
        return await run_in_thread(call or self, name="the work", cancellation=self.cancellation)

    async def has_begun(self) -> None:
        with anyio.fail_after(10):
            while not self.begun.is_set():
                await anyio.lowlevel.checkpoint()


async def steps(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_results_and_errors_come_back() -> None:
    assert await run_in_thread(lambda: 7, name="seven") == 7
    with pytest.raises(KeyError, match="gone"):
        await run_in_thread(lambda: dict[str, Any]()["gone"], name="nothing")
    with pytest.raises(SystemExit):
        await run_in_thread(lambda: exit(3), name="a script")


async def test_a_cancelled_task_waits_for_its_thread_and_tells_it() -> None:
    work = Work()
    task = asyncio.create_task(work.run())
    await work.has_begun()
    task.cancel()
    await steps()
    assert work.cancellation.requested
    assert not task.done()
    work.may_end.set()
    with anyio.fail_after(10):
        await asyncio.wait({task})
    assert work.ended
    assert task.cancelled()


async def test_a_call_that_looks_ends_at_once_when_its_scope_is_cancelled() -> None:
    work = Work()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(work.run, work.until_cancelled)
            await work.has_begun()
            group.cancel_scope.cancel()
    assert work.ended


async def test_past_the_deadline_a_call_that_does_not_look_is_left_and_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    with caplog.at_level(logging.WARNING, "gateway.threads"), anyio.move_on_after(0.01) as scope:
        await work.run()
    assert scope.cancelled_caught
    assert work.cancellation.requested
    assert [record.getMessage() for record in caplog.records] == [
        "the work goes on in its thread although nobody waits for it: it cannot be stopped"
    ]
    work.may_end.set()


async def test_a_call_that_waits_for_a_thread_does_not_begin_any_more_once_cancelled() -> None:
    busy = [Work() for _ in range(MAX_THREADS)]
    running = [asyncio.create_task(one.run()) for one in busy]
    for one in busy:
        await one.has_begun()
    late = Work()
    task = asyncio.create_task(late.run())
    await steps()
    task.cancel()
    with anyio.fail_after(10):
        await asyncio.wait({task})
    for one in busy:
        one.may_end.set()
    assert await asyncio.gather(*running) == ["done"] * MAX_THREADS
    assert not late.begun.is_set()


async def test_other_threads_are_free_while_all_of_these_hang() -> None:
    busy = [Work() for _ in range(MAX_THREADS)]
    running = [asyncio.create_task(one.run()) for one in busy]
    for one in busy:
        await one.has_begun()
    with anyio.fail_after(10):
        assert await anyio.to_thread.run_sync(lambda: "searched") == "searched"
    for one in busy:
        one.may_end.set()
    await asyncio.gather(*running)
