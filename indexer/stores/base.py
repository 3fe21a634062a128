"""The seam between the catalog and the engine that keeps it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

from indexer.definition import ToolDefinition, ToolKey
from indexer.stores.ledger import Ledger, Span

ToolStatus = Literal["active", "quarantined", "deleted"]


@dataclass(frozen=True, slots=True, eq=False)
class SparseTerms:
    """A tool's words as a sparse vector, for engines that search by themselves."""

    indices: npt.NDArray[np.uint32]
    """(t,) hashed terms, distinct."""
    weights: npt.NDArray[np.float32]
    """(t,) what each term says, without its rarity: the engine knows in how many tools it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTool:
    """A definition as the store keeps it. A deleted tool stays as a tombstone, so that followers see it go."""

    definition: ToolDefinition
    content_hash: str
    revision: int
    status: ToolStatus = "active"
    reason: str = ""
    """Why it is quarantined, for its owner to read."""
    encoder_id: str = ""
    vector: npt.NDArray[np.float32] | None = None
    """(dimensions,) unit float32; None for what no search may find, and where it was not asked for."""
    terms: SparseTerms | None = None
    """Written where an engine has a use for it, never read back."""
    deleted_at: float = 0.0
    """Of a tombstone, seconds since the epoch."""

    @property
    def key(self) -> ToolKey:
        return self.definition.key

    @property
    def point_id(self) -> UUID:
        return self.definition.key.point_id


class ToolStore(Protocol):
    """Keeps tools durably, by point id, with a revision on each change.

    Calls block; `index` is the only place that crosses to a thread. One writer at a time.
    Raises: StoreUnavailableError, StoreLockedError, StoreError.
    """

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        """Write all of them, replacing points of equal id; on return they survive a killed process."""
        ...

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        """Those that exist, tombstones and quarantined ones too, without vectors."""
        ...

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        """Every change after a revision, with vectors, in order of revision."""
        ...

    def last_revision(self) -> int:
        """The highest revision written, 0 for an empty store."""
        ...

    def count(self) -> int:
        """Active tools."""
        ...

    def flush(self) -> None:
        """Make what was written survive a power cut."""
        ...

    def close(self) -> None: ...


class SharedToolStore(ToolStore, Protocol):
    """A store that several gateways write and follow; `revisions` says how they keep out of each other's way."""

    def ledger(self, *, patient: bool = True) -> Ledger:
        """What the writers agree on, made on first use. `patient`: try again for a while if the store is away."""
        ...

    def swap_ledger(self, seen: Ledger, wanted: Ledger) -> Ledger:
        """Put `wanted` in the place of `seen` if that still stands; what stands afterwards."""
        ...

    def upsert_newer(self, tools: Sequence[StoredTool], *, before: int) -> None:
        """As `upsert`, but points whose revision is `before` or higher stay as they are."""
        ...

    def scan_spans(self, spans: Sequence[Span], *, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        """Every tool whose revision lies in one of the spans, with vectors, in order of revision."""
        ...

    def scan_all(self, *, batch_size: int = 1024, vectors: bool = True) -> Iterator[list[StoredTool]]:
        """Every tool, tombstones too, in no order; one written meanwhile may or may not be among them."""
        ...

    def tombstones(self, *, through: int, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        """Deleted tools up to a revision, in order of it, without vectors."""
        ...

    def purge(self, *, through: int) -> None:
        """Remove tombstones up to a revision for good."""
        ...

    def refresh(self) -> None:
        """Find out anew where the catalog lies; the next call goes there."""
        ...
