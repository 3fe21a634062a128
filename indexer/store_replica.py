"""The replica of one store: loaded from its snapshot, caught up, taken further by each write, rebuilt where it must."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from indexer.definition import ToolKey
from indexer.document import ToolDocument
from indexer.embedders.base import Embedder, token_encoder_of
from indexer.errors import CorruptSnapshotError, StoreUnavailableError
from indexer.following import ChangeLog, MustRebuildError, Position
from indexer.registering import BATCH_TOOLS, as_change, embedded, encoder_id_of
from indexer.replica import Replica
from indexer.snapshot import SnapshotOrigin, load_snapshot
from indexer.stores.base import StoredTool

_log = logging.getLogger(__name__)

_REBUILDS: Final = 3
"""Times everything is read in vain, because tombstones went that were not read, before giving up for now."""


class StoreReplica:
    """Keeps a replica where its store is, and knows when the two may differ; for one thread at a time."""

    def __init__(
        self,
        log: ChangeLog,
        embedder: Embedder,
        *,
        recall: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`recall`: as `Replica` takes it."""
        self._log = log
        self._embedder = embedder
        self._encoder_id = encoder_id_of(embedder)
        self._recall = recall
        self._monotonic = monotonic
        self._heard_at = monotonic()
        self._settled = False
        self._store_in_doubt = False
        self._replica_in_doubt = False
        self.unsaved = 0
        """Changes since the snapshot."""
        self.replica = self._empty()

    def _empty(self) -> Replica:
        return Replica(self._embedder.dimensions, recall=self._recall, token_encoder=token_encoder_of(self._embedder))

    @property
    def in_doubt(self) -> bool:
        """Whether the store or the replica may have what the other lacks."""
        return self._store_in_doubt or self._replica_in_doubt

    @property
    def is_at_hand(self) -> bool:
        """Whether one change more is sure to be quick: nothing is to be read first, or moved in memory."""
        return self._settled and not self.in_doubt and not self._log.shared and not self.replica.is_full

    @property
    def silence_seconds(self) -> float:
        """How long ago the store last answered a question for news."""
        return self._monotonic() - self._heard_at

    def load(self, path: Path, origin: SnapshotOrigin) -> bool:
        """Whether there was a snapshot to start from."""
        try:
            replica = load_snapshot(path, origin, recall=self._recall, token_encoder=token_encoder_of(self._embedder))
            if replica is None:
                return False
            followed = replica.followed or Position(through=replica.revision).to_record()
            self._log.position = Position.from_record(followed)
            age = time.time() - path.stat().st_mtime
        except (CorruptSnapshotError, OSError, KeyError, TypeError, ValueError) as error:
            _log.warning("the snapshot cannot be used and is rebuilt from the store: %s", error)
            return False
        self.replica = replica
        self._heard_at = self._monotonic() - max(age, 0.0)
        return True

    def settle(self, *, patient: bool) -> None:
        """The first catching up, and whether it all fits. Raises: StoreError, EmbeddingError."""
        self._catch_up(patient=patient)
        count = self._log.settled_count()
        if count is not None and count != self.replica.state.live:
            _log.warning("the snapshot does not fit the store and is rebuilt from it")
            self._rebuild(patient=patient)
        self._settled = True

    def follow(self) -> None:
        """Take over what others wrote. Raises: StoreError, EmbeddingError."""
        if self._settled:
            self._catch_up(patient=False)
        else:
            self.settle(patient=False)
        self._compact_if_much_died()

    def prepare(self, *, worthwhile: bool = True) -> None:
        """Be where the store is before a write: beside other writers always, else after a failure.

        Raises: StoreError, EmbeddingError.
        """
        if not self._settled:
            self.settle(patient=True)
        elif self.in_doubt or (self._log.shared and worthwhile):
            self._catch_up(patient=True)

    def writing(self) -> None:
        """To be told before each write: one that fails may still reach the store, which is asked before the next."""
        self._store_in_doubt = True

    def written(self, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument]) -> None:
        """Take over what the store acknowledged; the next reader of the state sees it."""
        self._store_in_doubt = False
        self._replica_in_doubt = True
        _apply(self.replica, tools, documents)
        self._replica_in_doubt = False
        self.unsaved += len(tools)
        self._compact_if_much_died()

    def _catch_up(self, *, patient: bool) -> None:
        """Apply what the store has and the replica lacks; vectors of another encoder are made anew."""
        if self._replica_in_doubt:
            self._rebuild(patient=patient)
            return
        try:
            while self._take_over(self.replica, self._log.changes(patient=patient)):
                pass
        except MustRebuildError:
            self._rebuild(patient=patient)
        self._store_in_doubt = False
        self._heard_at = self._monotonic()

    def _rebuild(self, *, patient: bool) -> None:
        """Read everything into a new replica; readers have the old one until it is whole."""
        for _ in range(_REBUILDS):
            replica = self._empty()
            try:
                wrote = self._take_over(replica, self._log.everything(patient=patient))
                while wrote:
                    wrote = self._take_over(replica, self._log.changes(patient=patient))
            except MustRebuildError:
                continue
            self.replica = replica
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
                _apply(replica, self._log.write(embedded(self._embedder, part, terms=self._log.shared)))
            wrote = wrote or bool(foreign)
            self.unsaved += len(batch)
            self._heard_at = self._monotonic()
        return wrote

    def _is_foreign(self, tool: StoredTool) -> bool:
        return tool.status == "active" and (tool.encoder_id != self._encoder_id or tool.vector is None)

    def _compact_if_much_died(self) -> None:
        if self.replica.wants_compaction:
            self.replica.compact()


def _apply(
    replica: Replica, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument] | None = None
) -> None:
    """Take over what is newer than what the replica has: a shared store may tell the same twice."""
    state = replica.state
    replica.apply([tool for tool in tools if tool.revision > state.revision_of(tool.key)], documents)
