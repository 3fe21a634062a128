"""The load generator against a small real server on loopback, by a clock of its own."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.bench.speed.load import Load, closed_async, opened_async
from gateway.bench.speed.streaming import first_tokens_async
from gateway.bench.speed.upstream import answer

_BODY = json.dumps({"results": [{"namespace": "shop", "name": "refund"}]}).encode()
_OK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
_CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(_BODY), _BODY)
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def _server(*answers: bytes) -> AsyncGenerator[tuple[int, list[bytes]]]:
    """A server that gives these answers in turn, in two pieces each; its port, and the bodies it was sent."""
    bodies: list[bytes] = []
    turns = itertools.cycle(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                bodies.append(await reader.readexactly(length))
                whole = next(turns)
                writer.write(whole[:20])
                await writer.drain()
                writer.write(whole[20:])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with _listening(serve) as port:
        yield port, bodies


@asynccontextmanager
async def _listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[int]:
    """The port of a server whose connections have all ended when the block has."""
    ended: list[asyncio.Future[None]] = []

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done = asyncio.get_running_loop().create_future()
        ended.append(done)
        await serve(reader, writer)
        await writer.wait_closed()
        done.set_result(None)

    async with await asyncio.start_server(tracked, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*ended)


def _ticking(step: float) -> Callable[[], float]:
    """A clock on which each look takes so many seconds."""
    ticks = itertools.count()
    return lambda: next(ticks) * step


def _settings(port: int, **more: object) -> dict[str, Any]:
    given = {"host": "127.0.0.1", "port": port, "path": "/v1/search", "connections": 3, "seconds": 1.0}
    return {**given, "warm_seconds": 0.0, "bodies": ['{"query": "a"}', '{"query": "b"}'], **more}


@pytest.mark.parametrize("whole", [_OK, _CHUNKED], ids=["of known length", "in chunks"])
async def test_a_closed_load_sends_every_request_again_and_again(whole: bytes) -> None:
    async with _server(whole) as (port, bodies):
        settings = _settings(port)
        record = await closed_async(Load(settings, _ticking(0.01)), settings)

    assert record["failed"] == 0
    assert record["answered"] == len(bodies) > 10
    assert record["per_second"] == record["answered"]
    assert set(bodies) == {b'{"query": "a"}', b'{"query": "b"}'}
    assert record["found"] == {0: ["shop/refund"], 1: ["shop/refund"]}
    assert record["ms"]["p50"] >= 10


async def test_an_answer_that_is_no_success_is_counted_and_not_timed() -> None:
    async with _server(_OK, _BUSY) as (port, _):
        settings = _settings(port, connections=1)
        record = await closed_async(Load(settings, _ticking(0.01)), settings)

    assert record["failed"] > 0
    assert abs(record["failed"] - record["answered"]) <= 1


async def test_an_open_load_sends_as_many_as_its_rate_says() -> None:
    async with _server(_OK) as (port, bodies):
        settings = _settings(port, rate=40.0, seconds=1.0)
        record = await opened_async(Load(settings, _ticking(0.02)), settings)

    assert record["answered"] == len(bodies) == 40
    assert record["failed"] == 0


async def test_an_open_load_counts_the_wait_for_a_free_connection() -> None:
    async with _server(_OK) as (port, _):
        # A thousand a second on a clock that moves 10 ms a look: all but the first are late.
        settings = _settings(port, rate=1000.0, seconds=0.05, connections=1)
        record = await opened_async(Load(settings, _ticking(0.01)), settings)

    assert record["answered"] == 50
    assert record["ms"]["p99"] > 5 * record["ms"]["p50"] / 10
    assert record["ms"]["p99"] > 100


async def test_the_first_token_of_a_stream_is_timed_both_ways() -> None:
    async with _listening(answer) as port:
        way = ["127.0.0.1", port, "/v1/chat/completions"]
        record = await first_tokens_async({"direct": way, "through": way, "calls": 3})

    assert record["direct_ms"] > 0
    assert record["through_ms"] > 0
    assert abs(record["added_ms"][0]) < 1000
