"""How much later the first token of a streamed answer comes through the gateway than straight from the model.

Settings: `direct` and `through`: [host, port, path] of each, `calls`.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.load import request_bytes
from gateway.bench.speed.statistics import percentile, spread

_WARM_CALLS: Final = 10
_LIMIT: Final = 1 << 20


def first_tokens(settings: Settings) -> Mapping[str, Any]:
    """Calls in pairs, one direct and one through the gateway; milliseconds to the first token of each."""
    return asyncio.run(first_tokens_async(settings))


async def first_tokens_async(settings: Settings) -> Mapping[str, Any]:
    """As `first_tokens`, on a running event loop."""
    body = json.dumps(
        {
            "model": "bench",
            "stream": True,
            "messages": [{"role": "user", "content": "Which of my buckets are public?"}],
        }
    ).encode()
    streams: dict[str, _Stream] = {}
    for name in ("direct", "through"):
        host, port, path = settings[name]
        streams[name] = await _Stream.open(host, port, request_bytes("POST", path, host, body))
    seconds: dict[str, list[float]] = {name: [] for name in streams}
    for number in range(_WARM_CALLS + int(settings["calls"])):
        for name, stream in streams.items():
            taken = await stream.first_token()
            if number >= _WARM_CALLS:
                seconds[name].append(taken)
    for stream in streams.values():
        stream.close()
    added = [(through - direct) * 1e3 for direct, through in zip(seconds["direct"], seconds["through"], strict=True)]
    return {
        "added_ms": spread(added).record(),
        "added_p99_ms": percentile(added, 99),
        **{f"{name}_ms": percentile(values, 50) * 1e3 for name, values in seconds.items()},
    }


class _Stream:
    """One connection that asks the same again and again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._request = request
        self._clock: Callable[[], float] = time.perf_counter

    @classmethod
    async def open(cls, host: str, port: int, request: bytes) -> "_Stream":
        reader, writer = await asyncio.open_connection(host, port, limit=_LIMIT)
        return cls(reader, writer, request)

    async def first_token(self) -> float:
        """Seconds from sending the request to the first piece of text; the rest is read to its end."""
        started = self._clock()
        self._writer.write(self._request)
        first = 0.0
        while (line := await self._reader.readline()) != b"0\r\n":
            if not line:
                raise ConnectionError("the stream broke off")
            if not first and b'"content":' in line and b'"content":""' not in line.replace(b": ", b":"):
                first = self._clock() - started
        await self._reader.readline()
        if not first:
            raise ConnectionError("the answer holds no text")
        return first

    def close(self) -> None:
        self._writer.close()
