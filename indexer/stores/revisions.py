"""How several writers number their changes in one shared store, and why no follower misses one.

Every change carries a revision, and followers read what is newer than what they have. With one writer that is all.
With several, a number may be given out long before its change is in the store, and a follower that has read further
would pass it by. So revisions are leased, and the leases stand in the store, in one small record, the `Ledger`:

1.  A writer leases the next n revisions by compare-and-set on the ledger. Leases never overlap, and only grow.
2.  It writes its tools, each on the condition that the stored revision is lower than its lease. So the revision of
    a point only grows, in whatever order requests arrive, and they may be sent twice.
3.  It removes its lease by compare-and-set, and only then acknowledges. If the lease has lapsed meanwhile, it leases
    again and writes again: it never acknowledges what it wrote under a lease that others no longer wait for.
4.  A follower reads the ledger first, then the tools: those of all revisions given out since its last reading, and
    once more those of leases that were open then. What it must read once more is exactly what may still come.
5.  A lease whose time is up is marked as lapsed by whoever changes the ledger next. Followers go on reading its
    revisions once more for `GRACE_SECONDS`, so a late request of a writer that died is seen by all, too.

An acknowledged change was in the store while its lease was open (3). A follower whose ledger reading is older than
the removal has those revisions on its list, or has yet to read as far (4): it sees the change at its next reading.
A follower whose ledger reading is younger reads the tools later still. Clocks decide when a lease lapses, and so
how much is read twice, never what is seen. A compare-and-set is recognised as one's own by its identity among the
ledger's recent changes; where that cannot be told any more it counts as failed, which costs writing once more.

What is not promised: a write that nobody acknowledged, of a process that died or gave up, may arrive after the grace
time, when running followers no longer look there; those that start later see it. (Qdrant would have to hold a request
for ten minutes, or a computer to sleep for as long and lose the server as it wakes.)
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final
from uuid import uuid4

from indexer.errors import StoreUnavailableError
from indexer.stores.base import SharedToolStore, StoredTool
from indexer.stores.ledger import Lease, Ledger

GRACE_SECONDS: Final = 600.0
LEASE_SECONDS: Final = 60.0
_MAX_ATTEMPTS: Final = 5
"""Leases that a writer may lose, one after the other, over one write."""
_LONGEST_PAUSE_SECONDS: Final = 0.25


class LeaseLostError(StoreUnavailableError):
    """A lease lapsed before its writer was done; nothing was acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The clocks of a writer, and how long it waits for what."""

    clock: Callable[[], float] = time.time
    """Seconds since the epoch, for what other processes read."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    patience_seconds: float = 30.0
    """How long a writer tries to get at the ledger while others change it."""
    lease_seconds: float = LEASE_SECONDS
    grace_seconds: float = GRACE_SECONDS
    rng: random.Random = field(default_factory=random.Random)


@final
class RevisionLeases:
    """One writer's access to the ledger of a shared store; its calls block."""

    def __init__(self, store: SharedToolStore, timing: Timing | None = None) -> None:
        self._store = store
        self.timing = timing or Timing()

    def write(self, tools: Sequence[StoredTool]) -> list[StoredTool]:
        """Write tools under revisions of their own; on return every follower will see them, or newer ones.

        The tools with the revisions they got. Raises: StoreUnavailableError, StoreError.
        """
        for _ in range(_MAX_ATTEMPTS):
            ledger, lease, deadline = self._acquire(len(tools))
            numbered = [replace(tool, revision=lease.first + place) for place, tool in enumerate(tools)]
            if self.timing.monotonic() > deadline:
                continue
            self._store.upsert_newer(numbered, before=lease.first)
            try:
                self._release(lease, ledger)
            except LeaseLostError:
                continue
            return numbered
        raise StoreUnavailableError(
            f"The store is too slow: {_MAX_ATTEMPTS} times a write of {len(tools)} tools took longer than "
            f"{self.timing.lease_seconds:.0f} s. Try again when it is less busy."
        )

    def _acquire(self, count: int) -> tuple[Ledger, Lease, float]:
        """A lease of so many revisions, the ledger it stands in, and by when (monotonic) its writer must write."""
        lease_id = uuid4().hex
        deadline = self.timing.monotonic() + self.timing.lease_seconds

        def take(ledger: Ledger) -> Ledger:
            if ledger.sealed_for:
                raise StoreUnavailableError(
                    f"The catalog is being moved to the encoder {ledger.sealed_for!r} and takes no changes until then; "
                    "try again soon."
                )
            expires = self.timing.clock() + self.timing.lease_seconds
            return ledger.leased(lease_id, count, expires)

        ledger = self.change(take)
        lease = ledger.lease(lease_id)
        if lease is None:
            raise LeaseLostError("A lease was gone as soon as it was made; the clocks of the gateways differ too much.")
        return ledger, lease, deadline

    def _release(self, lease: Lease, ledger: Ledger) -> None:
        """Give a lease back. Raises: LeaseLostError if it has lapsed, and what was written under it may be missed."""

        def give_back(ledger: Ledger) -> Ledger:
            held = ledger.lease(lease.id)
            if held is None or held.lapsed is not None:
                raise LeaseLostError(f"The lease of revisions {lease.first} to {lease.last} has lapsed.")
            return ledger.without(lease.id)

        self.change(give_back, guess=ledger)

    def change(self, change: Callable[[Ledger], Ledger], *, guess: Ledger | None = None) -> Ledger:
        """Change the ledger as it stands when the change is made; what stands afterwards.

        Overdue leases of others are marked on the way. `change` may refuse by raising; it may be asked repeatedly.
        `guess`: how the ledger may stand, which spares a reading. Raises: StoreUnavailableError.
        """
        timing = self.timing
        change_id = uuid4().hex[:16]
        deadline = timing.monotonic() + timing.patience_seconds
        ledger = self._store.ledger() if guess is None else guess
        pause = 0.002
        late = False
        while True:
            wanted = change(ledger).tidied(timing.clock(), timing.grace_seconds)
            if wanted == ledger:
                return ledger
            # Not before the change has seen the ledger as it is: a lease that is lost must be told from a lack of time.
            if late:
                raise StoreUnavailableError("Too many gateways write to the catalog at once; try again.")
            ledger = self._store.swap_ledger(ledger, wanted.stepped(change_id))
            if change_id in ledger.recent:
                return ledger
            late = timing.monotonic() > deadline
            timing.sleep(timing.rng.uniform(0, pause))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
