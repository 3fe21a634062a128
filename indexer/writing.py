"""The one writer of a catalog: judges, embeds, writes the store first and the replica after it."""

import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import ToolDocument, document_of
from indexer.embedders.base import Embedder
from indexer.engine import TEXT_RECIPE, embed_tools
from indexer.errors import (
    CorruptSnapshotError,
    DimensionMismatchError,
    EmbeddingError,
    InvalidToolError,
    StoreError,
)
from indexer.replica import Replica, ReplicaState
from indexer.search import RegistrationReport, RejectedTool
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from indexer.stores.base import StoredTool, ToolStatus, ToolStore

_log = logging.getLogger(__name__)

BATCH_TOOLS: Final = 128
"""Entries of one write. The embedded engine holds the interpreter lock for about 40 microseconds a tool, so that a
batch of 512 would stop every request for 20 ms; smaller batches cost nothing in all."""
BATCH_BYTES: Final = 1024 * 1024
"""Of the definitions of one write, about: tools may be a megabyte each."""
SNAPSHOT_CHANGES: Final = 1024
"""A snapshot is written once a start would have to catch up with this many changes."""

Judge = Callable[[ToolDefinition], InvalidToolError | None]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A change that is to be written."""

    tool: StoredTool
    document: ToolDocument | None


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
    ) -> None:
        """Load the snapshot and catch up with the store. Raises: StoreError, EmbeddingError."""
        self._store = store
        self._embedder = embedder
        self._judge = judge
        self._snapshot_path = snapshot_path
        self.encoder_id = f"{embedder.embedder_id}/{TEXT_RECIPE}"
        """Of the vectors: by which encoder, of which texts. Vectors of different ids are never mixed."""
        self._origin = SnapshotOrigin(store_id=store_id, encoder_id=self.encoder_id, dimensions=embedder.dimensions)
        self._lock = threading.Lock()
        self._unsaved = 0
        self._store_in_doubt = False
        self._replica_in_doubt = False
        self._closed = False
        self._replica = self._load()
        self._catch_up()
        if self._replica.state.live != store.count():
            _log.warning("the snapshot does not fit the store and is rebuilt from it")
            self._replica = Replica(embedder.dimensions)
            self._catch_up()
        self.calibrate_if_much_changed()

    @property
    def state(self) -> ReplicaState:
        """The newest state; readers take it once and keep it for the whole of their answer."""
        return self._replica.state

    def parts_bytes(self) -> dict[str, int]:
        return self._replica.parts_bytes()

    # Starting.

    def _load(self) -> Replica:
        if self._snapshot_path is not None:
            try:
                replica = load_snapshot(self._snapshot_path, self._origin)
                if replica is not None and replica.revision <= self._store.last_revision():
                    return replica
            except CorruptSnapshotError as error:
                _log.warning("the snapshot cannot be used and is rebuilt from the store: %s", error)
        return Replica(self._embedder.dimensions)

    def _catch_up(self) -> None:
        """Apply what the store has and the replica lacks; vectors of another encoder are made anew.

        Those come back as later changes of the same scan, so that every follower sees them.
        """
        while self._follow():
            pass
        self._store_in_doubt = False

    def _follow(self) -> bool:
        """One scan; whether it wrote anything that a further scan must bring."""
        wrote = 0
        for batch in self._store.scan(after_revision=self._replica.revision):
            foreign = [tool for tool in batch if self._is_foreign(tool)]
            if foreign:
                if not wrote:
                    _log.warning(
                        "the store holds vectors of another encoder or of other texts; embedding its tools again"
                    )
                self._write_again(foreign, self._store.last_revision() + 1)
                wrote += len(foreign)
            self._replica.apply([tool for tool in batch if not self._is_foreign(tool)])
            self._unsaved += len(batch)
        return wrote > 0

    def _is_foreign(self, tool: StoredTool) -> bool:
        return tool.status == "active" and (tool.encoder_id != self.encoder_id or tool.vector is None)

    def _write_again(self, tools: Sequence[StoredTool], revision: int) -> None:
        pending = [
            _Pending(replace(tool, revision=revision + number), document_of(tool.definition))
            for number, tool in enumerate(tools)
        ]
        self._store.upsert(self._embedded(pending))

    # Registering.

    def take(self, entries: Iterator[ToolDefinition | RejectedTool]) -> tuple[int, RegistrationReport]:
        """Register the next batch of entries; how many there were, and what became of them.

        What came before an entry that cannot be read is registered before its error passes on.
        Raises: StoreError, EmbeddingError, SourceError.
        """
        batch: list[ToolDefinition | RejectedTool] = []
        size = 0
        try:
            for entry in itertools.islice(entries, BATCH_TOOLS):
                size += len(entry.encoded) if isinstance(entry, ToolDefinition) else 0
                batch.append(entry)
                if size >= BATCH_BYTES:
                    break
        finally:
            report = self._register(batch)
        return len(batch), report

    def _register(self, entries: Sequence[ToolDefinition | RejectedTool]) -> RegistrationReport:
        with self._lock:
            self._prepare()
            tally = _Tally(self._replica.state)
            for entry in entries:
                if isinstance(entry, RejectedTool):
                    tally.refused.append(entry)
                else:
                    self._consider(entry, tally)
            self._write(tally.in_order(self._replica.revision + 1))
            return tally.report(self._replica.revision)

    def _consider(self, definition: ToolDefinition, tally: "_Tally") -> None:
        if (unstorable := _unstorable(definition)) is not None:
            tally.refused.append(unstorable)
            return
        if tally.is_active(definition):
            tally.unchanged += 1  # it was judged when it came first
            return
        problem = self._judge(definition)
        status: ToolStatus = "active" if problem is None else "quarantined"
        if problem is not None:
            tally.quarantined.append(
                RejectedTool(
                    place=str(definition.key),
                    tool=definition.name,
                    field=problem.field,
                    reason=problem.reason,
                    fix=problem.fix,
                )
            )
        tool = StoredTool(
            definition=definition,
            content_hash=definition.content_hash,
            revision=0,
            status=status,
            reason=_reason(problem) if problem is not None else "",
            encoder_id=self.encoder_id if status == "active" else "",
        )
        tally.consider(tool)

    def delete(self, keys: Iterable[ToolKey]) -> int:
        """Write tombstones for those that there are; how many that was. Raises: StoreError."""
        with self._lock:
            self._prepare()
            state = self._replica.state
            there = [key for key in dict.fromkeys(keys) if state.row_of(key) is not None or key in state.quarantined]
            for start in range(0, len(there), BATCH_TOOLS):
                self._write(
                    [
                        _Pending(_tombstone(key, self._replica.revision + number), None)
                        for number, key in enumerate(there[start : start + BATCH_TOOLS], start=1)
                    ]
                )
            return len(there)

    def _prepare(self) -> None:
        if self._closed:
            raise StoreError("The index is closed.")
        if self._replica_in_doubt:
            self._replica = Replica(self._embedder.dimensions)
        if self._replica_in_doubt or self._store_in_doubt:
            self._catch_up()
            self._replica_in_doubt = False

    def _write(self, pending: Sequence[_Pending]) -> None:
        if not pending:
            return
        tools = self._embedded(pending)
        # A write that failed may still have reached the store: it is asked before the next one.
        self._store_in_doubt = True
        self._store.upsert(tools)
        self._store_in_doubt = False
        self._replica_in_doubt = True
        self._replica.apply(tools, {one.tool.key: one.document for one in pending if one.document is not None})
        self._replica_in_doubt = False
        self._unsaved += len(tools)
        if self._replica.wants_compaction:
            self._replica.compact()

    def _embedded(self, pending: Sequence[_Pending]) -> list[StoredTool]:
        documents = [one.document for one in pending if one.document is not None]
        vectors = iter(embed_tools(self._embedder, documents) if documents else np.empty((0, 0), dtype=np.float32))
        tools: list[StoredTool] = []
        for one in pending:
            if one.document is None:
                tools.append(one.tool)
                continue
            vector = next(vectors)
            if vector.shape != (self._embedder.dimensions,):
                raise DimensionMismatchError(
                    expected=self._embedder.dimensions, got=len(vector), where=self._embedder.embedder_id
                )
            tools.append(replace(one.tool, vector=vector, encoder_id=self.encoder_id))
        return tools

    # Calibrating and saving.

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
            if self._unsaved >= SNAPSHOT_CHANGES:
                self._save()

    def _save(self) -> None:
        self._store.flush()
        if self._snapshot_path is not None:
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
            self._store.close()


class _Tally:
    """What a batch amounts to, entry by entry; of several definitions of one tool the last is written."""

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self._changes: dict[ToolKey, StoredTool] = {}
        self._added = self._changed = 0
        self.unchanged = 0
        self.quarantined: list[RejectedTool] = []
        self.refused: list[RejectedTool] = []

    def is_active(self, definition: ToolDefinition) -> bool:
        """Whether exactly this definition is active already."""
        return self._known(definition.key) == (definition.content_hash, "active")

    def consider(self, tool: StoredTool) -> None:
        known = self._known(tool.key)
        if known != (tool.content_hash, tool.status):
            self._changes.pop(tool.key, None)  # written in the place of the last definition, not of the first
            self._changes[tool.key] = tool
        if tool.status == "quarantined":
            return
        if known is None:
            self._added += 1
        else:
            self._changed += 1

    def _known(self, key: ToolKey) -> tuple[str, ToolStatus] | None:
        if (change := self._changes.get(key)) is not None:
            return change.content_hash, change.status
        if (held := self._state.quarantined.get(key)) is not None:
            return held.content_hash, "quarantined"
        row = self._state.row_of(key)
        return None if row is None else (self._state.table.content_hash(row), "active")

    def in_order(self, first_revision: int) -> list[_Pending]:
        return [
            _Pending(
                replace(tool, revision=revision),
                document_of(tool.definition) if tool.status == "active" else None,
            )
            for revision, tool in enumerate(self._changes.values(), start=first_revision)
        ]

    def report(self, revision: int) -> RegistrationReport:
        return RegistrationReport(
            added=self._added,
            changed=self._changed,
            unchanged=self.unchanged,
            quarantined=tuple(self.quarantined),
            refused=tuple(self.refused),
            catalog_revision=revision,
        )


def _tombstone(key: ToolKey, revision: int) -> StoredTool:
    definition = ToolDefinition(name=key.name, namespace=key.namespace, tenant=key.tenant)
    return StoredTool(definition=definition, content_hash="", revision=revision, status="deleted")


def _reason(problem: InvalidToolError) -> str:
    return f"{problem.field}: {problem.reason} {problem.fix}".rstrip()


def _unstorable(definition: ToolDefinition) -> RejectedTool | None:
    """What every engine keeps as plain text must be text; what else is wrong with a definition is for the judge."""
    try:
        for text in (*definition.key, *definition.tags):
            text.encode()
    except UnicodeEncodeError:
        return RejectedTool(
            place=ascii(str(definition.key)),
            tool=ascii(definition.name),
            field="name, namespace, tenant or tags",
            reason="holds half of a surrogate pair.",
            fix="Write it as valid Unicode text.",
        )
    return None
