"""Approximate search where an operator allows it: one bit a dimension finds candidates, whose scores are then exact.

The bits are the signs of the vectors after a random rotation; the share of bits in which two vectors differ estimates
the angle between them (Charikar, Similarity estimation techniques from rounding algorithms, 2002). 32 bytes are read of
a row of 1,024. How many candidates a recall takes is measured on the catalog itself. Figures: design/speed.md.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from indexer.batch_search import batch_top_k
from indexer.matrix import DEAD_SCORE, Floats, Rows, TopK, block_top_k, dot_scores, gathered_scores

_WORD: Final = 64
_BLOCK_ROWS: Final = 32_768  # their differing bits stay in cache
_THRESHOLD_SAMPLE: Final = 16_384
_RECALL_QUERIES: Final = 64
_RECALL_RESULTS: Final = 10
_LEAST_RESCORED: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class SignBits:
    """The bits of the first `n_rows` rows of a matrix, good for as long as those rows do not change.

    `rotation`: (d, bits) float32. `words`: (bits / 64, n_rows) uint64, a column for each row, so that each pass reads
    memory in order.
    """

    rotation: Floats
    words: npt.NDArray[np.uint64]

    @property
    def n_rows(self) -> int:
        return self.words.shape[1]

    @property
    def nbytes(self) -> int:
        return self.rotation.nbytes + self.words.nbytes

    def distances(self, query: Floats) -> npt.NDArray[np.uint16]:
        """(n_rows,) in how many bits each row differs from a (d,) query."""
        signs = _pack(query[None], self.rotation)[:, 0]
        distances = np.zeros(self.n_rows, dtype=np.uint16)
        differing = np.empty(min(_BLOCK_ROWS, self.n_rows), dtype=np.uint64)
        counts = np.empty(len(differing), dtype=np.uint8)
        for start in range(0, self.n_rows, _BLOCK_ROWS):
            total = distances[start : start + _BLOCK_ROWS]
            size = len(total)
            for column, word in zip(self.words[:, start : start + size], signs, strict=True):
                np.bitwise_xor(column, word, out=differing[:size])
                np.bitwise_count(differing[:size], out=counts[:size])
                np.add(total, counts[:size], out=total)
        return distances


def build_sign_bits(vectors: Floats, *, seed: int = 0) -> SignBits:
    """The bits of (n, d) rows as they are now: d of them, rounded up to a multiple of 64."""
    n_rows, dimensions = vectors.shape
    bits = -(-dimensions // _WORD) * _WORD
    # Orthonormal rows where there are as many bits as dimensions, a tight frame where there are more.
    gaussian = np.random.default_rng(seed).standard_normal((bits, dimensions))
    rotation = np.ascontiguousarray(np.linalg.qr(gaussian)[0].T, dtype=np.float32)
    words = np.empty((bits // _WORD, n_rows), dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK_ROWS):
        words[:, start : start + _BLOCK_ROWS] = _pack(vectors[start : start + _BLOCK_ROWS], rotation)
    return SignBits(rotation=rotation, words=words)


def bits_top_k(
    vectors: Floats, bits: SignBits, query: Floats, k: int, *, rescore: int, penalty: Floats | None = None
) -> TopK:
    """The k best of the `rescore` rows or so whose bits are nearest to those of a (d,) query, with exact scores.

    `vectors`: (n, d), the rows of the bits and any that were appended since, all of which are scored. `penalty`: (n,)
    added to the scores, 0 or `TOMBSTONE`.
    """
    distances = bits.distances(query)
    wanted = max(rescore, k)
    rows = _nearest(distances, wanted)
    if penalty is not None:
        rows = rows[penalty[rows] == 0]
        if len(rows) < wanted // 2:
            # The hidden rows have taken the places of others.
            distances[penalty[: bits.n_rows] != 0] = np.iinfo(np.uint16).max
            rows = _nearest(distances, wanted)
    rows = np.concatenate((rows, np.arange(bits.n_rows, len(vectors))))
    known = len(rows) - (len(vectors) - bits.n_rows)
    scores = np.concatenate((gathered_scores(vectors, rows[:known], query), dot_scores(vectors[bits.n_rows :], query)))
    if penalty is not None:
        scores += penalty[rows]
    best = block_top_k(scores, k)
    best = best[scores[best] > DEAD_SCORE]
    return TopK(rows[best], scores[best])


def rescore_for(vectors: Floats, bits: SignBits, recall: float, *, seed: int = 0) -> int:
    """How many rows must be scored exactly so that this share of the ten best is found, measured on the rows' own kind.

    `recall`: above 0 and below 1. Half of what it allows to be missed is kept in reserve, because real queries are not
    the sums of three rows that are asked here; a second for a million rows.
    """
    n_rows = bits.n_rows
    if n_rows <= _LEAST_RESCORED:
        return n_rows
    draws = np.random.default_rng(seed).integers(0, n_rows, (3, _RECALL_QUERIES))
    queries = vectors[draws].sum(axis=0)
    norms = np.linalg.norm(queries, axis=1, keepdims=True)
    queries = np.divide(queries, norms, out=np.zeros_like(queries), where=norms > 0)
    nearest = batch_top_k(vectors[:n_rows], queries, _RECALL_RESULTS).rows
    depths: list[Rows] = []
    for query, rows in zip(queries, nearest, strict=True):
        distances = bits.distances(query)
        below = np.cumsum(np.bincount(distances, minlength=int(distances.max()) + 1))
        depths.append(below[distances[rows[rows >= 0]]])
    depth = int(np.quantile(np.concatenate(depths), (1 + recall) / 2))
    return max(_LEAST_RESCORED, depth)


def _nearest(distances: npt.NDArray[np.uint16], wanted: int) -> Rows:
    """About so many rows of the least distances, ascending; the threshold is read off a sample."""
    if wanted >= len(distances):
        return np.arange(len(distances))
    step = max(1, len(distances) // _THRESHOLD_SAMPLE)
    counts = np.bincount(distances[::step])
    threshold = int(np.searchsorted(np.cumsum(counts) * step, wanted))
    rows = np.flatnonzero(distances <= threshold)
    if len(rows) > 2 * wanted:  # many rows that look alike: the lowest first, as everywhere
        order = np.argsort(distances[rows], kind="stable")[:wanted]
        rows = np.sort(rows[order])
    return rows


def _pack(vectors: Floats, rotation: Floats) -> npt.NDArray[np.uint64]:
    """(bits / 64, n) words of the signs of (n, d) vectors."""
    signs = np.packbits(vectors @ rotation > 0, axis=1)
    return np.ascontiguousarray(signs.view(np.uint64).T)
