"""Gateways over one store whose every request waits for the test: any interleaving, the same each time."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from indexer.definition import ToolDefinition, ToolKey
from indexer.errors import InvalidToolError
from indexer.following import SharedLog
from indexer.registering import encoder_id_of
from indexer.stores.base import SharedToolStore, StoredTool
from indexer.stores.ledger import Ledger, Span
from indexer.stores.revisions import Timing
from indexer.writing import CatalogWriter
from tests.indexer.catalogs import CountingEmbedder

DIMENSIONS = 16
_PAGE = 2
_WAIT_SECONDS = 30.0


class KilledError(BaseException):
    """Ends what a gateway is doing, as its process would end."""


class Clock:
    """Both clocks of all gateways; it stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Actor:
    """Runs one thing in a thread of its own, from one request to the next, each on demand."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._killed = False
        self.done = False
        self.failure: BaseException | None = None
        self.result: Any = None
        self.request = ""
        """What it would ask of the store next."""
        self.about_to: Callable[[], object] | None = None
        """The write that would be sent next; it may still arrive when its sender is dead."""
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        self._await()

    def _run(self, work: Callable[[], object]) -> None:
        _ACTOR.here = self
        try:
            self.result = work()
        except KilledError:
            pass
        except BaseException as error:  # noqa: BLE001  for the test to look at
            self.failure = error
        self.done = True
        self._stopped.release()

    def _await(self) -> None:
        assert self._stopped.acquire(timeout=_WAIT_SECONDS), "an actor neither ended nor made a request"

    def pause(self, request: str, write: Callable[[], object] | None = None) -> None:
        """Called by the actor's thread before each request."""
        self.request = request
        self.about_to = write
        self._stopped.release()
        self._go.acquire()
        self.about_to = None
        if self._killed:
            raise KilledError

    def step(self) -> None:
        """Let the next request happen."""
        if not self.done:
            self._go.release()
            self._await()

    def run_until(self, request: str) -> None:
        """Let everything happen up to this request of the store, and not it."""
        while not self.done and self.request != request:
            self.step()
        assert not self.done, f"it ended before {request}: {self.failure!r}"

    def finish(self) -> None:
        """Let everything happen. Raises: what the work raised."""
        self._finish()
        if self.failure is not None:
            raise self.failure

    def _finish(self) -> None:
        while not self.done:
            self.step()

    def kill(self) -> Callable[[], object] | None:
        """End it where it stands; the write it was about to send."""
        write = self.about_to
        self._killed = True
        self._finish()
        return write


class _Here(threading.local):
    here: Actor | None = None


_ACTOR = _Here()


def _pause(request: str, write: Callable[[], object] | None = None) -> None:
    if _ACTOR.here is not None:
        _ACTOR.here.pause(request, write)


class SteppingStore:
    """A store whose requests wait for their turn; pages are small, and each is a request."""

    def __init__(self, inner: SharedToolStore) -> None:
        self._inner = inner

    def ledger(self, *, patient: bool = True) -> Ledger:
        _pause("ledger")
        return self._inner.ledger()

    def swap_ledger(self, seen: Ledger, wanted: Ledger) -> Ledger:
        _pause("swap_ledger", lambda: self._inner.swap_ledger(seen, wanted))
        self._inner.swap_ledger(seen, wanted)
        _pause("read_back")
        return self._inner.ledger()

    def upsert_newer(self, tools: Sequence[StoredTool], *, before: int) -> None:
        known = self._revisions()
        _pause("upsert_newer", lambda: self._inner.upsert_newer(tools, before=before))
        self._inner.upsert_newer(tools, before=before)
        for point, revision in self._revisions().items():
            assert revision >= known.get(point, 0), "the revision of a point went back"

    def _revisions(self) -> dict[UUID, int]:
        return {tool.point_id: tool.revision for batch in self._inner.scan_all(vectors=False) for tool in batch}

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        raise AssertionError("several gateways never write without a condition")

    def scan_spans(self, spans: Sequence[Span], *, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        after = 0
        while True:
            _pause("scan_spans")
            rest = [Span(max(span.first, after + 1), span.last) for span in spans if span.last > after]
            page = [tool for batch in self._inner.scan_spans(rest) for tool in batch][:_PAGE]
            if not page:
                return
            after = page[-1].revision
            yield page

    def scan_all(self, *, batch_size: int = 1024, vectors: bool = True) -> Iterator[list[StoredTool]]:
        after: str = ""
        while True:
            _pause("scan_all")
            found = [tool for batch in self._inner.scan_all() for tool in batch if str(tool.point_id) > after]
            page = sorted(found, key=lambda tool: str(tool.point_id))[:_PAGE]
            if not page:
                return
            after = str(page[-1].point_id)
            yield page

    def tombstones(self, *, through: int, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        _pause("tombstones")
        return self._inner.tombstones(through=through)

    def purge(self, *, through: int) -> None:
        _pause("purge", lambda: self._inner.purge(through=through))
        self._inner.purge(through=through)

    def count(self) -> int:
        _pause("count")
        return self._inner.count()

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        _pause("fetch")
        return self._inner.fetch(point_ids)

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        raise AssertionError("several gateways never read past a revision without the ledger")

    def last_revision(self) -> int:
        raise AssertionError("several gateways never ask for the last revision")

    def refresh(self) -> None:
        _pause("refresh")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class Gateway:
    """A writer with its replica, as one process has them."""

    def __init__(
        self,
        store: SharedToolStore,
        clock: Clock,
        seed: int,
        *,
        encoder: str = "hashing",
        tombstone_seconds: float = 3600.0,
        snapshot_path: Path | None = None,
    ) -> None:
        self._store = SteppingStore(store)
        embedder = CountingEmbedder(encoder, DIMENSIONS)
        timing = Timing(
            clock=clock,
            monotonic=clock,
            sleep=lambda seconds: None,
            lease_seconds=60.0,
            grace_seconds=600.0,
            rng=random.Random(seed),
        )
        self.log = SharedLog(
            self._store,
            encoder_id=encoder_id_of(embedder),
            encoder=encoder,
            timing=timing,
            tombstone_seconds=tombstone_seconds,
        )
        self.writer = CatalogWriter(
            self._store,
            embedder,
            _accept,
            store_id="shared",
            snapshot_path=snapshot_path,
            log=self.log,
            monotonic=clock,
        )

    def register(self, definitions: Sequence[ToolDefinition]) -> int:
        """As a client's request; the revision of its answer."""
        taken = self.writer.take(iter(definitions))
        assert taken.entries == len(definitions)
        return taken.report.catalog_revision

    def delete(self, keys: Sequence[ToolKey]) -> int:
        return self.writer.delete(keys)

    def contents(self) -> dict[ToolKey, tuple[int, str]]:
        """Revision and description of every tool that a search here may find."""
        state = self.writer.state
        rows = [row for row in range(state.n_rows) if state.alive(row)]
        stored = [state.stored(row, "") for row in rows]
        return {tool.key: (tool.revision, tool.definition.description) for tool in stored}


def stored_contents(store: SharedToolStore) -> dict[ToolKey, tuple[int, str]]:
    """The same of the store."""
    tools = [tool for batch in store.scan_all(vectors=False) for tool in batch]
    return {tool.key: (tool.revision, tool.definition.description) for tool in tools if tool.status == "active"}


def _accept(definition: ToolDefinition) -> InvalidToolError | None:
    return None
