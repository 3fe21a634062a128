"""`toolscout serve --workers 2` over a Qdrant server: real processes behind one port."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.home import live_server, read_server_record
from tests.qdrant_stub.server import QdrantStub, StubServer

_TRIES = 2000
_LONGEST_SECONDS = 90


def started(home: Path, url: str, *, encoder: str = "hashing") -> "subprocess.Popen[str]":
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSCOUT_")}
    settings = {
        "TOOLSCOUT_HOME": str(home),
        "TOOLSCOUT_ENCODER": encoder,
        "TOOLSCOUT_QDRANT_URL": url,
        "TOOLSCOUT_POLL_INTERVAL": "0.05",
    }
    command = [sys.executable, "-m", "gateway.cli", "serve", "--workers", "2", "--port", "0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=foreign | settings)


@pytest.fixture
def served(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]) -> "Iterator[subprocess.Popen[str]]":
    process = started(tmp_path, qdrant[1].url)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "ready at" in line:
                break
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=_LONGEST_SECONDS)


def ask(url: str, path: str, body: Any = None) -> Any:
    """On a connection of its own, so that any worker may answer."""
    with httpx.Client(base_url=url, timeout=_LONGEST_SECONDS) as client:
        answer = client.get(path) if body is None else client.post(path, json=body)
    return answer.raise_for_status().json()


def workers(url: str, *, besides: frozenset[int] = frozenset(), count: int = 2) -> frozenset[int]:
    """The processes that answer."""
    seen: set[int] = set()
    for _ in range(_TRIES):
        try:
            seen.add(ask(url, "/healthz")["worker"])
        except httpx.TransportError:  # a worker that was killed took the connection with it
            continue
        if len(seen - besides) >= count:
            return frozenset(seen)
    raise AssertionError(f"only {seen} answer")


def test_both_workers_answer_and_find_what_either_registered(
    tmp_path: Path, served: "subprocess.Popen[str]", qdrant: tuple[QdrantStub, StubServer]
) -> None:
    record = live_server(tmp_path)
    assert record is not None
    assert record.pid == served.pid
    first = workers(record.url)
    assert served.pid not in first
    ask(record.url, "/v1/tools", {"name": "water_plants", "description": "Water the plants."})
    finders: set[int] = set()
    for _ in range(_TRIES):
        with httpx.Client(base_url=record.url, timeout=_LONGEST_SECONDS) as client:
            found = client.post("/v1/search", json={"query": "select:water_plants"}).json()["results"]
            finders |= {client.get("/healthz").json()["worker"]} if found else set()
        if len(finders) == 2:
            break
    assert finders == first
    assert list(qdrant[0].collections) == ["toolscout-1"]

    os.kill(min(first), signal.SIGKILL)
    again = workers(record.url, besides=first, count=1)
    assert len(again - first) == 1

    served.send_signal(signal.SIGTERM)
    assert served.wait(timeout=_LONGEST_SECONDS) == 0
    assert read_server_record(tmp_path) is None
    with pytest.raises(httpx.ConnectError):
        ask(record.url, "/healthz")


def test_workers_end_with_the_process_that_started_them(tmp_path: Path, served: "subprocess.Popen[str]") -> None:
    record = live_server(tmp_path)
    assert record is not None
    served.kill()
    served.wait(timeout=_LONGEST_SECONDS)
    for _ in range(_TRIES):
        try:
            ask(record.url, "/healthz")
        except httpx.ConnectError:
            return
        except httpx.TransportError:
            continue
    raise AssertionError("a worker outlived its parent")


def test_a_start_that_fails_ends_them_all_with_one_clear_line(
    tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    process = started(tmp_path, qdrant[1].url, encoder="nobody")
    _, told = process.communicate(timeout=_LONGEST_SECONDS)
    assert process.returncode == 2
    assert "no encoder is called 'nobody'" in told
    assert "Traceback" not in told
