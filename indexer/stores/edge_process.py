"""The embedded engine in a process of its own, asked over pipes: its calls no longer hold this one's interpreter."""

import contextlib
import subprocess
import sys
import threading
from typing import Any, Final, final

from indexer.stores import edge_engine
from indexer.stores.edge_engine import EngineLostError, Point, ReadPoint, receive, send

_END_SECONDS: Final = 10.0


class EngineError(Exception):
    """The engine failed there; the text is its own."""


@final
class EdgeEngineApart:
    """As `EdgeEngine`, started when it is made. It ends with `close`, or when this process does, however it does.

    Calls exclude each other. Raises: EngineError, EngineLostError.
    """

    def __init__(self, vector: str) -> None:
        self._command = [sys.executable, "-P", edge_engine.__file__, vector]
        self._lock = threading.Lock()
        self._load: tuple[Any, ...] | None = None
        """How the shard is opened, once it is known where it lies."""
        self._loading = False
        """Whether the answer to that is still to be read."""
        self._process: subprocess.Popen[bytes] | None = None
        with self._lock:
            self._start()

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._process is None else self._process.pid

    def load(self, folder: str, owner: bytes, patience_seconds: float) -> None:
        """As there, without waiting for it: the next call raises what is wrong."""
        with self._lock:
            self._load = (folder, owner, patience_seconds)
            with contextlib.suppress(OSError):  # the next call finds the same
                self._send_load(self._process or self._start())

    def create(self, folder: str, dimensions: int, owner: bytes) -> None:
        self._ask("create", folder, dimensions, owner)
        self._load = (folder, owner, 0.0)

    def upsert(self, points: list[Point]) -> None:
        self._ask("upsert", points)

    def fetch(self, point_ids: list[str]) -> dict[str, dict[str, Any] | None]:
        return self._ask("fetch", point_ids)

    def page(self, after_revision: int, limit: int) -> list[ReadPoint]:
        return self._ask("page", after_revision, limit)

    def last_revision(self) -> int:
        return self._ask("last_revision")

    def count(self) -> int:
        return self._ask("count")

    def flush(self) -> None:
        self._ask("flush")

    def close(self) -> None:
        """Flush and let go of the shard; the process ends, unless it did so before."""
        try:
            if self._process is not None and not self._loading:
                with contextlib.suppress(EngineLostError):  # what it acknowledged is in its log
                    self._ask("close")
        finally:
            self._load = None
            self._stop()

    def _ask(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  as the engine's methods say
        with self._lock:
            try:
                process = self._ready()
                return self._exchange(process, (method, arguments))
            except EngineError:
                raise
            except (OSError, EOFError, ValueError, TypeError) as error:
                raise EngineLostError(f"its process ended{self._stop()}") from error
            except BaseException:
                self._stop()  # an answer that nobody reads would be taken for the next one's
                raise

    def _ready(self) -> subprocess.Popen[bytes]:
        """A process that has the shard open. Raises: EngineError, OSError, EOFError."""
        process = self._process or self._start()
        if self._loading:
            self._loading = False
            try:
                self._answer(process)
            except EngineError:
                self._stop()  # the next call tries it again
                raise
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        # In a session of its own, a terminal's interrupt does not reach it before it is ready to ignore it.
        process = self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        if self._load is not None:
            self._send_load(process)
        return process

    def _send_load(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        self._loading = True
        send(process.stdin, ("load", self._load))

    def _exchange(self, process: subprocess.Popen[bytes], request: tuple[str, tuple[object, ...]]) -> Any:  # noqa: ANN401
        assert process.stdin is not None
        send(process.stdin, request)
        return self._answer(process)

    @staticmethod
    def _answer(process: subprocess.Popen[bytes]) -> Any:  # noqa: ANN401  as the engine's methods say
        assert process.stdout is not None
        succeeded, result = receive(process.stdout)
        if not succeeded:
            raise EngineError(result)
        return result

    def _stop(self) -> str:
        """End the process, which is between two calls or lost; with what code it ended, in words."""
        process, self._process, self._loading = self._process, None, False
        if process is None:
            return ""
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            code = process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return f" with code {code}"
