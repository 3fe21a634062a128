"""The store that keeps nothing: for tests, trials and catalogs that are loaded anew at each start."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import final
from uuid import UUID

from indexer.errors import StoreError
from indexer.stores.base import StoredTool
from indexer.stores.payload import require_dimensions


@final
class MemoryToolStore:
    """A `ToolStore` in a dictionary; it outlives its own `close`, so that a reopened index finds its tools."""

    kind = "memory"

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._tools: dict[UUID, StoredTool] = {}
        self._last_revision = 0
        self._closed = False

    def reopen(self) -> "MemoryToolStore":
        """The same tools for a new owner, as opening a directory again would give."""
        self._closed = False
        return self

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        self._check_open()
        for tool in tools:
            require_dimensions(tool, self._dimensions, where="store")
        for tool in tools:
            vector = None if tool.vector is None else tool.vector.copy()
            self._tools[tool.point_id] = replace(tool, vector=vector)
            self._last_revision = max(self._last_revision, tool.revision)

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        self._check_open()
        return {
            point_id: replace(self._tools[point_id], vector=None) for point_id in point_ids if point_id in self._tools
        }

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        self._check_open()
        changes = sorted(
            (tool for tool in self._tools.values() if tool.revision > after_revision), key=lambda tool: tool.revision
        )
        for start in range(0, len(changes), batch_size):
            yield changes[start : start + batch_size]

    def last_revision(self) -> int:
        self._check_open()
        return self._last_revision

    def count(self) -> int:
        self._check_open()
        return sum(tool.status == "active" for tool in self._tools.values())

    def flush(self) -> None:
        self._check_open()

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")
