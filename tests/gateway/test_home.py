"""Who owns a home."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gateway.home import (
    SERVER_FILE,
    ServerRecord,
    live_server,
    read_server_record,
    remove_server_record,
    write_server_record,
)


def record(url: str = "http://127.0.0.1:1", pid: int | None = None) -> ServerRecord:
    return ServerRecord(url=url, pid=os.getpid() if pid is None else pid, started_at=1.5, token="t")


@contextmanager
def answering(body: str) -> Generator[str]:
    """A server that answers everything with this body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_record_is_written_for_its_owner_only_and_read_back(tmp_path: Path) -> None:
    home = tmp_path / "new"
    write_server_record(home, record())
    assert read_server_record(home) == record()
    assert (home / SERVER_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == [SERVER_FILE]


def test_a_server_that_answers_as_itself_is_alive(tmp_path: Path) -> None:
    with answering(f'{{"service": "toolscout", "pid": {os.getpid()}}}') as url:
        write_server_record(tmp_path, record(url))
        assert live_server(tmp_path) == record(url)


@pytest.mark.parametrize("body", ['{"service": "toolscout", "pid": -1}', '{"service": "other"}', "<html>", "[]"])
def test_a_stranger_on_the_port_is_not_taken_for_the_server(tmp_path: Path, body: str) -> None:
    with answering(body) as url:
        write_server_record(tmp_path, record(url))
        assert live_server(tmp_path) is None


def test_a_record_of_a_dead_process_or_a_silent_port_is_stale(tmp_path: Path) -> None:
    assert live_server(tmp_path) is None
    write_server_record(tmp_path, record())
    assert live_server(tmp_path) is None
    write_server_record(tmp_path, record(pid=2**22 + 1))
    assert live_server(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"url": 1, "pid": "x", "started_at": 0}'])
def test_an_unreadable_record_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / SERVER_FILE).write_text(content)
    assert live_server(tmp_path) is None


def test_a_server_removes_its_own_record_and_not_its_successors(tmp_path: Path) -> None:
    write_server_record(tmp_path, record(pid=1))
    remove_server_record(tmp_path, pid=2)
    assert read_server_record(tmp_path) is not None
    remove_server_record(tmp_path, pid=1)
    assert read_server_record(tmp_path) is None
    remove_server_record(tmp_path)
