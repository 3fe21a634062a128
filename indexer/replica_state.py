"""The catalog at one revision: what every reader holds for the length of its answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from indexer.columns import Rows
from indexer.confidence import UNCALIBRATED, Calibration
from indexer.definition import ToolKey
from indexer.late_interaction import TokenSnapshot
from indexer.lexical import LexicalSnapshot
from indexer.matrix import MatrixSnapshot
from indexer.rows import RowTable
from indexer.search import SearchScope
from indexer.search_plan import SearchPlan, plan_search
from indexer.stores.base import StoredTool

_CACHED_VIEWS: Final = 16


@dataclass(frozen=True, slots=True)
class ScopeView:
    """The live rows of one scope at one moment."""

    rows: Rows | None
    """Ascending and distinct; None where every live row is in scope."""
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaState:
    """The catalog at one revision: whoever holds it sees no later change."""

    revision: int
    table: RowTable
    matrix: MatrixSnapshot
    lexical: LexicalSnapshot
    quarantined: Mapping[ToolKey, StoredTool]
    tokens: TokenSnapshot | None = None
    """None where the encoder has no vectors of single tokens."""
    calibration: Calibration = UNCALIBRATED
    _views: dict[SearchScope, ScopeView] = field(default_factory=dict[SearchScope, ScopeView])

    @property
    def n_rows(self) -> int:
        return self.matrix.n_rows

    @property
    def live(self) -> int:
        return self.matrix.live

    @property
    def search_plan(self) -> SearchPlan:
        """How one search of every row reads the vectors."""
        recall = 1.0 if self.matrix.bits is None else self.matrix.bits.recall
        return plan_search(rows=self.n_rows, dimensions=self.matrix.dimensions, recall=recall)

    def alive(self, row: int) -> bool:
        return bool(self.matrix.penalty[row] == 0)

    def row_of(self, key: ToolKey) -> int | None:
        """The live row of a tool."""
        return self._live(self.table.latest(key, self.n_rows))

    def row_behind(self, tenant: str, alias: str) -> int | None:
        """The live row behind a model-facing alias."""
        return self._live(self.table.by_alias(tenant, alias, self.n_rows))

    def revision_of(self, key: ToolKey) -> int:
        """Of the last change of a tool that is active or quarantined; 0 for any other."""
        if (held := self.quarantined.get(key)) is not None:
            return held.revision
        row = self.row_of(key)
        return 0 if row is None else self.table.revision(row)

    def rows_named(self, tenant: str, name: str) -> list[int]:
        """Live rows whose name, alias or `namespace/name` is this one but for case."""
        return [row for row in self.table.by_name(tenant, name, self.n_rows) if self.alive(row)]

    def view(self, scope: SearchScope) -> ScopeView:
        """The live rows in scope; recent ones are remembered for as long as this state is the newest."""
        view = self._views.get(scope)
        if view is None:
            view = self._look(scope)
            if len(self._views) >= _CACHED_VIEWS:
                self._views.clear()
            self._views[scope] = view
        return view

    def namespace_rows(self, tenant: str, namespaces: Collection[str]) -> Rows | None:
        """Rows of some namespaces, dead ones too; None for no namespace."""
        return self.table.namespace_rows(tenant, namespaces, self.n_rows) if namespaces else None

    def live_rows(self, scope: SearchScope) -> Rows:
        """As `view`, always as an array."""
        rows = self.view(scope).rows
        return np.flatnonzero(self.matrix.penalty == 0) if rows is None else rows

    def stored(self, row: int, encoder_id: str) -> StoredTool:
        """The tool in a row, as the store holds it, without its vector."""
        return StoredTool(
            definition=self.table.definition(row),
            content_hash=self.table.content_hash(row),
            revision=self.table.revision(row),
            encoder_id=encoder_id,
        )

    def _look(self, scope: SearchScope) -> ScopeView:
        rows = self.table.scope_rows(scope, self.n_rows)
        if rows is None:
            return ScopeView(None, self.live)
        if self.live < self.n_rows:
            rows = rows[self.matrix.penalty[rows] == 0]
        return ScopeView(None if len(rows) == self.live else rows, len(rows))

    def _live(self, row: int | None) -> int | None:
        return row if row is not None and self.alive(row) else None
