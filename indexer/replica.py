"""The catalog in memory: vectors, words and rows in step, read without locks."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from indexer.certified import CertifiedHead, build_certified_head
from indexer.confidence import UNCALIBRATED, Calibration
from indexer.definition import ToolKey
from indexer.document import ToolDocument, document_of
from indexer.embedders.base import Embedder, TokenEncoder
from indexer.engine import calibrate
from indexer.errors import CorruptSnapshotError
from indexer.late_interaction import TokenIndex
from indexer.lexical import LexicalIndex
from indexer.matrix import VectorMatrix
from indexer.replica_state import ReplicaState
from indexer.rows import RowEntry, RowTable
from indexer.search_plan import plan_search
from indexer.sign_bits import SignBits, build_sign_bits
from indexer.stores.base import StoredTool

Arrays = Mapping[str, npt.NDArray[Any]]

MAX_DEAD_SHARE: Final = 0.2
_WORTH_COMPACTING: Final = 1024
"""Fewer dead rows than this cost less than rebuilding the rest."""
_SCATTERED: Final = 2
"""Runs of rows a namespace, on average, from which a snapshot is not written before they are put together."""
WORTH_CALIBRATING: Final = 16
"""In a catalog of fewer tools hardly a foreign request meets a word that it shares with one."""
MOVED_SHARE: Final = 0.25
"""A catalog that grew or shrank by more than this since its calibration is calibrated anew."""


class Replica:
    """Follows the store change by change; one writer, any number of readers of `state`.

    Rows are appended and tombstoned, never moved: a reader keeps the state it began with while the writer goes on.
    """

    def __init__(self, dimensions: int, *, recall: float = 1.0, token_encoder: TokenEncoder | None = None) -> None:
        """`recall`: what share of the best a search of a large catalog must find, 1 for all of them.
        `token_encoder`: what the best are looked at again by."""
        self._recall = recall
        self._matrix = VectorMatrix(dimensions)
        self._lexical = LexicalIndex()
        self._tokens = None if token_encoder is None else TokenIndex(token_encoder)
        self._table = RowTable()
        self._quarantined: Mapping[ToolKey, StoredTool] = MappingProxyType({})
        self._calibration = UNCALIBRATED
        self._calibrated_live = 0
        self._revision = 0
        self.followed: Mapping[str, Any] = {}
        """How far the store had been read when this was saved, in the words of who reads it."""
        self.state = self._publish()

    @property
    def revision(self) -> int:
        return self._revision

    def apply(self, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument] | None = None) -> None:
        """Take over changes in order of revision, no key twice; the next reader of `state` sees all of them.

        An active tool must bring its vector. `documents`: those that are at hand already.
        """
        if not tools:
            return
        self._bury([tool.key for tool in tools])
        self._append([tool for tool in tools if tool.status == "active"], documents or {})
        self._quarantine(tools)
        self._revision = max(self._revision, *(tool.revision for tool in tools))
        self.state = self._publish()

    def advance(self, revision: int) -> None:
        """Note that there is nothing new up to this revision."""
        if revision > self._revision:
            self._revision = revision
            self.state = self._publish()

    def _publish(self) -> ReplicaState:
        matrix = self._matrix.snapshot()
        return ReplicaState(
            revision=self._revision,
            table=self._table,
            matrix=matrix,
            lexical=self._lexical.snapshot(),
            quarantined=self._quarantined,
            tokens=None if self._tokens is None else self._tokens.snapshot(),
            # What was true of a large catalog says nothing of the few tools that are left of it.
            calibration=self._calibration if matrix.live >= WORTH_CALIBRATING else UNCALIBRATED,
        )

    def _bury(self, keys: Sequence[ToolKey]) -> None:
        rows = [row for key in keys if (row := self.state.row_of(key)) is not None]
        if rows:
            dead = np.array(sorted(rows), dtype=np.int64)
            self._matrix.tombstone(dead)
            self._lexical.remove(dead)

    def _append(self, tools: Sequence[StoredTool], documents: Mapping[ToolKey, ToolDocument]) -> None:
        if not tools:
            return
        vectors = [tool.vector for tool in tools if tool.vector is not None]
        if len(vectors) < len(tools):
            raise ValueError("an active tool without its vector")
        self._table.append(
            [RowEntry(tool.definition, tool.definition.encoded, tool.content_hash, tool.revision) for tool in tools]
        )
        texts = [documents.get(tool.key) or document_of(tool.definition) for tool in tools]
        self._lexical.add(texts)
        if self._tokens is not None:
            self._tokens.add(texts)
        self._matrix.append(np.stack(vectors) if len(vectors) > 1 else vectors[0][np.newaxis])

    def _quarantine(self, tools: Sequence[StoredTool]) -> None:
        touched = {tool.key for tool in tools}
        new = {tool.key: tool for tool in tools if tool.status == "quarantined"}
        if new or not touched.isdisjoint(self._quarantined):
            kept = {key: tool for key, tool in self._quarantined.items() if key not in touched}
            self._quarantined = MappingProxyType(kept | new)

    # Calibration, compaction and snapshots.

    @property
    def wants_calibration(self) -> bool:
        """Whether the catalog is another than the one whose weak matches were measured."""
        live = self.state.live
        return live >= WORTH_CALIBRATING and abs(live - self._calibrated_live) > MOVED_SHARE * self._calibrated_live

    def calibrate(self, embedder: Embedder) -> None:
        """Measure what a weak match is in this catalog, which is large or small now: also build what large ones are
        searched by. Raises: EmbeddingError."""
        self._build_shortcuts()
        self.state = state = self._publish()
        self._calibration = calibrate(embedder, matrix=state.matrix, lexical=state.lexical, tokens=state.tokens)
        self._calibrated_live = state.live
        self.state = self._publish()

    @property
    def wants_compaction(self) -> bool:
        return self._wants_compaction(self._matrix.dead)

    def _wants_compaction(self, dead: int) -> bool:
        return dead >= _WORTH_COMPACTING and dead > MAX_DEAD_SHARE * self._matrix.n_rows

    @property
    def is_full(self) -> bool:
        """Whether one change more would have much moved: to larger arrays, to merged postings, out of dead rows."""
        return self._matrix.is_full or self._lexical.is_full or self._wants_compaction(self._matrix.dead + 1)

    def compact(self) -> None:
        """Leave the dead rows behind and put those of a tenant and namespace side by side, where filters read them
        in passing; readers keep theirs until they let go of their state."""
        keep = self._table.grouped(np.flatnonzero(self.state.matrix.penalty == 0))
        matrix, lexical = self._matrix.compacted(keep), self._lexical.compacted(keep)
        table = RowTable.from_arrays(self._table.to_arrays(keep))
        had_shortcuts = self._matrix.head is not None or self._matrix.bits is not None
        self._matrix, self._lexical, self._table = matrix, lexical, table
        self._tokens = None if self._tokens is None else self._tokens.compacted(keep)
        if had_shortcuts:
            self._build_shortcuts()
        self.state = self._publish()

    def _build_shortcuts(self) -> None:
        """Bounds or bits by which searches leave most of a large catalog unread: some five seconds for a million."""
        plan = plan_search(rows=self._matrix.n_rows, dimensions=self._matrix.dimensions, recall=self._recall)
        vectors = self._matrix.snapshot().vectors
        self._matrix.attach(
            head=build_certified_head(vectors) if plan.method == "certified" else None,
            bits=build_sign_bits(vectors, recall=self._recall) if plan.method == "bits" else None,
        )

    def _take_shortcuts(self, head: Arrays, bits: Arrays) -> None:
        """Those of a snapshot file, unless they are for another recall. Raises: CorruptSnapshotError."""
        if bits and (stored := SignBits.from_arrays(bits)).recall == self._recall:
            self._matrix.attach(bits=stored)
        elif head and self._recall == 1:
            self._matrix.attach(head=CertifiedHead.from_arrays(head))
        else:
            self._build_shortcuts()
        for shortcut in (self._matrix.head, self._matrix.bits):
            if shortcut is not None and (
                shortcut.n_rows > self._matrix.n_rows or shortcut.dimensions != self._matrix.dimensions
            ):
                raise CorruptSnapshotError("the snapshot's bounds or bits are of other vectors")

    @property
    def _scattered(self) -> bool:
        """Whether the rows of the namespaces of a large catalog lie in many more pieces than they need to."""
        runs, namespaces = self._table.runs(self._matrix.n_rows)
        return self._matrix.n_rows >= _WORTH_COMPACTING and runs > _SCATTERED * namespaces

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live rows as the arrays of a snapshot file; quarantined tools are for the caller to keep."""
        if self._matrix.dead or self._scattered:
            self.compact()
        keep = np.arange(self._matrix.n_rows, dtype=np.int64)
        parts: dict[str, Mapping[str, npt.NDArray[Any]]] = {
            "matrix": self._matrix.to_arrays(),
            "lexical": self._lexical.to_arrays(),
            "tokens": {} if self._tokens is None else self._tokens.to_arrays(),
            "table": self._table.to_arrays(keep),
            "calibration": self._calibration.to_arrays() | {"live": np.array([self._calibrated_live], dtype=np.int64)},
            "head": self._matrix.head.to_arrays() if self._matrix.head is not None else {},
            "bits": self._matrix.bits.to_arrays() if self._matrix.bits is not None else {},
        }
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    @classmethod
    def from_arrays(
        cls,
        arrays: Arrays,
        revision: int,
        quarantined: Sequence[StoredTool],
        *,
        recall: float = 1.0,
        token_encoder: TokenEncoder | None = None,
    ) -> "Replica":
        """Take over what `to_arrays` gave. Raises: CorruptSnapshotError."""

        def part(name: str) -> dict[str, npt.NDArray[Any]]:
            prefix = f"{name}."
            return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}

        matrix = VectorMatrix.from_arrays(part("matrix"))
        matrix.leave_file()
        replica = cls(matrix.dimensions, recall=recall, token_encoder=token_encoder)
        replica._matrix = matrix
        replica._lexical = LexicalIndex.from_arrays(part("lexical"))
        replica._table = RowTable.from_arrays(part("table"))
        if token_encoder is not None:
            replica._tokens = TokenIndex.from_arrays(part("tokens"), token_encoder)
        lengths = {matrix.n_rows, replica._lexical.n_rows, len(replica._table)}
        if replica._tokens is not None:
            lengths.add(replica._tokens.n_rows)
        if len(lengths) > 1:
            raise CorruptSnapshotError("the snapshot's parts are of different lengths")
        replica._quarantined = MappingProxyType({tool.key: tool for tool in quarantined})
        calibration = part("calibration")
        if "mean" in calibration:  # not in the snapshot of a catalog that was never calibrated
            replica._calibration = Calibration.from_arrays(calibration, matrix.dimensions)
            replica._calibrated_live = int(calibration["live"][0])
        replica._take_shortcuts(part("head"), part("bits"))
        replica._revision = revision
        replica.state = replica._publish()
        return replica

    def parts_bytes(self) -> dict[str, int]:
        """Memory by part, in bytes."""
        head, bits = self._matrix.head, self._matrix.bits
        shortcuts = {"bounds": head.nbytes} if head is not None else {"bits": bits.nbytes} if bits is not None else {}
        tokens = {} if self._tokens is None else {"tokens": self._tokens.nbytes}
        parts = {"vectors": self._matrix.nbytes, **shortcuts, "lexical": self._lexical.nbytes, **tokens}
        return parts | self._table.parts_bytes()
