"""The writing side of a catalog that is searched on its server: no replica, every look-up asks the store."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

from indexer.definition import ToolDefinition, ToolKey
from indexer.embedders.base import Embedder
from indexer.errors import StoreError
from indexer.following import SharedLog
from indexer.registering import (
    BATCH_TOOLS,
    Change,
    Judge,
    Known,
    Registration,
    Taken,
    embedded,
    encoder_id_of,
    take_batch,
    tombstone,
)
from indexer.search import RegistrationReport, RejectedTool
from indexer.stores.qdrant import QdrantToolStore


@final
class ServerCatalogWriter:
    """Owns the store and its log; calls block and exclude each other, as those of `CatalogWriter` do."""

    def __init__(
        self,
        store: QdrantToolStore,
        log: SharedLog,
        embedder: Embedder,
        judge: Judge,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check that the catalog is this encoder's, and has words to search by. Raises: StoreError."""
        self._store = store
        self._log = log
        self._embedder = embedder
        self._judge = judge
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._closed = False
        self.encoder_id = encoder_id_of(embedder)
        self.revision = 0
        """The last one given out, as far as this process knows."""
        self.catalog_id = ""
        """Of the collection that was seen last."""
        self._heard_at = monotonic()
        self.follow()
        if not store.handle().has_words:
            raise StoreError(
                f"The Qdrant collection {store.handle().name!r} holds no words to search by; it was made by an older "
                "version. Make it anew with `toolscout migrate`, or unset TOOLSCOUT_MEMORY_BUDGET_MB."
            )
        self.tools_at_start = store.count()

    @property
    def collection(self) -> str:
        """Where the catalog lies; asks nobody."""
        return self._store.handle().name

    @property
    def silence_seconds(self) -> float:
        return self._monotonic() - self._heard_at

    def follow(self) -> None:
        """Find out whether the catalog is where it was, and how far it has come. Raises: StoreError."""
        with self._lock:
            self._check()
            self._log.maintain()

    def _check(self, *, patient: bool = False) -> None:
        if self._closed:
            raise StoreError("The index is closed.")
        ledger = self._log.look(patient=patient)
        self.revision, self.catalog_id = ledger.allocated, ledger.catalog_id
        self._heard_at = self._monotonic()

    def take(self, entries: Iterator[ToolDefinition | RejectedTool]) -> Taken:
        """Register the next batch of entries. Raises: StoreError, EmbeddingError, SourceError."""
        return take_batch(entries, self._register)

    def _register(self, entries: Sequence[ToolDefinition | RejectedTool]) -> RegistrationReport:
        with self._lock:
            self._check(patient=True)
            keys = [entry.key for entry in entries if isinstance(entry, ToolDefinition)]
            registration = Registration(self._known(keys).get, self._judge, self.encoder_id)
            registration.take(entries)
            self._write(registration.changes())
            return registration.report(self.revision)

    def _known(self, keys: Sequence[ToolKey]) -> dict[ToolKey, Known]:
        found = self._store.fetch([key.point_id for key in keys if _is_text(key)])
        return {tool.key: (tool.content_hash, tool.status) for tool in found.values() if tool.status != "deleted"}

    def delete(self, keys: Iterable[ToolKey]) -> int:
        """Write tombstones for those that there are; how many that was. Raises: StoreError."""
        with self._lock:
            self._check(patient=True)
            wanted = list(dict.fromkeys(keys))
            deleted = 0
            for start in range(0, len(wanted), BATCH_TOOLS):
                there = self._known(wanted[start : start + BATCH_TOOLS])
                self._write([Change(tombstone(key)) for key in there])
                deleted += len(there)
            return deleted

    def _write(self, changes: Sequence[Change]) -> None:
        if changes:
            written = self._log.write(embedded(self._embedder, changes, terms=True))
            self.revision = max(self.revision, written[-1].revision)

    def close(self) -> None:
        """Let go of the store; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._store.close()


def _is_text(key: ToolKey) -> bool:
    """A key with half of a surrogate pair is in no store, and has no id."""
    try:
        "".join(key).encode()
    except UnicodeEncodeError:
        return False
    return True
