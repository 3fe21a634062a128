"""Dot products of rows with a query, and the best of them: pure functions on stated arrays, the hot path of a search.

Figures behind the choices (vecdot against GEMV, block maxima, gathers and runs): design/speed.md, "Dense search".
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Rows: TypeAlias = npt.NDArray[np.int64]
"""Row ids; where they filter they are sorted ascending and distinct."""

TOMBSTONE: Final = np.float32(-4.0)
"""Added to the score of a row nobody may find: cosines lie in [-1, 1], so no live row comes below it."""
DEAD_SCORE: Final = np.float32(-2.0)
"""What does not lie above it was taken out by a penalty."""

_GATHER_ROWS: Final = 1024  # one block of a gather stays in L2
_GATHERED_WHOLE: Final = 256  # so few rows are gathered before their runs are found
_WORTHWHILE_RUN: Final = 64  # rows of a run, on average, from which reading runs beats gathering rows
_LEAST_BLOCKS: Final = 1024
_MOST_IN_BLOCK: Final = 256
_SORTED_WHOLE: Final = 512  # so few scores are sorted as quickly as the best of them are picked first


class TopK(NamedTuple):
    """The best rows, best first; of equal scores the lower row first."""

    rows: Rows
    scores: Floats


def dot_scores(vectors: Floats, query: Floats) -> Floats:
    """(n,) dot products of (n, d) C-contiguous rows with a (d,) query.

    By `vecdot`, which reads memory at full speed. `vectors @ query` is 10 microseconds faster below 2 MB, and above as
    fast or 2.5 times slower, by the machine; at any size it hands the work to BLAS threads, which wait for each other
    when the cores are busy, and it may round a row otherwise among others than alone.
    """
    return np.vecdot(vectors, query)


def rounding_error(terms: int) -> float:
    """How far a float32 dot product of `terms` terms may lie from the true one, for factors of norms up to 1.

    (terms + 4) u / (1 - (terms + 4) u), u = 2^-24, whatever the order of summation (Higham, Accuracy and Stability of
    Numerical Algorithms, section 3.1); the 4 are for rows whose norm is 1 but for rounding.
    """
    units = (terms + 4) * 2.0**-24
    return units / (1 - units)


def gathered_scores(vectors: Floats, rows: Rows, query: Floats) -> Floats:
    """(m,) dot products of the chosen rows (ascending, distinct), runs of neighbours read where they lie.

    A compacted catalog holds the rows of a tenant, and of a namespace, side by side. Rows on their own are gathered
    block by block into one buffer that stays in cache.
    """
    count = len(rows)
    if count and int(rows[-1]) - int(rows[0]) + 1 == count:
        first = int(rows[0])
        return dot_scores(vectors[first : first + count], query)
    if count <= _GATHERED_WHOLE:
        return np.vecdot(vectors.take(rows, axis=0), query)
    scores = np.empty(count, dtype=np.float32)
    starts = np.flatnonzero(np.diff(rows) != 1) + 1
    if len(starts) * _WORTHWHILE_RUN < count:
        bounds = [0, *starts.tolist(), count]
        for start, end in zip(bounds[:-1], bounds[1:], strict=True):
            first = int(rows[start])
            np.vecdot(vectors[first : first + end - start], query, out=scores[start:end])
        return scores
    buffer = np.empty((min(_GATHER_ROWS, count), vectors.shape[1]), dtype=np.float32)
    for start in range(0, count, _GATHER_ROWS):
        block = rows[start : start + _GATHER_ROWS]
        gathered = buffer[: len(block)]
        # mode="clip" lets numpy write into the buffer without a checked copy; rows are valid by contract.
        np.take(vectors, block, axis=0, out=gathered, mode="clip")
        np.vecdot(gathered, query, out=scores[start : start + len(block)])
    return scores


def block_top_k(scores: Floats, k: int) -> Rows:
    """Positions of the k highest of (n,) scores, highest first, lower position first among equals; exact.

    The k-th highest of many block maxima is a bound that the k best reach. A block is every `width`-th score: maxima
    of such blocks are taken element by element, with SIMD; those of neighbours are reductions of many short rows.
    """
    k = min(k, len(scores))
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    candidates = top_candidates(scores, k)
    return _sorted_top_k(scores if len(candidates) == len(scores) else scores[candidates], candidates, k)


def top_candidates(scores: Floats, k: int) -> Rows:
    """Positions, ascending, of at least the k highest of (n,) scores and of few others; every one where n is small."""
    count = len(scores)
    width = max(_LEAST_BLOCKS, 8 * k, count // _MOST_IN_BLOCK)
    if 2 * width > count:
        return np.arange(count, dtype=np.int64)
    # Here and below no function of numpy's written in Python: in a small catalog they take longer than what they do.
    maxima = np.maximum.reduce(scores[: count - count % width].reshape(-1, width))
    maxima.partition(width - k)
    # Ties at the bound are all looked at, so that the lowest rows win.
    return (scores >= maxima[width - k]).nonzero()[0]


def _sorted_top_k(scores: Floats, positions: Rows, k: int) -> Rows:
    """The k best of `positions` (ascending), whose scores stand beside them."""
    if len(scores) <= _SORTED_WHOLE:
        return positions[(-scores).argsort(kind="stable")[:k]]
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        level = np.flatnonzero(scores == threshold)[: k - len(above)]
        chosen = np.sort(np.concatenate((above, level)))
    else:
        chosen = np.arange(len(scores))
    order = np.argsort(-scores[chosen], kind="stable")
    return positions[chosen[order]]
