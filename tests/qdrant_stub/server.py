"""The stub's HTTP side: routes, faults on demand, and what it did not understand."""

import json
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter
from qdrant_client.http import models

from tests.qdrant_stub.collection import StubCollection
from tests.qdrant_stub.conversion import UnknownRequestError, only

VERSION: Final = "1.20.0"


class RefusedError(Exception):
    """What a server refuses, with its status."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


@dataclass
class QdrantStub:
    """Collections, aliases and faults; outlives the servers that are started over it."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="qdrant-stub-data-")))
    collections: dict[str, StubCollection] = field(default_factory=dict[str, StubCollection])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    version: str = VERSION
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list[tuple[int, dict[str, str]]])
    """Statuses and headers that the next requests are answered with, one each."""
    unknown: list[str] = field(default_factory=list[str])
    """Requests that the stub did not understand, for the test to fail by."""
    requests: list[str] = field(default_factory=list[str])
    """Method and route of each request."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _made: int = 0

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers."""
        with self._lock:
            if self.faults:
                status, headers = self.faults.pop(0)
                return status, {"status": {"error": "a fault that the test asked for"}}, headers
            try:
                result = self._route(method, path, body)
            except RefusedError as error:
                return error.status, {"status": {"error": str(error)}, "time": 0.0}, {}
            except (UnknownRequestError, ValueError) as error:
                said = f"{method} {path}: {error}; body {body[:2000].decode('utf-8', 'replace')}"
                self.unknown.append(said)
                return 501, {"status": {"error": said}, "time": 0.0}, {}
            return 200, result if path == "/" else {"result": result, "status": "ok", "time": 0.001}, {}

    def _route(self, method: str, path: str, body: bytes) -> Any:
        for (wanted, pattern), handler in _ROUTES.items():
            found = re.fullmatch(pattern, path)
            if found is not None and method == wanted:
                self.requests.append(f"{method} {pattern}")
                return handler(self, *map(unquote, found.groups()), *([body] if method in ("PUT", "POST") else []))
        raise UnknownRequestError("no such route")

    def collection(self, name: str) -> StubCollection:
        found = self.collections.get(self.aliases.get(name, name))
        if found is None:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        return found

    # Collections and aliases.

    def root(self) -> Any:
        return {"title": "qdrant - vector search engine", "version": self.version, "commit": "stub"}

    def list_collections(self) -> Any:
        return {"collections": [{"name": name} for name in self.collections]}

    def exists(self, name: str) -> Any:
        return {"exists": name in self.collections}

    def info(self, name: str) -> Any:
        return self.collection(name).info()

    def create(self, name: str, body: bytes) -> Any:
        if name in self.collections or name in self.aliases:
            raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
        self._made += 1
        made = StubCollection(models.CreateCollection.model_validate_json(body), self.folder / str(self._made))
        self.collections[name] = made
        return True

    def drop(self, name: str) -> Any:
        dropped = self.collections.pop(name, None)
        if dropped is not None:
            dropped.close()
        self.aliases = {alias: target for alias, target in self.aliases.items() if target != name}
        return dropped is not None

    def list_aliases(self) -> Any:
        return {"aliases": [{"alias_name": alias, "collection_name": name} for alias, name in self.aliases.items()]}

    def change_aliases(self, body: bytes) -> Any:
        aliases = dict(self.aliases)
        for action in models.ChangeAliasesOperation.model_validate_json(body).actions:
            match action:
                case models.CreateAliasOperation():
                    made = action.create_alias
                    if made.alias_name in self.collections:
                        raise RefusedError(409, f"Collection `{made.alias_name}` already exists!")
                    if made.collection_name not in self.collections:
                        raise RefusedError(404, f"Collection `{made.collection_name}` doesn't exist!")
                    aliases[made.alias_name] = made.collection_name
                case models.DeleteAliasOperation():
                    aliases.pop(action.delete_alias.alias_name, None)
                case _:
                    raise UnknownRequestError(f"an alias operation of kind {type(action).__name__}")
        self.aliases = aliases
        return True

    # Points.

    def create_index(self, name: str, body: bytes) -> Any:
        request = models.CreateFieldIndex.model_validate_json(body)
        only(request, "field_name", "field_schema")
        return self.collection(name).create_index(request)

    def upsert(self, name: str, body: bytes) -> Any:
        return self.collection(name).upsert(models.PointsList.model_validate_json(body))

    def delete(self, name: str, body: bytes) -> Any:
        return self.collection(name).delete(_SELECTORS.validate_json(body))

    def retrieve(self, name: str, body: bytes) -> Any:
        return self.collection(name).retrieve(models.PointRequest.model_validate_json(body))

    def scroll(self, name: str, body: bytes) -> Any:
        return self.collection(name).scroll(models.ScrollRequest.model_validate_json(body))

    def count(self, name: str, body: bytes) -> Any:
        return self.collection(name).count(models.CountRequest.model_validate_json(body))

    def facet(self, name: str, body: bytes) -> Any:
        return self.collection(name).facet(models.FacetRequest.model_validate_json(body))

    def query(self, name: str, body: bytes) -> Any:
        return self.collection(name).query(models.QueryRequest.model_validate_json(body))

    def query_batch(self, name: str, body: bytes) -> Any:
        return [self.collection(name).query(one) for one in models.QueryRequestBatch.model_validate_json(body).searches]

    def close(self) -> None:
        """Let go of the data. Raises: AssertionError if there were requests it did not understand."""
        for name in list(self.collections):
            self.drop(name)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not self.unknown, self.unknown


