"""The one writer of a catalog in this process: writes the store first and the replica after it, and follows others."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import ToolDocument
from indexer.embedders.base import Embedder, token_encoder_of
from indexer.errors import CorruptSnapshotError, EmbeddingError, StoreError, StoreUnavailableError
from indexer.following import ChangeLog, MustRebuildError, OwnedLog, Position
from indexer.registering import (
    BATCH_TOOLS,
    POLITE_BATCH_TOOLS,
    TURN_BATCHES,
    Change,
    Judge,
    Known,
    Registration,
    Taken,
    as_change,
    embedded,
    encoder_id_of,
    take_batch,
    tombstone,
)
from indexer.replica import Replica, ReplicaState
from indexer.right_of_way import RightOfWay
from indexer.search import RegistrationReport, RejectedTool, merge_reports
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from indexer.stores.base import StoredTool, ToolStore
from indexer.write_behind import WriteBehind

_log = logging.getLogger(__name__)

SNAPSHOT_CHANGES: Final = 1024
"""A snapshot is written once a start would have to catch up with this many changes; the store is flushed then too."""
SNAPSHOT_SHARE: Final = 64
"""Of a large catalog, once one tool in so many has changed: writing a million tools takes the better part of a minute
of processor time, catching up with 15,000 changes five seconds (benchmarks/scale_costs.py)."""
_REBUILDS: Final = 3
"""Times everything is read in vain, because tombstones went that were not read, before giving up for now."""


def snapshot_changes(tools: int) -> int:
    """After how many changes the snapshot of a catalog of so many tools is written anew."""
    return max(SNAPSHOT_CHANGES, tools // SNAPSHOT_SHARE)


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
    ) -> None:
        """Load the snapshot and catch up with the store.

        `log`: how the store is followed and written; by default as its only owner. One that is shared may be away at
        the start if there is a snapshot: searches are then answered from it. `recall`: as `Replica` takes it.
        Raises: StoreError, EmbeddingError.
        """
        self._store = store
        self._embedder = embedder
        self._judge = judge
        self._snapshot_path = snapshot_path
        self._log: ChangeLog = log or OwnedLog(store)
        self._monotonic = monotonic
        self.encoder_id = encoder_id_of(embedder)
        self._origin = SnapshotOrigin(store_id=store_id, encoder_id=self.encoder_id, dimensions=embedder.dimensions)
        self.right_of_way = RightOfWay()
        """Of the searches of whoever holds this writer, while it registers."""
        self._lock = threading.Lock()
        self._behind = WriteBehind()
        self._unsaved = 0
        self._unflushed = 0
        self._store_in_doubt = False
        self._replica_in_doubt = False
        self._settled = False
        self._closed = False
        self._heard_at = monotonic()
        self._recall = recall
        self._replica = self._empty_replica()
        self._start()

    def _empty_replica(self) -> Replica:
        return Replica(self._embedder.dimensions, recall=self._recall, token_encoder=token_encoder_of(self._embedder))

    @property
    def state(self) -> ReplicaState:
        """The newest state; readers take it once and keep it for the whole of their answer."""
        return self._replica.state

    @property
    def shared(self) -> bool:
        """Whether others write to the store, so that `follow` must be called again and again."""
        return self._log.shared

    @property
    def silence_seconds(self) -> float:
        """How long ago a shared store last answered a question for news; 0 for one that only this process writes."""
        return self._monotonic() - self._heard_at if self._log.shared else 0.0

    def parts_bytes(self) -> dict[str, int]:
        return self._replica.parts_bytes()

    # Starting and following.

    def _start(self) -> None:
        loaded = self._load()
        try:
            self._settle(patient=not loaded)
        except StoreUnavailableError as error:
            if not (loaded and self._log.shared):
                raise
            _log.warning("searching what was known %.0f s ago: %s", self.silence_seconds, error)
        else:
            self.calibrate_if_much_changed()

    def _load(self) -> bool:
        """Whether there was a snapshot to start from."""
        if self._snapshot_path is None:
            return False
        try:
            replica = load_snapshot(
                self._snapshot_path,
                self._origin,
                recall=self._recall,
                token_encoder=token_encoder_of(self._embedder),
            )
            if replica is None:
                return False
            followed = replica.followed or Position(through=replica.revision).to_record()
            self._log.position = Position.from_record(followed)
            age = time.time() - self._snapshot_path.stat().st_mtime
        except (CorruptSnapshotError, OSError, KeyError, TypeError, ValueError) as error:
            _log.warning("the snapshot cannot be used and is rebuilt from the store: %s", error)
            return False
        self._replica = replica
        self._heard_at = self._monotonic() - max(age, 0.0)
        return True

    def _settle(self, *, patient: bool) -> None:
        """The first catching up, and whether it all fits."""
        self._catch_up(patient=patient)
        count = self._log.settled_count()
        if count is not None and count != self._replica.state.live:
            _log.warning("the snapshot does not fit the store and is rebuilt from it")
            self._rebuild(patient=patient)
        self._settled = True

    def follow(self) -> bool:
        """Take over what others wrote; whether there was anything. Raises: StoreError, EmbeddingError."""
        with self._lock:
            self._check_open()
            before = self._replica.state
            if self._settled:
                self._catch_up(patient=False)
            else:
                self._settle(patient=False)
            self._compact_if_much_died()
            self._log.maintain()
            return self._replica.state is not before

    def _catch_up(self, *, patient: bool) -> None:
        """Apply what the store has and the replica lacks; vectors of another encoder are made anew."""
        if self._replica_in_doubt:
            self._rebuild(patient=patient)
            return
        try:
            while self._take_over(self._replica, self._log.changes(patient=patient)):
                pass
        except MustRebuildError:
            self._rebuild(patient=patient)
        self._store_in_doubt = False
        self._heard_at = self._monotonic()

    def _rebuild(self, *, patient: bool) -> None:
        """Read everything into a new replica; readers have the old one until it is whole."""
        for _ in range(_REBUILDS):
            replica = self._empty_replica()
            try:
                wrote = self._take_over(replica, self._log.everything(patient=patient))
                while wrote:
                    wrote = self._take_over(replica, self._log.changes(patient=patient))
            except MustRebuildError:
                continue
            self._replica = replica
            self._replica_in_doubt = self._store_in_doubt = False
            self._heard_at = self._monotonic()
            return
        raise StoreUnavailableError("The catalog changed whenever it was about to be read; try again.")

    def _take_over(self, replica: Replica, changes: Iterator[list[StoredTool]]) -> bool:
        """Apply changes; whether some were written on the way, so that there are more now."""
        wrote = False
        for batch in changes:
            foreign = [tool for tool in batch if self._is_foreign(tool)]
            if foreign and not wrote:
                _log.warning("the store holds vectors of another encoder or of other texts; embedding its tools again")
            _apply(replica, [tool for tool in batch if not self._is_foreign(tool)])
            for start in range(0, len(foreign), BATCH_TOOLS):
                part = [as_change(tool) for tool in foreign[start : start + BATCH_TOOLS]]
                _apply(replica, self._log.write(self._embedded(part)))
            wrote = wrote or bool(foreign)
            self._unsaved += len(batch)
            self._heard_at = self._monotonic()
        return wrote

    def _is_foreign(self, tool: StoredTool) -> bool:
        return tool.status == "active" and (tool.encoder_id != self.encoder_id or tool.vector is None)

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
            try:
                taken = [self._take_batch(entries, limit, behind=batches > 1)]
                while len(taken) < batches and not taken[-1].is_last:
                    taken.append(self._take_batch(entries, limit, behind=len(taken) + 1 < batches))
            finally:
                self._finish_write()
            if len(taken) == 1:
                return taken[0]  # nothing was written since its report
            report = merge_reports([one.report for one in taken])
            return Taken(
                entries=sum(one.entries for one in taken),
                report=replace(report, catalog_revision=self._replica.revision),
                is_last=taken[-1].is_last,
            )

    def _take_batch(self, entries: Iterator[ToolDefinition | RejectedTool], limit: int, *, behind: bool) -> Taken:
        """`behind`: of a whole batch, do not wait for the store."""

        def register(batch: Sequence[ToolDefinition | RejectedTool]) -> RegistrationReport:
            if not self._behind.is_on:
                self._prepare(worthwhile=bool(batch))
            registration = Registration(self._known, self._judge, self.encoder_id, between=self.right_of_way.give_way)
            registration.take(batch)
            self._write(registration.changes(), behind=behind and len(batch) == limit)
            return registration.report(self._replica.revision)

        return take_batch(entries, register, limit=limit, between=self.right_of_way.give_way)

    def _known(self, key: ToolKey) -> Known | None:
        if (known := self._behind.known(key)) is not None:
            return known
        state = self._replica.state
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
        """Be where the store is: beside other writers always, else after a failure."""
        self._check_open()
        if not self._settled:
            self._settle(patient=True)
        elif self._replica_in_doubt or self._store_in_doubt or (self._log.shared and worthwhile):
            self._catch_up(patient=True)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The index is closed.")

    def _write(self, changes: Sequence[Change], *, behind: bool = False) -> None:
        """`behind`: return before the store has them; `_finish_write` waits for it."""
        if not changes:
            return
        tools = self._embedded(changes)
        documents = {one.tool.key: one.document for one in changes if one.document is not None}
        self.right_of_way.give_way()
        self._finish_write()
        # A write that failed may still have reached the store: it is asked before the next one.
        self._store_in_doubt = True
        if behind:
            self._behind.begin(self._log.write, tools, documents)
        else:
            self._written(self._log.write(tools), documents)

    def _finish_write(self) -> None:
        finished = self._behind.finish()
        if finished is not None:
            self._written(*finished)

    def _written(self, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument]) -> None:
        self._store_in_doubt = False
        self.right_of_way.give_way()
        self._replica_in_doubt = True
        _apply(self._replica, tools, documents)
        self._replica_in_doubt = False
        self._unsaved += len(tools)
        self._unflushed += len(tools)
        self._compact_if_much_died()

    def _embedded(self, changes: Sequence[Change]) -> list[StoredTool]:
        return embedded(self._embedder, changes, terms=self._log.shared)

    def _compact_if_much_died(self) -> None:
        if self._replica.wants_compaction:
            self._replica.compact()

    # Calibrating and saving.

    @property
    def wants_care(self) -> bool:
        """Whether `take_care` would do anything: most changes are small, and a hop to a thread takes longer."""
        return self._replica.wants_calibration or self._wants_snapshot or self._unflushed >= SNAPSHOT_CHANGES

    def take_care(self) -> None:
        """Calibrate and save what has much changed. Raises: StoreError."""
        self.calibrate_if_much_changed()
        self.save_if_much_changed()

    def calibrate_if_much_changed(self) -> None:
        """Measure anew what a weak match is, once the catalog is another; an encoder that fails leaves it as it was."""
        with self._lock:
            if self._closed or not self._replica.wants_calibration:
                return
            try:
                self._replica.calibrate(self._embedder)
                # Else a catalog that is only read would be calibrated anew by every process that opens it.
                self._unsaved = max(self._unsaved, 1)
            except EmbeddingError:
                _log.exception("the encoder failed on the calibration; weak matches are told as before")

    def save_if_much_changed(self) -> None:
        """Flush the store and write a snapshot once that spares the next start something. Raises: StoreError."""
        with self._lock:
            if self._wants_snapshot:
                self._save()
            elif self._unflushed >= SNAPSHOT_CHANGES:
                self._flush()

    @property
    def _wants_snapshot(self) -> bool:
        return self._unsaved >= snapshot_changes(self._replica.state.live)

    def _flush(self) -> None:
        self._store.flush()
        self._unflushed = 0

    def _save(self) -> None:
        self._flush()
        if self._snapshot_path is not None:
            self._replica.followed = self._log.position.to_record()
            save_snapshot(self._snapshot_path, self._replica, self._origin)
        self._unsaved = 0

    def close(self) -> None:
        """Save what changed and let go of the store; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._unsaved and not (self._store_in_doubt or self._replica_in_doubt):
                    self._save()
            except StoreError:
                # The store is the truth and has everything: the next start is slower, nothing is lost.
                _log.warning("the catalog could not be saved on closing", exc_info=True)
            self._behind.close()
            self._store.close()


def _apply(
    replica: Replica, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument] | None = None
) -> None:
    """Take over what is newer than what the replica has: a shared store may tell the same twice."""
    state = replica.state
    replica.apply([tool for tool in tools if tool.revision > state.revision_of(tool.key)], documents)
