"""The other side of `worker`: starts it, asks it, and ends it when it takes too long."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.bench.checkout import CHECKOUT
from gateway.bench.speed.lanes import LaneError, Settings, Turn

ONE_THREAD: Final = dict.fromkeys(
    (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
_LAST_LINES: Final = 3


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a child process: one thread for linear algebra, and this project's packages on its path."""
    path = os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", **(extra or {})}


class Worker:
    """A child process for contenders, started when it is first asked; one that failed is started anew."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Any = None
        self._pending = b""
        self.generation = 1
        """Counts its processes: what was opened in one is gone with it."""

    def ask(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Its answer. Raises: LaneError for an error, a dead process, or no answer in that time."""
        process = self._started()
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process, seconds)
        except BrokenPipeError:
            line = b""
        except BaseException:  # an interrupt too: the process would answer the next question with this one's answer
            self.stop()
            raise
        if not line:
            raise LaneError(self._ending(process))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LaneError(f"failed: {answer['error']}")
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            self._pending = b""
            self._process = subprocess.Popen(
                [self._python, "-m", "gateway.bench.speed.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=child_environment(),
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """The next line of answers, empty when the process has ended."""
        assert process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise LaneError(f"cut after {seconds:.0f} s")
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return b""
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
        self.stop()
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"code {process.returncode}"
        return f"its process ended with {how}" + (f": {' / '.join(lines)}" if lines else "")

    def stop(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        self.generation += 1
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, self._log):
            with contextlib.suppress(OSError):  # what was still to be written has no reader
                if stream is not None:
                    stream.close()


class RemoteLane:
    """A contender in a worker; opened again by itself when another one's failure has ended the process."""

    def __init__(
        self, worker: Worker, number: int, maker: str, settings: Settings, *, open_seconds: float, turn_seconds: float
    ) -> None:
        self._worker = worker
        self._number = number
        self._maker = maker
        self._settings = dict(settings)
        self._open_seconds = open_seconds
        self._turn_seconds = turn_seconds
        self._generation = 0

    def open(self) -> Mapping[str, Any]:
        message = {"op": "open", "lane": self._number, "maker": self._maker, "settings": self._settings}
        answer = self._worker.ask(message, self._open_seconds)
        self._generation = self._worker.generation
        notes: Mapping[str, Any] = answer["notes"]
        return notes

    def turn(self, numbers: Sequence[int]) -> Turn:
        if self._generation != self._worker.generation:
            self.open()
        message = {"op": "turn", "lane": self._number, "numbers": list(numbers)}
        answer = self._worker.ask(message, self._turn_seconds)
        return Turn(answer["seconds"], answer["answers"])

    def close(self) -> None:
        if self._generation == self._worker.generation:
            with contextlib.suppress(LaneError):
                self._worker.ask({"op": "close", "lane": self._number}, self._turn_seconds)
