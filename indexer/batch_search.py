"""Several queries in one pass over the rows: the vectors are read once for all of them.

When that pays, and what was measured: design/speed.md, "Dense search".
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.top_k import DEAD_SCORE, Floats, Rows, block_top_k, dot_scores, rounding_error

_BLOCK_ROWS: Final = 4096  # their scores stay in cache
_SMALL_PRODUCT: Final = 1024  # rows x queries up to which OpenBLAS multiplies without packing the rows first
_MANY_QUERIES: Final = 12  # from here on packing is worth it
_NO_ROW: Final = -1


class BatchTopK(NamedTuple):
    """The best rows of each query, best first; of equal scores the lower row first.

    `rows`: (q, k) int64, -1 where there are fewer; `scores`: (q, k) float32, -inf there.
    """

    rows: Rows
    scores: Floats


class _Candidates(NamedTuple):
    """Rows that may be of the k best of a query: (m,) query numbers and rows, the latter ascending in each query."""

    owners: Rows
    rows: Rows
    crowded: Rows
    """Queries that have too many candidates to be worth it (all rows score alike); none of theirs are kept."""


def batch_scores(vectors: Floats, queries: Floats) -> Floats:
    """(q, n) dot products of (n, d) rows with (q, d) queries, equal to `dot_scores` but for rounding."""
    scores = np.empty((len(queries), len(vectors)), dtype=np.float32)
    buffer = np.empty((min(_BLOCK_ROWS, len(vectors)), len(queries)), dtype=np.float32)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS]
        scores[:, start : start + len(block)] = _product(block, queries, buffer).T
    return scores


def _product(block: Floats, queries: Floats, buffer: Floats) -> Floats:
    """(m, q) dot products of a block, written into the buffer.

    Rows times queries, not the other way round: OpenBLAS copies its second factor into a layout of its own, and the
    rows are the larger one.
    """
    scores = buffer[: len(block)]
    if not 0 < len(queries) < _MANY_QUERIES:
        return np.matmul(block, queries.T, out=scores)
    # The largest power of two: a part that fills whole vector registers.
    rows = 1 << (_SMALL_PRODUCT // len(queries)).bit_length() - 1
    for start in range(0, len(block), rows):
        np.matmul(block[start : start + rows], queries.T, out=scores[start : start + rows])
    return scores


def batch_top_k(vectors: Floats, queries: Floats, k: int, *, penalty: Floats | None = None) -> BatchTopK:
    """The k rows nearest to each of (q, d) unit queries: the rows and scores that single scans give, bit for bit.

    `vectors`: (n, d), C-contiguous, of norm 1 or 0. `penalty`: (n,) added to the scores, 0 or `TOMBSTONE`. The product
    of a block of rows with all queries finds the candidates, to within its rounding; their scores are then computed as
    a single scan computes them.
    """
    k = max(0, min(k, len(vectors)))
    best = BatchTopK(
        np.full((len(queries), k), _NO_ROW, dtype=np.int64), np.full((len(queries), k), -np.inf, dtype=np.float32)
    )
    if best.rows.size == 0:
        return best
    found = _candidates(vectors, queries, k, penalty)
    scores = np.vecdot(vectors[found.rows], queries[found.owners])
    if penalty is not None:
        scores += penalty[found.rows]
    _fill(best, found.owners, found.rows, scores)
    for query in found.crowded.tolist():
        scores = dot_scores(vectors, queries[query])
        if penalty is not None:
            scores += penalty
        rows = block_top_k(scores, k)
        _fill(best, np.full(len(rows), query), rows, scores[rows])
    return best


def _fill(best: BatchTopK, owners: Rows, rows: Rows, scores: Floats) -> None:
    """Put the k best live candidates of each query into its place."""
    alive = scores > DEAD_SCORE
    owners, rows, scores = owners[alive], rows[alive], scores[alive]
    order = np.lexsort((rows, -scores, owners))
    owners, rows, scores = owners[order], rows[order], scores[order]
    place = np.arange(len(order)) - np.searchsorted(owners, owners)
    first = place < best.rows.shape[1]
    best.rows[owners[first], place[first]] = rows[first]
    best.scores[owners[first], place[first]] = scores[first]


def _candidates(vectors: Floats, queries: Floats, k: int, penalty: Floats | None) -> _Candidates:
    """Every row that may be of the k best of a query, and few others."""
    margin = 2 * rounding_error(vectors.shape[1]) * np.linalg.norm(queries, axis=1).astype(np.float32)
    kept = np.full((len(queries), k), -np.inf, dtype=np.float32)  # the k best scores so far of each query, unsorted
    buffer = np.empty((min(_BLOCK_ROWS, len(vectors)), len(queries)), dtype=np.float32)
    counts = np.zeros(len(queries), dtype=np.int64)
    parts: list[tuple[Rows, Rows, Floats]] = []
    for start in range(0, len(vectors), _BLOCK_ROWS):
        scores = _product(vectors[start : start + _BLOCK_ROWS], queries, buffer)
        if penalty is not None:
            scores += penalty[start : start + len(scores), None]
        kth = kept.min(axis=1) if start else _kth_best(scores, k)
        floor = np.maximum(kth - margin, DEAD_SCORE)
        floor[_crowded(counts, k)] = np.inf
        row, owner = np.nonzero(scores >= floor)
        order = np.argsort(owner, kind="stable")
        row, owner = row[order], owner[order]
        found = scores[row, owner]
        here = np.bincount(owner, minlength=len(queries))
        kept = _merged(kept, owner, found, here)
        counts += here
        parts.append((owner, row + start, found))
    owners, rows, found = (np.concatenate(column) for column in zip(*parts, strict=True))
    # The first blocks let in what the last ones would not.
    floor = kept.min(axis=1) - margin
    crowded = _crowded(counts, k)
    floor[crowded] = np.inf
    near = found >= floor[owners]
    return _Candidates(owners[near], rows[near], np.flatnonzero(crowded))


def _crowded(counts: Rows, k: int) -> npt.NDArray[np.bool_]:
    return counts > _BLOCK_ROWS + 16 * k


def _kth_best(scores: Floats, k: int) -> Floats:
    """(q,) the k-th best of (m, q) scores; -inf where m < k."""
    ordered: Floats = scores.T.copy()
    if k > ordered.shape[1]:
        return np.full(len(ordered), -np.inf, dtype=np.float32)
    place = ordered.shape[1] - k
    ordered.partition(place, axis=1)
    return ordered[:, place]


def _merged(kept: Floats, owner: Rows, scores: Floats, counts: Rows) -> Floats:
    """(q, k) best of those kept and of the (m,) new scores, which are grouped by owner, `counts` of each."""
    if len(owner) == 0:
        return kept
    k = kept.shape[1]
    place = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
    both = np.full((len(kept), k + int(counts.max())), -np.inf, dtype=np.float32)
    both[:, :k] = kept
    both[owner, k + place] = scores
    return np.partition(both, both.shape[1] - k, axis=1)[:, -k:]
