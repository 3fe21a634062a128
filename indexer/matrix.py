"""The catalog's vectors in memory: rows that are appended and tombstoned, and what a search reads of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexer.errors import CorruptSnapshotError, DimensionMismatchError
from indexer.search_plan import BATCH_BEATS_BITS, BATCH_BEATS_CERTIFIED, BATCH_QUERIES
from indexer.top_k import DEAD_SCORE, TOMBSTONE, Floats, Rows, TopK, block_top_k, dot_scores, gathered_scores

if TYPE_CHECKING:
    from indexer.certified import CertifiedHead
    from indexer.sign_bits import SignBits

_INITIAL_ROWS: Final = 256
_ROOM_SHARE: Final = 8


@dataclass(frozen=True, slots=True)
class MatrixSnapshot:
    """The rows as they were at one moment: readers keep it while the writer goes on.

    `vectors`: (n, d) float32, C-contiguous, rows of unit norm (or zero). `penalty`: (n,) float32, 0 for a live row,
    `TOMBSTONE` for a dead one.
    """

    vectors: Floats
    penalty: Floats
    live: int
    head: "CertifiedHead | None" = None
    """Of the first of the rows, where there are enough of them to be worth it."""
    bits: "SignBits | None" = None
    """Likewise, where the operator allows what is only likely to be best."""

    @property
    def batch_from(self) -> int:
        """Queries from which one pass over the whole rows is faster than what there is for each of them."""
        if self.bits is not None:
            return BATCH_BEATS_BITS
        return BATCH_QUERIES if self.head is None else BATCH_BEATS_CERTIFIED

    @property
    def n_rows(self) -> int:
        return len(self.vectors)

    @property
    def dimensions(self) -> int:
        return self.vectors.shape[1]

    def scores(self, query: Floats, rows: Rows | None = None) -> Floats:
        """Cosines with a (d,) unit query, penalties added: (n,), or (m,) of the rows asked for.

        Raises: DimensionMismatchError.
        """
        self._check(query)
        if rows is None:
            scores = dot_scores(self.vectors, query)
            return scores if self.live == self.n_rows else scores + self.penalty
        scores = gathered_scores(self.vectors, rows, query)
        return scores if self.live == self.n_rows else scores + self.penalty[rows]

    def top_k(self, query: Floats, k: int, *, rows: Rows | None = None, penalty: Floats | None = None) -> TopK:
        """The k live rows nearest to a (d,) unit query; fewer where there are fewer.

        `rows`: only these (sorted, distinct): for narrow filters. `penalty`: (n,) float32 added to the scores, 0 to
        keep a row and `TOMBSTONE` to hide it: for wide ones. Raises: DimensionMismatchError.
        """
        scores = self.scores(query, rows)
        if penalty is not None:
            scores = scores + (penalty if rows is None else penalty[rows])
        best = block_top_k(scores, k)
        best = best[scores[best] > DEAD_SCORE]
        return TopK(best if rows is None else rows[best], scores[best])

    def _check(self, query: Floats) -> None:
        if query.shape != (self.dimensions,):
            raise DimensionMismatchError(expected=self.dimensions, got=query.shape[-1], where="query vector")


class VectorMatrix:
    """Append-only rows with tombstones; one writer, any number of readers of its snapshots.

    Rows are (n, dimensions) float32, row-major and C-contiguous, of unit norm: they are normalised when they are
    written (by the encoder), never per query. An update is an append and a tombstone; `compacted` drops the dead.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._vectors = np.empty((0, dimensions), dtype=np.float32)
        self._penalty = np.empty(0, dtype=np.float32)
        self._rows = 0
        self._dead = 0
        self._head: CertifiedHead | None = None
        self._bits: SignBits | None = None
        self._snapshot: MatrixSnapshot | None = None

    @property
    def n_rows(self) -> int:
        return self._rows

    @property
    def dead(self) -> int:
        """How many rows are tombstones."""
        return self._dead

    @property
    def is_full(self) -> bool:
        """Whether another row would have all of them copied."""
        return self._rows == len(self._vectors)

    @property
    def nbytes(self) -> int:
        """Of vectors and penalties; what is attached counts its own."""
        return self._vectors.nbytes + self._penalty.nbytes

    @property
    def head(self) -> "CertifiedHead | None":
        return self._head

    @property
    def bits(self) -> "SignBits | None":
        return self._bits

    def attach(self, *, head: "CertifiedHead | None" = None, bits: "SignBits | None" = None) -> None:
        """Give later snapshots the head or the bits of the first of these rows, or neither."""
        self._head, self._bits = head, bits
        self._snapshot = None

    def append(self, vectors: Floats) -> range:
        """Add (m, dimensions) unit rows; the ids they got. Raises: DimensionMismatchError."""
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions:
            raise DimensionMismatchError(expected=self.dimensions, got=vectors.shape[-1], where="appended vectors")
        start, end = self._rows, self._rows + len(vectors)
        if start == end:  # nothing to write, and a memory map takes no writes
            return range(start, end)
        self._reserve(end)
        # Written before `_rows` grows: a snapshot never shows a row that is half there.
        self._vectors[start:end] = vectors
        self._penalty[start:end] = 0.0
        self._rows = end
        self._snapshot = None
        return range(start, end)

    def tombstone(self, rows: Rows) -> None:
        """Hide rows (distinct) from every later snapshot; a row that is hidden already stays so."""
        if len(rows) == 0:
            return
        # Copied, because snapshots hold the old array: 4 bytes a row, some 15 microseconds at 100,000.
        penalty = self._penalty.copy()
        self._dead += int(np.count_nonzero(penalty[rows] == 0))
        penalty[rows] = TOMBSTONE
        self._penalty = penalty
        self._snapshot = None

    def snapshot(self) -> MatrixSnapshot:
        """What is there now, unmoved by later writes."""
        if self._snapshot is None:
            vectors, penalty = self._vectors[: self._rows], self._penalty[: self._rows]
            vectors.flags.writeable = penalty.flags.writeable = False
            self._snapshot = MatrixSnapshot(vectors, penalty, self._rows - self._dead, self._head, self._bits)
        return self._snapshot

    def scores(self, query: Floats, rows: Rows | None = None) -> Floats:
        """As `MatrixSnapshot.scores`, of this moment."""
        return self.snapshot().scores(query, rows)

    def top_k(self, query: Floats, k: int, *, rows: Rows | None = None, penalty: Floats | None = None) -> TopK:
        """As `MatrixSnapshot.top_k`, of this moment."""
        return self.snapshot().top_k(query, k, rows=rows, penalty=penalty)

    def compacted(self, keep_rows: Rows) -> "VectorMatrix":
        """A new matrix of these rows (all live), in this order; the old one and its snapshots stay as they are."""
        matrix = VectorMatrix(self.dimensions)
        matrix._reserve(len(keep_rows))
        np.take(self._vectors[: self._rows], keep_rows, axis=0, out=matrix._vectors[: len(keep_rows)], mode="clip")
        matrix._penalty[: len(keep_rows)] = 0.0
        matrix._rows = len(keep_rows)
        return matrix

    def to_arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """The arrays of a snapshot file: `vectors` (n, d) and `penalty` (n,)."""
        return {"vectors": self._vectors[: self._rows], "penalty": self._penalty[: self._rows]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.float32]]) -> "VectorMatrix":
        """Take over what `to_arrays` gave; read-only memory maps are served as they are and copied on growth.

        Raises: CorruptSnapshotError.
        """
        try:
            vectors, penalty = arrays["vectors"], arrays["penalty"]
        except KeyError as missing:
            raise CorruptSnapshotError(f"vector snapshot has no array {missing}") from missing
        if vectors.ndim != 2 or penalty.shape != (len(vectors),) or vectors.dtype != np.float32:
            raise CorruptSnapshotError(f"vector snapshot of shapes {vectors.shape} and {penalty.shape} does not fit")
        matrix = cls(vectors.shape[1])
        matrix._vectors, matrix._penalty, matrix._rows = vectors, penalty, len(vectors)
        matrix._dead = int(np.count_nonzero(penalty))
        return matrix

    def leave_file(self) -> None:
        """Copy rows that are mapped from a file into memory, where there is room for an eighth more.

        Every search reads all of them: large pages are read up to twice as fast as those of a mapped file. And else
        the first row that is added would have to wait for the copy.
        """
        self._move(max(self._rows + self._rows // _ROOM_SHARE, _INITIAL_ROWS))

    def _reserve(self, rows: int) -> None:
        """Room for so many rows, growing by half: old snapshots keep the old arrays."""
        capacity = len(self._vectors)
        if rows > capacity:
            self._move(max(rows, capacity + capacity // 2, _INITIAL_ROWS))

    def _move(self, capacity: int) -> None:
        vectors = np.empty((capacity, self.dimensions), dtype=np.float32)
        penalty = np.zeros(capacity, dtype=np.float32)
        vectors[: self._rows] = self._vectors[: self._rows]
        penalty[: self._rows] = self._penalty[: self._rows]
        self._vectors, self._penalty, self._snapshot = vectors, penalty, None
