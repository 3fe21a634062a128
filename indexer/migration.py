"""Moving a catalog to another encoder: a second store is filled beside the first, then takes its place.

On a server the catalog stays searchable and takes changes until the last moment; what came meanwhile is caught up with
by revision. The old collection, or directory, is kept for a move back, which is the same in the other direction: what
did not change meanwhile keeps the vectors it had. A move that was cut off goes on where it was when it is repeated.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias
from uuid import UUID

from indexer.embedders.base import Embedder
from indexer.errors import EncoderMismatchError, StoreError, StoreUnavailableError
from indexer.following import MustRebuildError, Position, SharedLog
from indexer.registering import as_change, embedded, encoder_id_of
from indexer.stores.base import StoredTool
from indexer.stores.ledger import Ledger
from indexer.stores.revisions import RevisionLeases, Timing

if TYPE_CHECKING:
    from indexer.stores.qdrant import QdrantToolStore

_log = logging.getLogger(__name__)

BATCH_TOOLS: Final = 128
_FEW: Final = 256
"""Changes since the last reading that are few enough to stop all writing for."""
_MOST_ROUNDS: Final = 20
_WAIT_SECONDS: Final = 0.1
NO_CATALOG: Final = "There is no catalog yet: nothing has to be moved. Set TOOLSCOUT_ENCODER, and index."

Progress: TypeAlias = Callable[[int, int], None]
"""Hears how many tools are done, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """What a move did."""

    before: str
    """The encoder id of the vectors before."""
    after: str
    encoder: str
    """The setting that names the encoder after it."""
    source: str
    target: str
    embedded: int
    """Tools whose vectors were made."""
    reused: int
    """Tools that had vectors of that encoder already."""
    kept: str = ""
    """Where the old catalog is kept; empty where it is not."""
    note: str = ""
    seconds: float = 0.0


def nothing_to_do(encoder_id: str, encoder: str, place: str) -> MoveReport:
    """The report of a move to the encoder that a catalog has already."""
    return MoveReport(
        before=encoder_id,
        after=encoder_id,
        encoder=encoder,
        source=place,
        target=place,
        embedded=0,
        reused=0,
        note="The catalog has vectors of this encoder already; nothing was done.",
    )


class TargetStore(Protocol):
    """What is filled."""

    def upsert(self, tools: Sequence[StoredTool]) -> None: ...

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]: ...


class Filling:
    """Brings tools of one store into another that has other vectors; counts what it did."""

    def __init__(self, target: TargetStore, embedder: Embedder, *, terms: bool) -> None:
        self._target = target
        self._embedder = embedder
        self._encoder_id = encoder_id_of(embedder)
        self._terms = terms
        self.embedded = 0
        self.reused = 0

    def take(self, tools: Sequence[StoredTool]) -> None:
        """Write what the target does not have like this already, under the revisions it has. Raises: StoreError."""
        for start in range(0, len(tools), BATCH_TOOLS):
            batch = tools[start : start + BATCH_TOOLS]
            there = self._target.fetch([tool.point_id for tool in batch])
            missing = [tool for tool in batch if not self._is_there(tool, there.get(tool.point_id))]
            fresh = [replace(tool, vector=None, encoder_id="") for tool in missing]
            written = embedded(self._embedder, [as_change(tool) for tool in fresh], terms=self._terms)
            self._target.upsert(written)
            made = sum(tool.status == "active" for tool in written)
            self.embedded += made
            self.reused += sum(tool.status == "active" for tool in batch) - made

    def _is_there(self, tool: StoredTool, known: StoredTool | None) -> bool:
        if known is None:
            return tool.status == "deleted"
        if (known.content_hash, known.status) != (tool.content_hash, tool.status):
            return False
        return tool.status != "active" or known.encoder_id == self._encoder_id

    def remove_what_is_not_in(self, source: TargetStore, batches: Iterable[Sequence[StoredTool]]) -> None:
        """Delete tools of the target, given in batches, that the source does not know at all any more."""
        for batch in batches:
            living = [tool for tool in batch if tool.status != "deleted"]
            there = source.fetch([tool.point_id for tool in living])
            gone = [tool for tool in living if tool.point_id not in there]
            self._target.upsert([replace(tool, status="deleted", content_hash="", vector=None) for tool in gone])

    def report(self, started: float, *, before: str, encoder: str, source: str, target: str, kept: str) -> MoveReport:
        """What was done, by a move that began at `started`, in seconds of `time.perf_counter`."""
        return MoveReport(
            before=before,
            after=self._encoder_id,
            encoder=encoder,
            source=source,
            target=target,
            embedded=self.embedded,
            reused=self.reused,
            kept=kept,
            seconds=time.perf_counter() - started,
        )


