"""How a replica learns what changed in its store: alone with it, or beside other writers.

A log is the writer's only way to the store. It hands out what is new since it was last asked, and numbers and writes
changes. `OwnedLog` is for a store with one owner; `SharedLog` follows the protocol of `stores.revisions`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final, Protocol, final

from indexer.errors import CatalogMovedError, EncoderMismatchError
from indexer.stores.base import SharedToolStore, StoredTool, ToolStore
from indexer.stores.ledger import Ledger, Span, merged, safe_through, without
from indexer.stores.revisions import RevisionLeases, Timing

_PURGE_SHARE: Final = 24
"""Tombstones are looked at so many times in the time they are kept."""
_SHORTEST_PURGE_SECONDS: Final = 60.0


class MustRebuildError(Exception):
    """What changed cannot be told any more, or the catalog is another one: everything must be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a store has been read."""

    catalog_id: str = ""
    through: int = 0
    """Revisions up to this one have been read, but for the pending ones."""
    pending: tuple[Span, ...] = ()
    """Revisions that might still have been written when they were read: to be read once more."""

    @property
    def safe(self) -> int:
        return safe_through(self.through, self.pending)

    def to_record(self) -> dict[str, Any]:
        """For a snapshot file."""
        pending = [list(span) for span in self.pending]
        return {"catalog_id": self.catalog_id, "through": self.through, "pending": pending}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Position":
        """What `to_record` gave. Raises: KeyError, TypeError."""
        pending = tuple(Span(int(first), int(last)) for first, last in record["pending"])
        return cls(catalog_id=str(record["catalog_id"]), through=int(record["through"]), pending=pending)


class ChangeLog(Protocol):
    """A store as the writer of a catalog uses it; calls block and are made one at a time."""

    shared: bool
    """Whether others write to the store, so that it must be asked for news again and again."""
    position: Position
    """How far it was read; to be set from a snapshot before the first call."""

    def changes(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        """What is new, batch by batch; some of it may have come before. `position` moves on at the end.

        `patient`: try again for a while if the store is away. Raises: MustRebuildError, StoreError.
        """
        ...

    def everything(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        """All tools, for a replica that is rebuilt. Raises: MustRebuildError, StoreError."""
        ...

    def write(self, tools: Sequence[StoredTool]) -> list[StoredTool]:
        """Number and write; on return the tools are durable. Raises: StoreError."""
        ...

    def settled_count(self) -> int | None:
        """How many active tools there are; None while others write. Raises: StoreError."""
        ...

    def maintain(self) -> None:
        """What must be done now and then. Raises: StoreError."""
        ...


@final
class OwnedLog:
    """The log of a store with one owner: its revisions follow each other, and nobody else makes any."""

    shared = False

    def __init__(self, store: ToolStore) -> None:
        self._store = store
        self._last: int | None = None
        """The highest revision in the store, where that is known."""
        self.position = Position()

    def changes(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        self._last = self._store.last_revision()
        if self.position.through > self._last:
            raise MustRebuildError
        for batch in self._store.scan(after_revision=self.position.through):
            yield batch
            self.position = Position(through=batch[-1].revision)

    def everything(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        self.position = Position()
        return self.changes()

    def write(self, tools: Sequence[StoredTool]) -> list[StoredTool]:
        last = self._store.last_revision() if self._last is None else self._last
        numbered = [replace(tool, revision=last + place) for place, tool in enumerate(tools, start=1)]
        self._last = None  # a write that fails may still have reached the store
        self._store.upsert(numbered)
        self._last = numbered[-1].revision
        if self.position.through == last:
            self.position = Position(through=self._last)
        return numbered

    def settled_count(self) -> int | None:
        return self._store.count()

    def maintain(self) -> None:
        """An owner has nothing to tidy up."""


@final
class SharedLog:
    """The log of a store that several gateways write.

    Whoever has another encoder than the catalog neither reads nor writes: vectors of two encoders are never mixed.
    """

    shared = True

    def __init__(
        self,
        store: SharedToolStore,
        *,
        encoder_id: str,
        encoder: str = "",
        timing: Timing | None = None,
        tombstone_seconds: float = 7 * 86_400.0,
    ) -> None:
        self._store = store
        self._encoder_id = encoder_id
        self._encoder = encoder
        self._tombstone_seconds = tombstone_seconds
        self._leases = RevisionLeases(store, timing)
        self._ledger: Ledger | None = None
        """As it was seen last."""
        self._version = 0
        """Of the ledger at the last reading: as long as it stays, there is nothing new."""
        self._own: list[Span] = []
        """Revisions beyond the position that this process wrote and therefore knows."""
        self._purged_at = self._leases.timing.monotonic()
        self.position = Position()

    def changes(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        ledger = self.look(patient=patient)
        before = self.position
        if ledger.catalog_id != before.catalog_id or ledger.allocated < before.through:
            raise MustRebuildError
        self._check_purged(ledger, before)
        if ledger.version == self._version:
            return
        spans = without(merged([*before.pending, Span(before.through + 1, ledger.allocated)]), self._own)
        if spans:
            yield from self._store.scan_spans(spans)
            self._check_purged(self._store.ledger(), before)
        self._reached(ledger)

    def everything(self, *, patient: bool = True) -> Iterator[list[StoredTool]]:
        ledger = self.look(patient=patient)
        yield from self._store.scan_all()
        now = self._store.ledger()
        if now.catalog_id != ledger.catalog_id:
            raise MustRebuildError
        self._check_purged(now, Position(through=ledger.allocated, pending=ledger.pending))
        self._reached(ledger)

    def _reached(self, ledger: Ledger) -> None:
        self.position = Position(catalog_id=ledger.catalog_id, through=ledger.allocated, pending=ledger.pending)
        self._version = ledger.version
        self._own = [span for span in self._own if span.last > ledger.allocated]

    @staticmethod
    def _check_purged(ledger: Ledger, read: Position) -> None:
        """A tombstone that went before it was read was missed. Raises: MustRebuildError."""
        if ledger.purged_through > read.safe:
            raise MustRebuildError

    def look(self, *, patient: bool) -> Ledger:
        """The ledger of the catalog where it lies now. Raises: EncoderMismatchError, CatalogMovedError, StoreError."""
        ledger = self._store.ledger(patient=patient)
        if ledger.sealed_for:
            self._store.refresh()
            ledger = self._store.ledger(patient=patient)
        if not ledger.encoder_id:
            ledger = self._claim()
        if ledger.encoder_id != self._encoder_id:
            raise _mismatch(ledger, self._encoder, self._encoder_id, moved=bool(self.position.catalog_id))
        self._ledger = ledger
        return ledger

    def _claim(self) -> Ledger:
        """Say in a ledger that is new whose vectors the collection holds: those in it, or else ours."""
        tools = (tool for batch in self._store.scan_all(vectors=False) for tool in batch)
        found = next((tool.encoder_id for tool in tools if tool.status == "active"), self._encoder_id)
        encoder = self._encoder if found == self._encoder_id else ""
        return self._leases.change(
            lambda ledger: ledger if ledger.encoder_id else replace(ledger, encoder_id=found, encoder=encoder)
        )

    def write(self, tools: Sequence[StoredTool]) -> list[StoredTool]:
        now = self._leases.timing.clock()
        dated = [replace(tool, deleted_at=now) if tool.status == "deleted" else tool for tool in tools]
        written = self._leases.write(dated)
        self._own.append(Span(written[0].revision, written[-1].revision))
        return written

    def settled_count(self) -> int | None:
        ledger = self._store.ledger()
        if ledger.leases or ledger.version != self._version:
            return None
        count = self._store.count()
        return count if self._store.ledger().version == ledger.version else None

    def maintain(self) -> None:
        """Mark the leases of writers that died, and remove tombstones that every follower has seen."""
        timing = self._leases.timing
        ledger = self._ledger
        if ledger is not None and ledger.tidied(timing.clock(), timing.grace_seconds) != ledger:
            self._leases.change(lambda now: now)
        pause = max(self._tombstone_seconds / _PURGE_SHARE, _SHORTEST_PURGE_SECONDS)
        if timing.monotonic() - self._purged_at >= pause:
            self._purged_at = timing.monotonic()
            self.purge()

    def purge(self) -> int:
        """Remove tombstones older than the horizon; up to which revision.

        The ledger says so first, so that a follower who has not read as far reads everything again. Tombstones stay
        that a pending write might need: without them it would bring back what was deleted.
        """
        oldest_kept = self._leases.timing.clock() - self._tombstone_seconds
        through = 0
        for batch in self._store.tombstones(through=self._store.ledger().safe):
            old = list(takewhile(lambda tool: tool.deleted_at < oldest_kept, batch))
            through = old[-1].revision if old else through
            if len(old) < len(batch):
                break
        ledger = self._leases.change(lambda now: _purged(now, through))
        # Also what another process said it would remove before it died.
        self._store.purge(through=ledger.purged_through)
        return ledger.purged_through


def _purged(ledger: Ledger, through: int) -> Ledger:
    return replace(ledger, purged_through=max(ledger.purged_through, min(through, ledger.safe)))


def _mismatch(ledger: Ledger, encoder: str, encoder_id: str, *, moved: bool) -> EncoderMismatchError:
    own, theirs = encoder or encoder_id, ledger.encoder or ledger.encoder_id
    if moved:
        return CatalogMovedError(
            f"The catalog has moved to the encoder {theirs!r} ({ledger.encoder_id}), and this gateway has {own!r}: it "
            f"goes on searching what it knows and takes no changes. Restart it with TOOLSCOUT_ENCODER={theirs}."
        )
    return EncoderMismatchError(
        f"The catalog holds vectors of the encoder {theirs!r} ({ledger.encoder_id}), and this process has {own!r} "
        f"({encoder_id}). Set TOOLSCOUT_ENCODER={theirs}, or move the catalog: `toolscout migrate --encoder {own}`."
    )
