"""A load generator for HTTP/1.1 on keep-alive connections: little more than the socket, so that the server is measured.

Settings of a measurement: `host`, `port`, `bodies` (JSON texts to POST), `path`, `connections`, `seconds`, and `rate`
(requests a second) where the load is open.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.statistics import percentile

_HEADER_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"0\r\n\r\n"
_WARM_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 30.0


def request_bytes(method: str, path: str, host: str, body: bytes = b"") -> bytes:
    """A whole request."""
    kind = "content-type: application/json\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nhost: {host}\r\n{kind}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._body_starts = -1
        self._length = -1
        self._done: Callable[[int, bytes], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(0, b"")

    def send(self, request: bytes, done: Callable[[int, bytes], None]) -> None:
        """Send a request; `done` hears its status (0: the connection broke) and its body."""
        assert self._transport is not None
        self._done = done
        self._received.clear()
        self._body_starts = self._length = -1
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._body_starts < 0:
            end = self._received.find(_HEADER_END)
            if end < 0:
                return
            self._body_starts = end + len(_HEADER_END)
            self._length = _content_length(bytes(self._received[:end]))
        body = self._received[self._body_starts :]
        if len(body) == self._length or (self._length < 0 and body.endswith(_LAST_CHUNK)):
            self._finish(int(self._received[9:12]), bytes(body) if self._length >= 0 else _joined(bytes(body)))

    def _finish(self, status: int, body: bytes) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(status, body)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _content_length(head: bytes) -> int:
    """-1 where the answer comes in chunks."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return -1


def _joined(chunks: bytes) -> bytes:
    """The body that came in chunks."""
    body = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size, 16)
        body += rest[:length]
        chunks = rest[length + 2 :]
    return body


class Load:
    """Requests to one server, and what became of them."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.perf_counter) -> None:
        self.host, self.port = str(settings["host"]), int(settings["port"])
        self.requests = [
            request_bytes("POST", settings["path"], self.host, body.encode()) for body in settings["bodies"]
        ]
        self.clock = clock
        self.seconds: list[float] = []
        self.answers: dict[int, bytes] = {}
        """The first body that each request was answered with."""
        self.failed = 0

    async def connect(self, count: int) -> list[Connection]:
        """Raises: OSError."""
        loop = asyncio.get_running_loop()
        made = [await loop.create_connection(Connection, self.host, self.port) for _ in range(count)]
        return [connection for _, connection in made]

    def note(self, number: int, seconds: float, status: int, body: bytes) -> None:
        if status != 200:
            self.failed += 1
            return
        self.seconds.append(seconds)
        self.answers.setdefault(number, body)


def closed(settings: Settings) -> Mapping[str, Any]:
    """Each connection sends its next request as soon as it has an answer: requests a second, and how long each took."""
    return asyncio.run(closed_async(Load(settings), settings))


async def closed_async(load: Load, settings: Settings) -> Mapping[str, Any]:
    """As `closed`, on a running event loop."""
    seconds, warm = float(settings["seconds"]), float(settings.get("warm_seconds", _WARM_SECONDS))
    made = await load.connect(int(settings["connections"]))
    finished = asyncio.Event()
    measure_from = load.clock() + warm
    until = measure_from + seconds
    busy, sent = 0, 0

    def send(connection: Connection) -> None:
        nonlocal busy, sent
        number, sent = sent % len(load.requests), sent + 1
        began = load.clock()
        busy += 1

        def done(status: int, body: bytes) -> None:
            nonlocal busy
            busy -= 1
            now = load.clock()
            if began >= measure_from:
                load.note(number, now - began, status, body)
            if now < until and status:
                send(connection)
            elif not busy:
                finished.set()

        connection.send(load.requests[number], done)

    for connection in made:
        send(connection)
    async with asyncio.timeout(warm + seconds + _ANSWER_SECONDS):
        await finished.wait()
    for connection in made:
        connection.close()
    return {"per_second": len(load.seconds) / seconds, "all_answered": sent - load.failed, **summary(load)}


def opened(settings: Settings) -> Mapping[str, Any]:
    """Requests come at a fixed rate, whatever the answers do; the wait for a free connection counts."""
    return asyncio.run(opened_async(Load(settings), settings))


async def opened_async(load: Load, settings: Settings) -> Mapping[str, Any]:
    """As `opened`, on a running event loop."""
    rate = float(settings["rate"])
    made = await load.connect(int(settings["connections"]))
    free, waiting = deque(made), deque[tuple[int, float]]()
    left = count = int(rate * float(settings["seconds"]))
    finished = asyncio.Event()

    def send(number: int, due: float) -> None:
        connection = free.popleft()

        def done(status: int, body: bytes) -> None:
            nonlocal left
            left -= 1
            load.note(number, load.clock() - due, status, body)
            free.append(connection)
            if waiting and status:
                send(*waiting.popleft())
            if not left or not status:
                finished.set()

        connection.send(load.requests[number], done)

    started = load.clock()
    for turn in range(count):
        due = started + turn / rate
        await asyncio.sleep(max(0.0, due - load.clock()))
        # A sleep that overslept is this side's fault, not the server's.
        due = max(due, load.clock()) if free else due
        if free:
            send(turn % len(load.requests), due)
        else:
            waiting.append((turn % len(load.requests), due))
    async with asyncio.timeout(_ANSWER_SECONDS):
        await finished.wait()
    for connection in made:
        connection.close()
    return {"rate": rate, **summary(load)}


def summary(load: Load) -> dict[str, Any]:
    """Latencies in milliseconds, what failed, and the tools that each request was answered with."""
    found = {number: _tools_in(body) for number, body in load.answers.items()}
    return {
        "answered": len(load.seconds),
        "failed": load.failed,
        "ms": {f"p{share:g}": percentile(load.seconds, share) * 1e3 for share in (50, 90, 99)} if load.seconds else {},
        "found": found,
    }


def _tools_in(body: bytes) -> Sequence[str]:
    answer: Any = json.loads(body)
    return [f"{result['namespace']}/{result['name']}" for result in answer.get("results", ())]