class ServerMove:
    """A move within a Qdrant server, from the collection behind an alias to another one."""

    def __init__(
        self,
        source: "QdrantToolStore",
        target: "QdrantToolStore",
        embedder: Embedder,
        *,
        encoder: str,
        timing: Timing,
        progress: Progress,
    ) -> None:
        """`source` and `target` name collections, no aliases; `encoder` is the setting that names the embedder."""
        self._source = source
        self._target = target
        self._encoder = encoder
        self._encoder_id = encoder_id_of(embedder)
        self._timing = timing
        self._progress = progress
        self._filling = Filling(target, embedder, terms=True)
        self._leases = RevisionLeases(source, timing)
        self._target_leases = RevisionLeases(target, timing)

    def run(self, switch: Callable[[], None], *, keep_old: bool) -> MoveReport:
        """Fill, catch up, stop writers for a moment, catch up with the last, switch. Raises: StoreError."""
        started = time.perf_counter()
        before = self._source.ledger()
        self._check_target()
        self._leases.change(lambda ledger: replace(ledger, target=self._target.handle().name))
        log = self._fill(before)
        log = self._catch_up_roughly(log)
        try:
            sealed = self._seal()
            for batch in self._changes(log):
                self._filling.take(batch)
            self._adopt(sealed, keep_old=keep_old)
        except BaseException:
            self._unseal()  # nothing was switched: writers go on where they were
            raise
        switch()
        source, target = self._source.handle().name, self._target.handle().name
        kept = source if keep_old else ""
        return self._filling.report(
            started, before=before.encoder_id, encoder=self._encoder, source=source, target=target, kept=kept
        )

    def _check_target(self) -> None:
        ledger = self._target.ledger()
        if ledger.encoder_id not in ("", self._encoder_id):
            raise EncoderMismatchError(
                f"The collection {self._target.handle().name!r} was made with {ledger.encoder_id}; this installation's "
                f"{self._encoder!r} is {self._encoder_id}. Move with the version of Toolscout that made it."
            )

    def _fill(self, ledger: Ledger) -> SharedLog:
        """Bring over everything, and begin to follow the source from before that on."""
        log = SharedLog(self._source, encoder_id=ledger.encoder_id, timing=self._timing)
        log.position = Position(catalog_id=ledger.catalog_id, through=ledger.allocated, pending=ledger.pending)
        total, done = self._source.count(), 0
        for batch in self._source.scan_all(vectors=False, batch_size=BATCH_TOOLS):
            self._filling.take(batch)
            done += sum(tool.status == "active" for tool in batch)
            self._progress(done, max(total, done))
        self._filling.remove_what_is_not_in(self._source, self._target.scan_all(vectors=False))
        return log

    def _catch_up_roughly(self, log: SharedLog) -> SharedLog:
        """Until there is so little left that writers can be stopped for it."""
        for _ in range(_MOST_ROUNDS):
            taken = 0
            for batch in self._changes(log):
                self._filling.take(batch)
                taken += len(batch)
            if taken < _FEW:
                return log
        raise StoreUnavailableError(
            "The catalog changes faster than its tools can be embedded again. Try again when less is registered."
        )

    def _changes(self, log: SharedLog) -> Iterable[list[StoredTool]]:
        try:
            yield from log.changes()
        except MustRebuildError:
            raise StoreUnavailableError(
                "Tombstones were purged while the catalog was being copied; begin again: what is copied stays."
            ) from None

    def _seal(self) -> Ledger:
        """No leases from now on; wait until those that are open are given back, or have lapsed."""
        deadline = self._timing.monotonic() + self._timing.lease_seconds + self._timing.patience_seconds
        ledger = self._leases.change(lambda now: replace(now, sealed_for=self._encoder))
        while any(lease.lapsed is None for lease in ledger.leases):
            if self._timing.monotonic() > deadline:
                raise StoreUnavailableError("A gateway does not give its lease back; repeat the command.")
            self._timing.sleep(_WAIT_SECONDS)
            ledger = self._leases.change(lambda now: now)
        return ledger

    def _adopt(self, source: Ledger, *, keep_old: bool) -> None:
        """Make the target's ledger go on where the source's ends."""
        origin = self._source.handle().name if keep_old else ""
        self._target_leases.change(
            lambda ledger: replace(
                ledger,
                encoder_id=self._encoder_id,
                encoder=self._encoder,
                allocated=max(ledger.allocated, source.allocated),
                sealed_for="",
                target=origin,  # a later move to its encoder finds its vectors there
                origin=origin,
            )
        )

    def _unseal(self) -> None:
        try:
            self._leases.change(lambda ledger: replace(ledger, sealed_for=""))
        except StoreError:
            _log.exception("the catalog takes no changes until the move is repeated and succeeds")
