"""Searches at a fixed rate while tools are written, and how long the event loop keeps a request waiting meanwhile."""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gateway.bench.speed.data import BenchData
from gateway.bench.speed.grown import Grower
from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.load import Connection, Load, opened_async, request_bytes
from gateway.bench.speed.statistics import percentile
from indexer import definition_to_record

_WRITE_TOOLS: Final = 64
"""Of one request."""
_REQUESTS: Final = 128
_HEALTH_SECONDS: Final = 0.01


def searches_during_writes(settings: Settings) -> Mapping[str, Any]:
    """Settings as of `load.opened`, with `data` and `rows`: tools beyond those rows are written."""
    return asyncio.run(_searches_during_writes(settings))


async def _searches_during_writes(settings: Settings) -> Mapping[str, Any]:
    load = Load(settings)
    bodies = await asyncio.to_thread(_bodies, settings)
    stop = asyncio.Event()
    started = time.perf_counter()
    writer = asyncio.create_task(_write(load, bodies, stop))
    watch = asyncio.create_task(_watch(load, stop))
    searches = await opened_async(load, settings)
    seconds = time.perf_counter() - started
    stop.set()
    written, waits = await writer, await watch
    return {
        "searches": searches,
        "written": written,
        "written_per_second": written / seconds,
        "health_ms": {f"p{share}": percentile(waits, share) * 1e3 for share in (50, 99, 100)},
    }


def _bodies(settings: Settings) -> list[bytes]:
    grower = Grower(BenchData(Path(settings["data"])))
    rows, count = int(settings["rows"]), _WRITE_TOOLS * _REQUESTS
    tools = [definition_to_record(grower.tool(rows + number)) for number in range(count)]
    for tool in tools:
        tool.pop("tenant")
        tool.pop("executor", None)  # only an operator may say who runs a tool
    return [
        json.dumps({"tools": tools[start : start + _WRITE_TOOLS]}).encode() for start in range(0, count, _WRITE_TOOLS)
    ]


async def _write(load: Load, bodies: list[bytes], stop: asyncio.Event) -> int:
    """Registrations one after the other until told to stop; how many tools that were. Raises: ConnectionError."""
    (connection,) = await load.connect(1)
    written = 0
    for body in bodies:
        if stop.is_set():
            break
        status = await _answered(connection, request_bytes("POST", "/v1/tools", load.host, body))
        if status != 200:
            raise ConnectionError(f"a registration was answered with status {status}")
        written += _WRITE_TOOLS
    connection.close()
    return written


async def _watch(load: Load, stop: asyncio.Event) -> list[float]:
    (connection,) = await load.connect(1)
    request = request_bytes("GET", "/healthz", load.host)
    waits: list[float] = []
    while not stop.is_set():
        started = load.clock()
        await _answered(connection, request)
        waits.append(load.clock() - started)
        await asyncio.sleep(_HEALTH_SECONDS)
    connection.close()
    return waits


async def _answered(connection: Connection, request: bytes) -> int:
    """The status of the answer."""
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    connection.send(request, lambda status, _: answer.set_result(status))
    return await answer
