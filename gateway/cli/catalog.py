"""The catalog as the commands see it: through the gateway that owns it, or opened by the command itself."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from gateway.home import ServerRecord, live_server
from gateway.remote import RemoteError, RemoteGateway, path_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from indexer import IndexerSettings, RegistrationReport, RejectedTool, ToolDefinition, ToolIndex

Record: TypeAlias = dict[str, Any]
"""A JSON object in the shape that the HTTP interface answers with, whichever way it came."""
T = TypeVar("T")

_BATCH: Final = 500
"""Tools sent to a gateway in one request: each is durable before the next leaves."""
_BATCH_BYTES: Final = 4 * 1024 * 1024
_PAGE: Final = 1000
"""Tools listed in one request: what a gateway answers with at most."""
_LOCK_WAIT_SECONDS: Final = 2.0
"""How long a gateway that is just starting may take until it answers."""


class Catalog(Protocol):
    """What the commands ask of a catalog. Raises: IndexerError, GatewayError."""

    where: str
    """For people: the home, or the gateway's address."""

    @property
    def index(self) -> "ToolIndex":
        """The same catalog, for what is asynchronous; its coroutines are given to `run`."""
        ...

    def run(self, work: "Coroutine[Any, Any, T]") -> T: ...

    def search(self, queries: Sequence[str], k: int, namespaces: Sequence[str], tags: Sequence[str]) -> Record: ...

    def tools(
        self, namespaces: Sequence[str], tags: Sequence[str], offset: int, limit: int, *, quarantined: bool
    ) -> list[Record]: ...

    def tool(self, namespace: str, name: str) -> Record | None: ...

    def delete(self, namespace: str, name: str) -> bool: ...

    def stats(self) -> Record: ...

    def namespaces(self) -> dict[str, int]: ...

    def register(
        self, entries: "Iterable[ToolDefinition | RejectedTool]", progress: Callable[[int], None]
    ) -> "RegistrationReport": ...


@contextmanager
def open_catalog(settings: "IndexerSettings | None" = None) -> Generator[Catalog]:
    """The catalog, through the gateway that owns the home if one runs, else opened here.

    Raises: StoreLockedError if another process owns it that is no gateway, StoreError.
    """
    server = live_server(catalog_home() if settings is None else settings.home)
    if server is not None:
        yield RemoteCatalog(RemoteGateway(server.url, token=server.token))
        return
    opened = _open_here(settings)
    if isinstance(opened, ServerRecord):
        yield RemoteCatalog(RemoteGateway(opened.url, token=opened.token))
        return
    try:
        yield opened
    finally:
        opened.close()


def catalog_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The same as `IndexerSettings.from_environment().home`, without importing numpy to know it."""
    home = environment.get("TOOLSCOUT_HOME")
    return Path(home).expanduser() if home else Path.home() / ".local" / "share" / "toolscout"


def _open_here(settings: "IndexerSettings | None") -> "LocalCatalog | ServerRecord":
    """The catalog opened by this process, or the gateway that turns out to hold it. Raises: StoreLockedError."""
    from indexer import IndexerSettings, StoreLockedError

    settings = settings or IndexerSettings.from_environment()
    try:
        return LocalCatalog(settings)
    except StoreLockedError:
        server = _wait_for_server(settings.home)
    if server is None:
        raise StoreLockedError(
            f"the catalog in {settings.home} is in use by another process, an index run perhaps; "
            "wait until it ends, or set TOOLSCOUT_HOME to another folder"
        )
    return server


def _wait_for_server(home: Path) -> ServerRecord | None:
    """The gateway that holds the lock and has not answered yet, once it does."""
    until = time.monotonic() + _LOCK_WAIT_SECONDS
    while time.monotonic() < until:
        server = live_server(home)
        if server is not None:
            return server
        time.sleep(0.2)
    return None


class LocalCatalog:
    """The catalog opened by this process. Raises: StoreLockedError, StoreError."""

    def __init__(self, settings: "IndexerSettings") -> None:
        from asyncio import Runner  # a running gateway is asked without it

        from indexer import open_index

        self.where = settings.qdrant_url or str(settings.home)
        self._runner = Runner()
        try:
            self._index: ToolIndex = self.run(open_index(settings))
        except BaseException:  # an interrupt too: the loop must be closed
            self._runner.close()
            raise

    @property
    def index(self) -> "ToolIndex":
        return self._index

    def run(self, work: "Coroutine[Any, Any, T]") -> T:
        """Run a coroutine in this catalog's loop."""
        return self._runner.run(work)

    def close(self) -> None:
        """Save what must be saved and let go of the store."""
        try:
            self.run(self.index.aclose())
        finally:
            self._runner.close()

    def search(self, queries: Sequence[str], k: int, namespaces: Sequence[str], tags: Sequence[str]) -> Record:
        from gateway.api.records import search_record
        from indexer import SearchScope, ToolSearchRequest

        scope = SearchScope(namespaces=frozenset(namespaces) or None, tags=frozenset(tags))
        request = ToolSearchRequest(queries=tuple(queries), max_results=k, scope=scope)
        return search_record(self.run(self.index.search(request)))

    def tools(
        self, namespaces: Sequence[str], tags: Sequence[str], offset: int, limit: int, *, quarantined: bool
    ) -> list[Record]:
        from gateway.api.records import stored_record
        from indexer import SearchScope

        scope = SearchScope(namespaces=frozenset(namespaces) or None, tags=frozenset(tags))
        found = self.run(self.index.list_tools(scope, offset=offset, limit=limit, quarantined=quarantined))
        return [stored_record(tool) for tool in found]

    def tool(self, namespace: str, name: str) -> Record | None:
        from gateway.api.records import stored_record
        from indexer import DEFAULT_TENANT, ToolKey

        stored = self.run(self.index.get(ToolKey(DEFAULT_TENANT, namespace, name)))
        return None if stored is None else stored_record(stored)

    def delete(self, namespace: str, name: str) -> bool:
        from indexer import DEFAULT_TENANT, ToolKey

        return self.run(self.index.delete([ToolKey(DEFAULT_TENANT, namespace, name)])) > 0

    def stats(self) -> Record:
        return asdict(self.run(self.index.stats()))

    def namespaces(self) -> dict[str, int]:
        from indexer import SearchScope

        return self.run(self.index.namespaces(SearchScope()))

    def register(
        self, entries: "Iterable[ToolDefinition | RejectedTool]", progress: Callable[[int], None]
    ) -> "RegistrationReport":
        return self.run(self.index.register(entries, progress=progress))


