"""What the writers of one shared catalog agree on: a small record in the collection, changed by compare-and-set.

Pure values. How they are used, and why that loses no change: `revisions` and design/qdrant.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from indexer.errors import StoreError

LEDGER_ID: Final = uuid5(NAMESPACE_URL, "toolscout:ledger")
"""The point that holds the ledger; tools have ids of another name space."""
LEDGER_STATUS: Final = "ledger"
"""What stands where a tool has its status: every read of tools asks for theirs, and so passes the ledger by."""
REMEMBERED_CHANGES: Final = 64
"""Identities of the last changes that the ledger keeps, by which a writer recognises its own."""


class Span(NamedTuple):
    """Revisions from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Revisions that one writer may write. It is removed by its writer once they are in the store."""

    id: str
    first: int
    last: int
    expires: float
    """Seconds since the epoch, by the writer's clock."""
    lapsed: float | None = None
    """When it was found overdue, seconds since the epoch; from then on its writer must not acknowledge under it."""

    @property
    def span(self) -> Span:
        return Span(self.first, self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The state of a shared catalog at one version."""

    catalog_id: str
    """Random, of this collection: what was derived from another one is not mistaken for its own."""
    encoder_id: str = ""
    """Of the vectors in the collection, as `StoredTool.encoder_id`; empty until a writer says what it writes."""
    encoder: str = ""
    """The setting that names this encoder, for people and for a move back."""
    version: int = 1
    """Grows by one with each change."""
    allocated: int = 0
    """The highest revision that was ever leased."""
    leases: tuple[Lease, ...] = ()
    purged_through: int = 0
    """Tombstones up to this revision may be gone: who has not seen them must read everything again."""
    sealed_for: str = ""
    """The encoder that the catalog is moving to, or has moved to; nobody may lease any more."""
    target: str = ""
    """The collection that is being filled from this one, or was."""
    origin: str = ""
    """The collection that this one was filled from and that is kept, for a move back."""
    recent: tuple[str, ...] = ()
    """Identities of the last changes, the newest last."""

    @property
    def pending(self) -> tuple[Span, ...]:
        """Revisions that were given out and may still be written."""
        return tuple(lease.span for lease in self.leases)

    @property
    def safe(self) -> int:
        """Every revision up to this one is in the store, or never will be."""
        return safe_through(self.allocated, self.pending)

    def lease(self, lease_id: str) -> Lease | None:
        return next((lease for lease in self.leases if lease.id == lease_id), None)

    def leased(self, lease_id: str, count: int, expires: float) -> "Ledger":
        """With the next `count` revisions leased; unchanged if that lease is there already."""
        if self.lease(lease_id) is not None:
            return self
        first, last = self.allocated + 1, self.allocated + count
        lease = Lease(id=lease_id, first=first, last=last, expires=expires)
        return replace(self, allocated=last, leases=(*self.leases, lease))

    def without(self, lease_id: str) -> "Ledger":
        return replace(self, leases=tuple(lease for lease in self.leases if lease.id != lease_id))

    def tidied(self, now: float, grace_seconds: float) -> "Ledger":
        """With overdue leases lapsed, and lapsed ones dropped after a time in which late writes are still seen."""
        kept = [lease for lease in self.leases if lease.lapsed is None or now - lease.lapsed < grace_seconds]
        leases = tuple(
            replace(lease, lapsed=now) if lease.lapsed is None and lease.expires < now else lease for lease in kept
        )
        return self if leases == self.leases else replace(self, leases=leases)

    def stepped(self, change_id: str) -> "Ledger":
        """The next version, marked with the identity of the change that made it."""
        return replace(self, version=self.version + 1, recent=(*self.recent, change_id)[-REMEMBERED_CHANGES:])


def safe_through(allocated: int, pending: Sequence[Span]) -> int:
    """The last revision before the first pending one."""
    return min((span.first - 1 for span in pending), default=allocated)


def merged(spans: Sequence[Span]) -> list[Span]:
    """The same revisions as few spans in order; empty ones are left out."""
    joined: list[Span] = []
    for span in sorted(span for span in spans if span.first <= span.last):
        if joined and span.first <= joined[-1].last + 1:
            joined[-1] = Span(joined[-1].first, max(joined[-1].last, span.last))
        else:
            joined.append(span)
    return joined


def without(spans: Sequence[Span], holes: Sequence[Span]) -> list[Span]:
    """What of the spans, which are in order and apart, lies in none of the holes."""
    left = list(spans)
    for hole in holes:
        left = [
            part
            for span in left
            for part in (
                Span(span.first, min(span.last, hole.first - 1)),
                Span(max(span.first, hole.last + 1), span.last),
            )
            if part.first <= part.last
        ]
    return left


def ledger_payload(ledger: Ledger) -> dict[str, Any]:
    """The ledger as the payload of its point."""
    return {"status": LEDGER_STATUS, **asdict(ledger)}


def ledger_of(payload: Mapping[str, Any] | None) -> Ledger:
    """Read back what `ledger_payload` gave. Raises: StoreError."""
    try:
        fields = dict(payload or {})
        fields.pop("status")
        leases = tuple(Lease(**lease) for lease in fields.pop("leases"))
        return Ledger(leases=leases, recent=tuple(fields.pop("recent")), **fields)
    except (KeyError, TypeError) as error:
        raise StoreError(
            f"The collection's ledger cannot be read ({error}): another version of Toolscout wrote it. Use that one."
        ) from error
