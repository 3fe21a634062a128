"""Exact search that reads a part of each row: a head of principal components, and a bound on what the rest can add.

For a basis V of h orthonormal columns, x.q = (V'x).(V'q) + rest, and |rest| <= |x - VV'x| |q - VV'q| (Cauchy-Schwarz).
With the norm of each row's rest stored beside its head, one product gives an upper bound of every score; rows whose
bound lies below the k-th best score found so far cannot be among the k best. The rounding of every float32 step is
added to the bounds, so that the proof holds for what a plain scan computes, and the result is the same bit for bit.
Figures: design/speed.md, "Dense search".
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.errors import CorruptSnapshotError
from indexer.top_k import (
    DEAD_SCORE,
    Floats,
    Rows,
    TopK,
    block_top_k,
    dot_scores,
    gathered_scores,
    rounding_error,
    top_candidates,
)

_Doubles = npt.NDArray[np.float64]

_TILE_ROWS: Final = 2048
_SAMPLE_ROWS: Final = 16_384
_SAMPLE_QUERIES: Final = 48
_HEAD_STEP: Final = 16
_GATHER_COST: Final = 1.4
"""Reading a row of its own costs so many times what reading it in passing does."""
_WORTH_RESCORING: Final = 0.35
"""With more survivors than this share of the rows, one plain scan is faster than gathering them."""
_ALWAYS_RESCORED: Final = 128
"""So few survivors are scored whatever share of the rows they are."""
_FIRST_LOOK: Final = 64
"""Rows, at least, whose scores set the first threshold."""


class CertifiedTopK(NamedTuple):
    """As `TopK`, and how many rows had to be read whole: all of them where the bounds said too little."""

    rows: Rows
    scores: Floats
    survivors: int


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedHead:
    """The heads of the first `n_rows` rows of a matrix, good for as long as those rows do not change.

    `basis`: (d, h) float64, orthonormal columns. `tiles`: (tiles, h + 1, rows) float32: of each row, down a column, its
    coordinates in the basis and the norm of its rest, rounded up; the last tile is filled with zeros. Columns rather
    than rows, because OpenBLAS multiplies short rows at half the speed of memory. `max_norm`: of the rows.
    """

    basis: _Doubles
    tiles: Floats
    n_rows: int
    max_norm: float

    @property
    def dimensions(self) -> int:
        return len(self.basis)

    @property
    def head_dims(self) -> int:
        return self.basis.shape[1]

    @property
    def nbytes(self) -> int:
        return self.basis.nbytes + self.tiles.nbytes

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file."""
        return {"basis": self.basis, "tiles": self.tiles, "shape": np.array([self.n_rows, self.max_norm])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "CertifiedHead":
        """Take over a copy of what `to_arrays` gave. Raises: CorruptSnapshotError."""
        try:
            basis, tiles = np.array(arrays["basis"]), np.array(arrays["tiles"])
            n_rows, max_norm = arrays["shape"].tolist()
        except (KeyError, ValueError, TypeError) as error:
            raise CorruptSnapshotError(f"the snapshot's bounds cannot be read: {error!r}") from error
        tile_rows = tiles.shape[-1] if tiles.ndim == 3 and tiles.shape[-1] else 1
        if basis.ndim != 2 or tiles.shape != (-(-int(n_rows) // tile_rows), basis.shape[-1] + 1, tile_rows):
            raise CorruptSnapshotError(
                f"bounds of shapes {basis.shape} and {tiles.shape} for {n_rows:g} rows do not fit"
            )
        return cls(basis=basis, tiles=tiles, n_rows=int(n_rows), max_norm=max_norm)

    def upper_bounds(self, query: Floats) -> Floats:
        """(n_rows,) a bound for each row: a plain scan with the (d,) query finds no higher score."""
        exact = query.astype(np.float64)
        head = exact @ self.basis
        square = float(exact @ exact)
        column = np.empty(len(head) + 1, dtype=np.float32)
        column[:-1] = head
        column[-1] = _rest_norm(square, float(head @ head))
        upper = np.matmul(column, self.tiles).reshape(-1)[: self.n_rows]
        # The product's own rounding, that of the plain scan which it stands for, and that of the stored numbers.
        terms = rounding_error(len(query)) + rounding_error(len(column))
        upper += np.float32(terms * self.max_norm * math.sqrt(square))
        return upper


def build_certified_head(vectors: Floats, head_dims: int | None = None, *, seed: int = 0) -> CertifiedHead:
    """The head of (n, d) rows as they are now; some four seconds for a million rows of 256 dimensions.

    `head_dims`: how many principal components; by default what is likely to be the fastest, by the spectrum of a
    sample that `seed` draws.
    """
    n_rows, dimensions = vectors.shape
    generator = np.random.default_rng(seed)
    sample = vectors
    if n_rows > _SAMPLE_ROWS:
        sample = vectors[np.sort(generator.choice(n_rows, _SAMPLE_ROWS, replace=False))]
    basis = _principal_axes(sample)
    dims = head_dims or _fastest_head(sample @ basis.astype(np.float32), generator)
    basis = np.ascontiguousarray(basis[:, : max(1, min(dims, dimensions))])
    tiles = np.zeros((-(-n_rows // _TILE_ROWS), basis.shape[1] + 1, _TILE_ROWS), dtype=np.float32)
    largest = 0.0
    for number, start in enumerate(range(0, n_rows, _TILE_ROWS)):
        rows = vectors[start : start + _TILE_ROWS].astype(np.float64)
        heads = rows @ basis
        squares = np.vecdot(rows, rows)
        rest = _rest_norms(squares, np.vecdot(heads, heads))
        tiles[number, :-1, : len(rows)] = heads.T
        tiles[number, -1, : len(rows)] = np.nextafter(rest.astype(np.float32), np.float32(np.inf))
        largest = max(largest, float(np.sqrt(squares.max())))
    return CertifiedHead(basis=basis, tiles=tiles, n_rows=n_rows, max_norm=largest)


def certified_top_k(
    vectors: Floats, head: CertifiedHead, query: Floats, k: int, penalty: Floats | None = None
) -> CertifiedTopK:
    """The k rows nearest to a (d,) query: the rows and scores that a plain scan gives, bit for bit.

    `vectors`: (n, d), the rows of the head and any that were appended since, which are scanned. `penalty`: (n,) added
    to the scores, 0 or `TOMBSTONE`.
    """

    def exact(rows: Rows) -> Floats:
        scores = gathered_scores(vectors, rows, query)
        return scores if penalty is None else scores + penalty[rows]

    upper = upper_bounds(vectors, head, query)
    if penalty is not None:
        upper += penalty
    found = bounded_top_k(upper, exact, k, above=float(DEAD_SCORE))
    if found is not None:
        return found
    scores = dot_scores(vectors, query)
    best = _live_top_k(scores if penalty is None else scores + penalty, k)
    return CertifiedTopK(best.rows, best.scores, len(vectors))


def upper_bounds(vectors: Floats, head: CertifiedHead, query: Floats) -> Floats:
    """(n,) a bound of every row's score; where a row was appended since the head was built, its score."""
    bounds = head.upper_bounds(query)
    if head.n_rows == len(vectors):
        return bounds
    return np.concatenate((bounds, dot_scores(vectors[head.n_rows :], query)))


def bounded_top_k(
    upper: Floats, exact: Callable[[Rows], Floats], k: int, *, above: float = -np.inf
) -> CertifiedTopK | None:
    """The k best of (n,) scores that lie above a value, worked out only where their upper bounds demand it.

    `exact`: the scores of ascending rows, none above its bound. None where so many rows would have to be worked out
    that it is better to do it for all.
    """
    kth = _kth_best(exact(top_candidates(upper, min(max(_FIRST_LOOK, 2 * k), len(upper)))), k)
    rows = (upper >= kth if kth > above else upper > above).nonzero()[0]
    if len(rows) > max(_ALWAYS_RESCORED, _WORTH_RESCORING * len(upper)):
        return None
    scores = exact(rows)
    best = block_top_k(scores, k)
    best = best[scores[best] > above]
    return CertifiedTopK(rows[best], scores[best], len(rows))


def _kth_best(scores: Floats, k: int) -> float:
    """The k-th best score; less than any where there are not so many."""
    if not 0 < k <= len(scores):
        return -math.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _live_top_k(scores: Floats, k: int) -> TopK:
    best = block_top_k(scores, k)
    best = best[scores[best] > DEAD_SCORE]
    return TopK(best, scores[best])


def _principal_axes(sample: Floats) -> _Doubles:
    """(d, d) orthonormal columns, those along which the rows reach farthest from the origin first."""
    rows = sample.astype(np.float64)
    _, axes = np.linalg.eigh(rows.T @ rows)
    return axes[:, ::-1]


def _fastest_head(rotated: Floats, generator: np.random.Generator) -> int:
    """How many of the (m, d) sample's leading coordinates cost least: reading heads, and then the survivors.

    Queries are sums of four rows: about as far from the nearest row as a request is from its tool.
    """
    n_rows, dimensions = rotated.shape
    if n_rows < 2:
        return dimensions
    sums = rotated[generator.integers(0, n_rows, (4, _SAMPLE_QUERIES))].sum(axis=0)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    queries = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
    thresholds = np.partition(queries @ rotated.T, n_rows - 2, axis=1)[:, n_rows - 2]
    costs: dict[int, float] = {}
    for dims in range(_HEAD_STEP, dimensions + 1, _HEAD_STEP):
        rests = np.linalg.norm(rotated[:, dims:], axis=1)
        bounds = queries[:, :dims] @ rotated[:, :dims].T
        bounds += np.linalg.norm(queries[:, dims:], axis=1)[:, None] * rests
        survivors = (bounds >= thresholds[:, None]).mean(axis=1)
        # With too many of them, all rows are read after all.
        whole = np.where(survivors > _WORTH_RESCORING, 1.0, _GATHER_COST * survivors)
        costs[dims] = (dims + 1) / dimensions + float(whole.mean())
    return min(costs, key=costs.__getitem__, default=dimensions)


def _rest_norm(square: float, head_square: float) -> float:
    """The norm of what lies outside the basis, never too small: 1e-12 stands for the rounding of both float64 sums."""
    return math.sqrt(max(square - head_square, 0.0) + 1e-12 * square)


def _rest_norms(squares: _Doubles, head_squares: _Doubles) -> _Doubles:
    """As `_rest_norm`, of (n,) rows."""
    return np.sqrt(np.maximum(squares - head_squares, 0.0) + 1e-12 * squares)
