"""The store that keeps nothing: for tests, trials and catalogs that are loaded anew at each start."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import final
from uuid import UUID, uuid4

from indexer.errors import StoreError
from indexer.stores.base import StoredTool
from indexer.stores.ledger import Ledger, Span
from indexer.stores.payload import require_dimensions


@final
class MemoryToolStore:
    """A `ToolStore` in a dictionary; it outlives its own `close`, so that a reopened index finds its tools."""

    kind = "memory"

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._tools: dict[UUID, StoredTool] = {}
        self._last_revision = 0
        self._ledger: Ledger | None = None
        self._closed = False

    def reopen(self) -> "MemoryToolStore":
        """The same tools for a new owner, as opening a directory again would give."""
        self._closed = False
        return self

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        self._check(tools)
        for tool in tools:
            self._put(tool)

    def upsert_newer(self, tools: Sequence[StoredTool], *, before: int) -> None:
        self._check(tools)
        for tool in tools:
            known = self._tools.get(tool.point_id)
            if known is None or known.revision < before:
                self._put(tool)

    def _check(self, tools: Sequence[StoredTool]) -> None:
        self._check_open()
        for tool in tools:
            require_dimensions(tool, self._dimensions, where="store")

    def _put(self, tool: StoredTool) -> None:
        vector = None if tool.vector is None else tool.vector.copy()
        self._tools[tool.point_id] = replace(tool, vector=vector, terms=None)
        self._last_revision = max(self._last_revision, tool.revision)

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        self._check_open()
        return {
            point_id: replace(self._tools[point_id], vector=None) for point_id in point_ids if point_id in self._tools
        }

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        return self.scan_spans([Span(after_revision + 1, self._last_revision)], batch_size=batch_size)

    def scan_spans(self, spans: Sequence[Span], *, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        self._check_open()
        found = [
            tool for tool in self._tools.values() if any(span.first <= tool.revision <= span.last for span in spans)
        ]
        return _batches(sorted(found, key=lambda tool: tool.revision), batch_size)

    def scan_all(self, *, batch_size: int = 1024, vectors: bool = True) -> Iterator[list[StoredTool]]:
        self._check_open()
        return _batches([tool if vectors else replace(tool, vector=None) for tool in self._tools.values()], batch_size)

    def tombstones(self, *, through: int, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        for batch in self.scan_spans([Span(1, through)], batch_size=batch_size):
            if dead := [tool for tool in batch if tool.status == "deleted"]:
                yield dead

    def purge(self, *, through: int) -> None:
        self._check_open()
        self._tools = {
            point_id: tool
            for point_id, tool in self._tools.items()
            if tool.status != "deleted" or tool.revision > through
        }

    def last_revision(self) -> int:
        self._check_open()
        return self._last_revision

    def count(self) -> int:
        self._check_open()
        return sum(tool.status == "active" for tool in self._tools.values())

    def ledger(self, *, patient: bool = True) -> Ledger:
        self._check_open()
        if self._ledger is None:
            self._ledger = Ledger(catalog_id=uuid4().hex, allocated=self._last_revision)
        return self._ledger

    def swap_ledger(self, seen: Ledger, wanted: Ledger) -> Ledger:
        if self.ledger() == seen:
            self._ledger = wanted
        return self.ledger()

    def refresh(self) -> None:
        """There is only one place where the catalog can lie."""

    def flush(self) -> None:
        self._check_open()

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")


def _batches(tools: Sequence[StoredTool], size: int) -> Iterator[list[StoredTool]]:
    for start in range(0, len(tools), size):
        yield list(tools[start : start + size])
