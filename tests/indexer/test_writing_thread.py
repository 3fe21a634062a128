"""The thread that writes: order, errors, cancellation, its end."""

import asyncio
import threading
from contextvars import ContextVar

import anyio
import pytest

from indexer.writing_thread import WritingThread

_WHO: ContextVar[str] = ContextVar("_WHO", default="nobody")


async def test_calls_are_made_in_one_other_thread_in_the_order_in_which_they_come() -> None:
    thread = WritingThread()
    made: list[int] = []
    threads: set[int] = set()

    def call(number: int) -> int:
        made.append(number)
        threads.add(threading.get_ident())
        return number * 10

    results = await asyncio.gather(*(thread.run(lambda number=number: call(number)) for number in range(20)))
    thread.close()

    assert made == list(range(20))
    assert results == [number * 10 for number in range(20)]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("error", [ValueError("wrong"), StopIteration(), KeyboardInterrupt()])
async def test_what_a_call_raises_is_raised_where_it_came_from_and_the_next_call_is_made(error: BaseException) -> None:
    thread = WritingThread()

    def fail() -> None:
        raise error

    # A coroutine cannot let StopIteration out: Python makes it a RuntimeError.
    with pytest.raises(RuntimeError if isinstance(error, StopIteration) else type(error)):
        await thread.run(fail)
    assert await thread.run(lambda: "next") == "next"
    thread.close()


async def test_a_call_sees_the_context_of_its_caller() -> None:
    thread = WritingThread()
    _WHO.set("caller")
    assert await thread.run(_WHO.get) == "caller"
    thread.close()


async def test_a_cancelled_caller_waits_for_the_call_that_it_began() -> None:
    thread = WritingThread()
    begun, go_on = threading.Event(), threading.Event()
    ended: list[bool] = []

    def call() -> None:
        begun.set()
        go_on.wait(5)
        ended.append(True)

    with anyio.fail_after(5), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(thread.run, call)
            await anyio.to_thread.run_sync(begun.wait)
            scope.cancel()
            go_on.set()
    thread.close()

    assert scope.cancelled_caught
    assert ended == [True]


async def test_a_task_that_is_cancelled_past_the_scopes_leaves_the_thread_ready_for_the_next_call() -> None:
    thread = WritingThread()
    begun, go_on = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        go_on.wait(5)

    task = asyncio.ensure_future(thread.run(call))
    await anyio.to_thread.run_sync(begun.wait)
    task.cancel()
    await asyncio.wait({task})
    go_on.set()

    assert task.cancelled()
    assert await thread.run(lambda: 1) == 1
    thread.close()


def test_a_call_whose_loop_was_closed_meanwhile_does_not_stop_the_thread() -> None:
    thread = WritingThread()
    begun, go_on = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        go_on.wait(5)

    async def abandon() -> None:
        task = asyncio.ensure_future(thread.run(call))
        await anyio.to_thread.run_sync(begun.wait)
        task.cancel()

    asyncio.run(abandon())
    go_on.set()

    assert asyncio.run(thread.run(lambda: "still there")) == "still there"
    thread.close()


async def test_after_its_end_the_thread_is_gone_and_another_call_begins_another_one() -> None:
    thread = WritingThread()
    first = await thread.run(threading.current_thread)
    thread.close()
    thread.close()
    await anyio.to_thread.run_sync(first.join, 5)
    assert not first.is_alive()

    second = await thread.run(threading.current_thread)
    assert second is not first
    thread.close()
