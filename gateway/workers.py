"""Several processes behind one port: this one listens and watches, each worker answers with a replica of its own.

Each worker has a listening socket of its own at the port, among which the kernel spreads connections; those of a worker
that died wait for the one that takes its place. Every worker follows the catalog on the Qdrant server by itself, so a
tool that one of them registers is found by the others a moment later. A worker ends when its standard input does: with
the process that started it, however that ends.
"""

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any, Final

from gateway.home import ServerRecord
from gateway.listening import check_listening, shared_sockets
from gateway.settings import GatewaySettings
from indexer import IndexerSettings

_log = logging.getLogger(__name__)

_READY: Final = b"ready\n"
_STDIN: Final = 0
_GRACE_SECONDS: Final = 10.0
"""How long workers may take to answer what they have begun, when they are asked to end."""
_SHORT_LIFE_SECONDS: Final = 10.0
_MOST_SHORT_LIVES: Final = 5
"""Workers that end soon one after the other, after which starting more is no cure."""


def run_workers(
    gateway: GatewaySettings,
    indexer: IndexerSettings,
    count: int,
    *,
    on_ready: Callable[[str], object] | None = None,
) -> int:
    """Serve with so many processes until interrupted; the exit code. `on_ready` hears the URL once all answer.

    A worker that dies is replaced. Raises: ConfigurationError.
    """
    from gateway.server import owned_home

    check_listening(gateway)
    with ExitStack() as stack:
        listeners = [stack.enter_context(one) for one in shared_sockets(gateway.host, gateway.port, count)]
        record, ready = stack.enter_context(owned_home(indexer.home, listeners[0], on_ready))
        return asyncio.run(_Group(gateway, listeners, record, count).run(ready))


class _Group:
    """The workers of one port."""

    def __init__(
        self, gateway: GatewaySettings, listeners: Sequence[socket.socket], record: ServerRecord, count: int
    ) -> None:
        self._listeners = listeners
        self._record = record
        self._count = count
        self._environment = {**os.environ, "TOOLSCOUT_HOST": gateway.host, "TOOLSCOUT_PORT": str(gateway.port)}
        self._workers: dict[int, asyncio.subprocess.Process] = {}
        self._short_lives = 0
        self._stopping = asyncio.Event()

    async def run(self, on_ready: Callable[[], None]) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopping.set)
        try:
            for place in range(self._count):
                await self._start(place)
            for worker in self._workers.values():
                if not await self._is_ready(worker):
                    return 0 if self._stopping.is_set() else await worker.wait()
            on_ready()
            return await self._watch()
        finally:
            await self._end()

    async def _start(self, place: int) -> None:
        descriptor = self._listeners[place % len(self._listeners)].fileno()
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gateway.workers",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[descriptor],
            env=self._environment,
        )
        self._workers[place] = worker
        told = {"descriptor": descriptor, "record": asdict(self._record)}
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(told).encode() + b"\n")  # and left open: its end is the worker's

    async def _is_ready(self, worker: asyncio.subprocess.Process) -> bool:
        """Whether the worker answers requests; not if it ended, or everything is to end."""
        assert worker.stdout is not None
        line = asyncio.ensure_future(worker.stdout.readline())
        return line in await self._first(line) and line.result() == _READY

    async def _watch(self) -> int:
        """Replace workers that die, until it is time to stop; the exit code."""
        started = time.monotonic()
        while True:
            ends: dict[asyncio.Future[Any], int] = {
                asyncio.ensure_future(worker.wait()): place for place, worker in self._workers.items()
            }
            ended = await self._first(*ends)
            if self._stopping.is_set():
                return 0
            lived, started = time.monotonic() - started, time.monotonic()
            self._short_lives = self._short_lives + 1 if lived < _SHORT_LIFE_SECONDS else 0
            for end in ended:
                code = int(end.result())
                if self._short_lives > _MOST_SHORT_LIVES:
                    return code
                _log.warning("a worker ended with %d; another one starts", code)
                await self._start(ends[end])
                await self._is_ready(self._workers[ends[end]])

    async def _first(self, *futures: "asyncio.Future[Any]") -> "set[asyncio.Future[Any]]":
        """Wait for some of the futures, or for the order to stop; those that are done, the others are cancelled."""
        stop = asyncio.ensure_future(self._stopping.wait())
        done, others = await asyncio.wait([stop, *futures], return_when=asyncio.FIRST_COMPLETED)
        for future in others:
            future.cancel()
        return done - {stop}

    async def _end(self) -> None:
        """Ask every worker to end, and make those that do not."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.terminate()
        for worker in self._workers.values():
            try:
                await asyncio.wait_for(worker.wait(), _GRACE_SECONDS)
            except TimeoutError:
                worker.kill()
                await worker.wait()


def main() -> None:
    """One worker: what it needs to know comes as the first line of its standard input."""
    from gateway.server import run_worker

    told: Any = json.loads(_first_line())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listener = socket.socket(fileno=int(told["descriptor"]))
    run_worker(
        GatewaySettings.from_environment(),
        IndexerSettings.from_environment(),
        listener,
        ServerRecord(**told["record"]),
        _say_ready,
    )


def _say_ready() -> None:
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()


def _first_line() -> bytes:
    """Of standard input, past its buffer: a thread that waits within that would hold up the interpreter's end."""
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(_STDIN, 1)
        if not read:
            raise SystemExit(1)  # whoever started this is gone
        line += read
    return line


def _end_with_parent() -> None:
    while os.read(_STDIN, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    from gateway.cli.exits import run_or_exit

    run_or_exit(main)