class RemoteCatalog:
    """The catalog of a running gateway, over HTTP. Raises: RemoteError."""

    def __init__(self, gateway: RemoteGateway) -> None:
        self.where = gateway.url
        self.gateway = gateway

    @property
    def index(self) -> "ToolIndex":
        from gateway.remote_index import RemoteToolIndex

        return RemoteToolIndex(self.gateway)

    def run(self, work: "Coroutine[Any, Any, T]") -> T:
        import asyncio

        return asyncio.run(work)

    def search(self, queries: Sequence[str], k: int, namespaces: Sequence[str], tags: Sequence[str]) -> Record:
        body: Record = {"queries": list(queries), "max_results": k}
        if namespaces:
            body["namespaces"] = list(namespaces)
        if tags:
            body["tags"] = list(tags)
        return self.gateway.post("/v1/search", body)

    def tools(
        self, namespaces: Sequence[str], tags: Sequence[str], offset: int, limit: int, *, quarantined: bool
    ) -> list[Record]:
        found: list[Record] = []
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            answer = self.gateway.get(
                "/v1/tools",
                namespace=list(namespaces),
                tag=list(tags),
                offset=offset + len(found),
                limit=size,
                quarantined="true" if quarantined else None,
            )
            found += answer["tools"]
            if len(answer["tools"]) < size:
                break
        return found

    def tool(self, namespace: str, name: str) -> Record | None:
        try:
            return self.gateway.get(path_of("v1", "tools", namespace, name))
        except RemoteError as error:
            if error.status == 404:
                return None
            raise

    def delete(self, namespace: str, name: str) -> bool:
        try:
            self.gateway.delete(path_of("v1", "tools", namespace, name))
        except RemoteError as error:
            if error.status == 404:
                return False
            raise
        return True

    def stats(self) -> Record:
        return self.gateway.get("/v1/stats")

    def namespaces(self) -> dict[str, int]:
        return self.gateway.get("/v1/namespaces")["namespaces"]

    def register(
        self, entries: "Iterable[ToolDefinition | RejectedTool]", progress: Callable[[int], None]
    ) -> "RegistrationReport":
        """Sent in batches; what a source could not read is reported here and not sent."""
        from indexer import RegistrationReport, RejectedTool, merge_reports

        started = time.monotonic()
        whole = RegistrationReport()
        done = 0
        for batch in _batches(entries):
            refused = tuple(entry for entry in batch if isinstance(entry, RejectedTool))
            lines = [entry.encoded for entry in batch if not isinstance(entry, RejectedTool)]
            answer = self.gateway.post_lines("/v1/tools/bulk", lines) if lines else {}
            whole = merge_reports([whole, _report(answer, refused)])
            done += len(batch)
            progress(done)
        return replace(whole, seconds=time.monotonic() - started)


def _batches(
    entries: "Iterable[ToolDefinition | RejectedTool]",
) -> "Iterator[list[ToolDefinition | RejectedTool]]":
    """Entries in batches bounded in number and size; what came before one that cannot be read is handed out first."""
    from indexer import IndexerError, RejectedTool

    batch: list[ToolDefinition | RejectedTool] = []
    size = 0
    try:
        for entry in entries:
            batch.append(entry)
            size += 0 if isinstance(entry, RejectedTool) else len(entry.encoded)
            if len(batch) == _BATCH or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    except IndexerError:
        yield batch
        raise
    if batch:
        yield batch


def _report(answer: Record, refused: "tuple[RejectedTool, ...]") -> "RegistrationReport":
    from indexer import RegistrationReport, RejectedTool

    return RegistrationReport(
        added=answer.get("added", 0),
        changed=answer.get("changed", 0),
        unchanged=answer.get("unchanged", 0),
        quarantined=tuple(RejectedTool(**entry) for entry in answer.get("quarantined", ())),
        refused=refused + tuple(RejectedTool(**entry) for entry in answer.get("refused", ())),
        unlisted_quarantined=answer.get("unlisted_quarantined", 0),
        unlisted_refused=answer.get("unlisted_refused", 0),
        catalog_revision=answer.get("catalog_revision", 0),
    )
