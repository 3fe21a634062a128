"""What a search costs a gateway beside the search itself, and what a connection that waits costs it."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

_SEARCHES: Final = 2_000
_CONNECTIONS: Final = 200
_START_SECONDS: Final = 60.0
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def measured_server() -> dict[str, Any]:
    """Processor time of one search over HTTP in a catalog of one tool, and memory of one idle connection.

    Of the server's process, from /proc: the client's own work is not in it, nor is the scan of a large catalog.
    """
    with _gateway() as (process, url):
        connection = _connection(url)
        for _ in range(200):
            _search(connection)
        before = _processor_seconds(process)
        for _ in range(_SEARCHES):
            _search(connection)
        spent = _processor_seconds(process) - before
        idle_before = _resident_bytes(process)
        held = [_connection(url) for _ in range(_CONNECTIONS)]
        for one in held:
            _search(one)
        idle = _resident_bytes(process) - idle_before
        for one in (connection, *held):
            one.close()
    return {
        "processor_milliseconds_per_search": round(spent / _SEARCHES * 1e3, 4),
        "bytes_per_connection": max(0, round(idle / _CONNECTIONS)),
        "resident_bytes_without_catalog": idle_before,
    }


@contextmanager
def _gateway() -> Generator[tuple[int, str]]:
    """A gateway of its own, in a process of its own, over one tool; its process and its address."""
    with tempfile.TemporaryDirectory() as folder:
        home, tools = Path(folder) / "home", Path(folder) / "tools.jsonl"
        tools.write_text('{"name": "refund_order", "description": "Refund a paid order."}\n', encoding="utf-8")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TOOLSCOUT_")},
            "TOOLSCOUT_HOME": str(home),
        }
        command = [sys.executable, "-m", "gateway.cli"]
        subprocess.run([*command, "index", str(tools)], env=environment, check=True, capture_output=True)
        server = subprocess.Popen(
            [*command, "serve", "--port", "0"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield server.pid, _address(home / "server.json", server)
        finally:
            server.terminate()
            server.wait(30)


def _address(record: Path, server: "subprocess.Popen[bytes]") -> str:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            return str(json.loads(record.read_text(encoding="utf-8"))["url"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise RuntimeError("the gateway did not start; try `toolscout serve` to see why")


def _connection(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)


def _search(connection: http.client.HTTPConnection) -> None:
    body = json.dumps({"query": "refund a paid order"})
    connection.request("POST", "/v1/search", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200 or b"refund_order" not in answer.read():
        raise RuntimeError(f"the gateway answered {answer.status}")


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def _resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]) * _PAGE_BYTES
