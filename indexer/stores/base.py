"""The seam between the catalog and the engine that keeps it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

from indexer.definition import ToolDefinition, ToolKey

ToolStatus = Literal["active", "quarantined", "deleted"]


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