_SELECTORS: Final[TypeAdapter[Any]] = TypeAdapter(models.PointsSelector)
_COLLECTION: Final = r"/collections/([^/]+)"
_ROUTES: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("GET", "/"): QdrantStub.root,
    ("GET", "/collections"): QdrantStub.list_collections,
    ("GET", "/aliases"): QdrantStub.list_aliases,
    ("POST", "/collections/aliases"): QdrantStub.change_aliases,
    ("GET", f"{_COLLECTION}/exists"): QdrantStub.exists,
    ("GET", _COLLECTION): QdrantStub.info,
    ("PUT", _COLLECTION): QdrantStub.create,
    ("DELETE", _COLLECTION): QdrantStub.drop,
    ("PUT", f"{_COLLECTION}/index"): QdrantStub.create_index,
    ("PUT", f"{_COLLECTION}/points"): QdrantStub.upsert,
    ("POST", f"{_COLLECTION}/points/delete"): QdrantStub.delete,
    ("POST", f"{_COLLECTION}/points"): QdrantStub.retrieve,
    ("POST", f"{_COLLECTION}/points/scroll"): QdrantStub.scroll,
    ("POST", f"{_COLLECTION}/points/count"): QdrantStub.count,
    ("POST", f"{_COLLECTION}/points/query"): QdrantStub.query,
    ("POST", f"{_COLLECTION}/points/query/batch"): QdrantStub.query_batch,
    ("POST", f"{_COLLECTION}/facet"): QdrantStub.facet,
}


class StubServer:
    """A listening server over a stub; may be stopped and started again on its port, as a server that was away."""

    def __init__(self, stub: QdrantStub) -> None:
        self._stub = stub
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, on the port of before if there was one."""
        stub = self._stub

        class Handler(_Handler):
            answer = staticmethod(stub.answer)

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Be away: open connections are cut, new ones refused."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[Any] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._connections):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went, or that was cut off."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True  # else each answer waits for the client's delayed acknowledgement
    answer: Callable[[str, str, bytes], tuple[int, Any, dict[str, str]]]

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, content, headers = self.answer(self.command, urlsplit(self.path).path, body)
        encoded = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)
        self.wfile.flush()

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


@contextmanager
def running_stub() -> Generator[tuple[QdrantStub, StubServer]]:
    """A stub and its server, ended with the block, which fails if there was a request it did not understand."""
    stub = QdrantStub()
    server = StubServer(stub)
    try:
        yield stub, server
    finally:
        server.stop()
        stub.close()
