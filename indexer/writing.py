"""The one writer of a catalog in this process: writes the store first and the replica after it, and follows others."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import ToolDocument
from indexer.embedders.base import Embedder
from indexer.errors import EmbeddingError, StoreError, StoreUnavailableError
from indexer.following import ChangeLog, OwnedLog
from indexer.holdable import encoded_bytes
from indexer.registering import (
    AT_ONCE_BYTES,
    BATCH_TOOLS,
    POLITE_BATCH_TOOLS,
    TURN_BATCHES,
    Change,
    Judge,
    Known,
    Registration,
    Taken,
    embedded,
    encoder_id_of,
    merge_taken,
    take_batch,
    tombstone,
)
from indexer.replica_state import ReplicaState
from indexer.right_of_way import RightOfWay
from indexer.search import RegistrationReport, RejectedTool
from indexer.snapshot import SNAPSHOT_CHANGES, SnapshotOrigin, save_snapshot, snapshot_changes
from indexer.store_replica import StoreReplica
from indexer.stores.base import StoredTool, ToolStore
from indexer.write_behind import WriteBehind

_log = logging.getLogger(__name__)


class CatalogWriter:
    """Owns the store and the replica's writing side; its calls block and exclude each other.

    Revisions are handed out in the order of the entries, so that a run that was cut off and repeated ends where one
    clean run ends. What the store acknowledged is in the replica before a call returns, cancelled or not.
    """

    def __init__(
        self,
        store: ToolStore,
        embedder: Embedder,
        judge: Judge,
        *,
        store_id: str,
        snapshot_path: Path | None = None,
        log: ChangeLog | None = None,
        recall: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
        at_once_seconds: float = 0.0,
    ) -> None:
        """Load the snapshot and catch up with the store.

        `log`: how the store is followed and written; by default as its only owner. One that is shared may be away at
        the start if there is a snapshot: searches are then answered from it. `recall`: as `Replica` takes it.
        `at_once_seconds`: after a tool that took no longer, the next may be registered in the thread that asks; 0 where
        the store may wait for others, a process at a flush or a network. One that holds the interpreter gains by it.
        Raises: StoreError, EmbeddingError.
        """
        self._store = store
        self._embedder = embedder
        self._judge = judge
        self._snapshot_path = snapshot_path
        self._log: ChangeLog = log or OwnedLog(store)
        self.encoder_id = encoder_id_of(embedder)
        self._origin = SnapshotOrigin(store_id=store_id, encoder_id=self.encoder_id, dimensions=embedder.dimensions)
        self.right_of_way = RightOfWay()
        """Of the searches of whoever holds this writer, while it registers."""
        self._lock = threading.Lock()
        self._behind = WriteBehind()
        self._unflushed = 0
        self._closed = False
        self._at_once_seconds = at_once_seconds
        self._seconds_of_one = float("inf")
        self._kept = StoreReplica(self._log, embedder, recall=recall, monotonic=monotonic)
        self._start()

    @property
    def state(self) -> ReplicaState:
        """The newest state; readers take it once and keep it for the whole of their answer."""
        return self._kept.replica.state

    @property
    def shared(self) -> bool:
        """Whether others write to the store, so that `follow` must be called again and again."""
        return self._log.shared

    @property
    def silence_seconds(self) -> float:
        """How long ago a shared store last answered a question for news; 0 for one that only this process writes."""
        return self._kept.silence_seconds if self._log.shared else 0.0

    def parts_bytes(self) -> dict[str, int]:
        return self._kept.replica.parts_bytes()

    def _start(self) -> None:
        loaded = self._snapshot_path is not None and self._kept.load(self._snapshot_path, self._origin)
        try:
            self._kept.settle(patient=not loaded)
        except StoreUnavailableError as error:
            if not (loaded and self._log.shared):
                raise
            _log.warning("searching what was known %.0f s ago: %s", self.silence_seconds, error)
        else:
            self.calibrate_if_much_changed()

    def follow(self) -> bool:
        """Take over what others wrote; whether there was anything. Raises: StoreError, EmbeddingError."""
        with self._lock:
            self._check_open()
            before = self.state
            self._kept.follow()
            self._log.maintain()
            return self.state is not before

    # Registering.

    def take(self, entries: Iterator[ToolDefinition | RejectedTool]) -> Taken:
        """Register the next entries: a batch, or a few of which each is written while the next one is read.

        What came before an entry that cannot be read is registered before its error passes on.
        Raises: StoreError, EmbeddingError, SourceError.
        """
        polite = self.right_of_way.is_asked_for
        batches = 1 if polite or self._log.shared else TURN_BATCHES
        limit = POLITE_BATCH_TOOLS if polite else BATCH_TOOLS
        with self._lock:
            started = time.perf_counter()
            try:
                taken = [self._take_batch(entries, limit, behind=batches > 1)]
                while len(taken) < batches and not taken[-1].is_last:
                    taken.append(self._take_batch(entries, limit, behind=len(taken) + 1 < batches))
            finally:
                self._finish_write()
            if len(taken) == 1:
                self._note_seconds(taken[0], started)
                return taken[0]  # nothing was written since its report
            return merge_taken(taken, self.state.revision)

    def take_at_once(self, entry: ToolDefinition) -> RegistrationReport | None:
        """Register one tool if that is sure to be short, in an event loop too; else None, and nothing is done.

        Raises: StoreError, EmbeddingError.
        """
        is_short = self._seconds_of_one <= self._at_once_seconds and encoded_bytes(entry) <= AT_ONCE_BYTES
        if not is_short or not self._lock.acquire(blocking=False):
            return None
        try:
            if self._closed or not self._kept.is_at_hand:
                return None
            started = time.perf_counter()
            taken = self._take_batch(iter((entry,)), 1, behind=False)
            self._note_seconds(taken, started)
            return taken.report
        finally:
            self._lock.release()

    def _note_seconds(self, taken: Taken, started: float) -> None:
        if taken.entries == 1 and taken.report.added + taken.report.changed:
            self._seconds_of_one = time.perf_counter() - started

    def _take_batch(self, entries: Iterator[ToolDefinition | RejectedTool], limit: int, *, behind: bool) -> Taken:
        """`behind`: of a whole batch, do not wait for the store."""

        def register(batch: Sequence[ToolDefinition | RejectedTool]) -> RegistrationReport:
            if not self._behind.is_on:
                self._prepare(worthwhile=bool(batch))
            registration = Registration(self._known, self._judge, self.encoder_id, between=self.right_of_way.give_way)
            registration.take(batch)
            self._write(registration.changes(), behind=behind and len(batch) == limit)
            return registration.report(self.state.revision)

        return take_batch(entries, register, limit=limit, between=self.right_of_way.give_way)

    def _known(self, key: ToolKey) -> Known | None:
        if (known := self._behind.known(key)) is not None:
            return known
        state = self.state
        if (held := state.quarantined.get(key)) is not None:
            return held.content_hash, "quarantined"
        row = state.row_of(key)
        return None if row is None else (state.table.content_hash(row), "active")

    def delete(self, keys: Iterable[ToolKey]) -> int:
        """Write tombstones for those that there are; how many that was. Raises: StoreError."""
        with self._lock:
            self._prepare()
            there = [key for key in dict.fromkeys(keys) if self._known(key) is not None]
            for start in range(0, len(there), BATCH_TOOLS):
                self._write([Change(tombstone(key)) for key in there[start : start + BATCH_TOOLS]])
            return len(there)

    def _prepare(self, *, worthwhile: bool = True) -> None:
        self._check_open()
        self._kept.prepare(worthwhile=worthwhile)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The index is closed.")

    def _write(self, changes: Sequence[Change], *, behind: bool = False) -> None:
        """`behind`: return before the store has them; `_finish_write` waits for it."""
        if not changes:
            return
        tools = embedded(self._embedder, changes, terms=self._log.shared)
        documents = {one.tool.key: one.document for one in changes if one.document is not None}
        self.right_of_way.give_way()
        self._finish_write()
        self._kept.writing()
        if behind:
            self._behind.begin(self._log.write, tools, documents)
        else:
            self._written(self._log.write(tools), documents)

    def _finish_write(self) -> None:
        if (finished := self._behind.finish()) is not None:
            self._written(*finished)

    def _written(self, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument]) -> None:
        self.right_of_way.give_way()
        self._kept.written(tools, documents)
        self._unflushed += len(tools)

    # Calibrating and saving.

    @property
    def wants_care(self) -> bool:
        """Whether `take_care` would do anything: most changes are small, and a hop to a thread takes longer."""
        return self._kept.replica.wants_calibration or self._wants_snapshot or self._unflushed >= SNAPSHOT_CHANGES

    def take_care(self) -> None:
        """Calibrate and save what has much changed. Raises: StoreError."""
        self.calibrate_if_much_changed()
        self.save_if_much_changed()

    def calibrate_if_much_changed(self) -> None:
        """Measure anew what a weak match is, once the catalog is another; an encoder that fails leaves it as it was."""
        with self._lock:
            if self._closed or not self._kept.replica.wants_calibration:
                return
            try:
                self._kept.replica.calibrate(self._embedder)
                # Else a catalog that is only read would be calibrated anew by every process that opens it.
                self._kept.unsaved = max(self._kept.unsaved, 1)
            except EmbeddingError as error:
                _log.warning("the encoder failed on the calibration; weak matches are told as before: %s", error)

    def save_if_much_changed(self) -> None:
        """Flush the store and write a snapshot once that spares the next start something. Raises: StoreError."""
        with self._lock:
            if self._wants_snapshot:
                self._save()
            elif self._unflushed >= SNAPSHOT_CHANGES:
                self._flush()

    @property
    def _wants_snapshot(self) -> bool:
        return self._kept.unsaved >= snapshot_changes(self.state.live)

    def _flush(self) -> None:
        self._store.flush()
        self._unflushed = 0

    def _save(self) -> None:
        self._flush()
        self._kept.unsaved = 0
        if self._snapshot_path is None:
            return
        self._kept.replica.followed = self._log.position.to_record()
        try:
            save_snapshot(self._snapshot_path, self._kept.replica, self._origin)
        except StoreError as error:
            # The store is the truth and has everything: whoever registers something has nothing to mend.
            _log.warning("the next start reads the catalog from its store, which takes longer: %s", error)
            self._kept.unsaved = 1  # tried again after as many changes, and on closing

    def close(self) -> None:
        """Save what changed and let go of the store; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._kept.unsaved and not self._kept.in_doubt:
                    self._save()
            except StoreError as error:
                _log.warning("the store could not be flushed on closing: %s", error)
            self._behind.close()
            self._store.close()
