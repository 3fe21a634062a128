"""The catalog as the commands see it: through the gateway that owns it, or opened by the command itself."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from gateway.cli.remote_catalog import RemoteCatalog
from gateway.home import ServerRecord, live_server
from gateway.remote import Record, RemoteGateway

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from indexer import IndexerSettings, RegistrationReport, RejectedTool, ToolDefinition, ToolIndex

T = TypeVar("T")

_LOCK_WAIT_SECONDS: Final = 2.0
"""How long a gateway that is just starting may take until it answers."""


class Catalog(Protocol):
    """What the commands ask of a catalog. Records are in the shape that the HTTP interface answers with.

    Raises: IndexerError, GatewayError.
    """

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
    opened = server or _open_here(settings)
    if isinstance(opened, ServerRecord):
        yield RemoteCatalog(RemoteGateway(opened.url, token=opened.token))
        return
    with closing(opened):
        yield opened


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
