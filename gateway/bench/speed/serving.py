"""A gateway in a process of its own, over a copy of a home, as `toolscout serve` starts it."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from gateway.bench.speed.lanes import LaneError
from gateway.bench.speed.processes import child_environment
from gateway.home import live_server

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.05
_LAST_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Served:
    """A running gateway."""

    host: str
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """What it has computed so far, whoever else the machine was busy with; 0 where the system does not say."""
        try:
            # utime and stime stand 12 and 13 fields after the command's closing parenthesis.
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def served(home: Path, environment: Mapping[str, str] | None = None) -> Generator[Served]:
    """A gateway over a copy of the home. Raises: LaneError if it does not start."""
    copy = home.with_name(f"{home.name}.served-{os.getpid()}")
    shutil.copytree(home, copy)
    command = [sys.executable, "-m", "gateway.cli", "serve", "--host", "127.0.0.1", "--port", "0"]
    own = {"TOOLSCOUT_HOME": str(copy), "TOOLSCOUT_UPSTREAM_URL": "", "TOOLSCOUT_API_KEY": "", **(environment or {})}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=child_environment(own), stdout=log, stderr=log)
        try:
            address = urlsplit(_url(copy, process, log))
            yield Served(str(address.hostname), int(address.port or 0), process.pid)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()
            process.wait()
            shutil.rmtree(copy, ignore_errors=True)


def _url(home: Path, process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        server = live_server(home)
        if server is not None:
            return server.url
        if process.poll() is not None:
            log.seek(0)
            said = " / ".join(log.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:])
            raise LaneError(f"`toolscout serve` ended with code {process.returncode}: {said}")
        time.sleep(_POLL_SECONDS)
    raise LaneError(f"`toolscout serve` did not answer within {_START_SECONDS:.0f} s")
