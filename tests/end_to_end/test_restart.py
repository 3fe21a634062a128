"""A server process that is killed, and the one that takes its place."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from gateway.home import live_server, read_server_record

SERVE = """
import sys
from pathlib import Path
from gateway.server import run_server
from gateway.settings import GatewaySettings
from indexer import IndexerSettings

run_server(
    GatewaySettings(port=0),
    IndexerSettings(home=Path(sys.argv[1]), encoder="hashing"),
    on_ready=lambda url: print(url, flush=True),
)
"""


@contextmanager
def server(home: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", SERVE, str(home)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."})
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def post(url: str, body: object) -> dict[str, object]:
    with urlopen(Request(url, data=json.dumps(body).encode()), timeout=20) as answer:
        return json.load(answer)


def test_what_was_acknowledged_is_found_after_the_server_was_killed(tmp_path: Path) -> None:
    tool = {"name": "refund_order", "description": "Refund a paid order."}
    with server(tmp_path) as (process, url):
        running = live_server(tmp_path)
        assert running is not None
        assert (running.url, running.pid) == (url, process.pid)
        assert post(f"{url}/v1/tools", tool)["added"] == 1
        process.kill()
        process.wait(20)
    assert read_server_record(tmp_path) is not None
    assert live_server(tmp_path) is None

    with server(tmp_path) as (process, url):
        found = post(f"{url}/v1/search", {"query": "refund an order"})
        assert json.dumps(found).count('"name": "refund_order"') == 1
        assert post(f"{url}/v1/tools", tool)["unchanged"] == 1
    assert process.returncode == 0
    assert read_server_record(tmp_path) is None
