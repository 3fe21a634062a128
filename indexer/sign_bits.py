"""Approximate search where an operator allows it: one bit a dimension finds candidates, whose scores are then exact.

The bits are the signs of the vectors after a random rotation; the share of bits in which two vectors differ estimates
the angle between them (Charikar, Similarity estimation techniques from rounding algorithms, 2002). 32 bytes are read of
a row of 1,024. How many candidates a recall takes is measured on the catalog itself. Figures: design/speed.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from indexer.batch_search import batch_top_k
from indexer.errors import CorruptSnapshotError
from indexer.top_k import DEAD_SCORE, Floats, Rows, TopK, block_top_k, dot_scores, gathered_scores

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
    memory in order. `recall`: of the ten best, what `rescore` rows scored exactly are enough for; 0 where that was not
    measured.
    """

    rotation: Floats
    words: npt.NDArray[np.uint64]
    recall: float = 0.0
    rescore: int = 0

    @property
    def n_rows(self) -> int:
        return self.words.shape[1]

    @property
    def dimensions(self) -> int:
        return len(self.rotation)

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

    def cosines(self, query: Floats) -> Floats:
        """(n_rows,) what the bits say of each row's cosine with a (d,) query: cos(pi x share of bits that differ)."""
        angles = np.linspace(0, np.pi, len(self.words) * _WORD + 1)
        return np.take(np.cos(angles).astype(np.float32), self.distances(query), mode="clip")

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file."""
        return {"rotation": self.rotation, "words": self.words, "measured": np.array([self.recall, self.rescore])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "SignBits":
        """Take over a copy of what `to_arrays` gave. Raises: CorruptSnapshotError."""
        try:
            rotation, words = np.array(arrays["rotation"]), np.array(arrays["words"])
            recall, rescore = arrays["measured"].tolist()
        except (KeyError, ValueError, TypeError) as error:
            raise CorruptSnapshotError(f"the snapshot's sign bits cannot be read: {error!r}") from error
        if words.ndim != 2 or rotation.shape[1:] != (len(words) * _WORD,):
            raise CorruptSnapshotError(f"sign bits of shapes {rotation.shape} and {words.shape} do not fit")
        return cls(rotation=rotation, words=words, recall=recall, rescore=int(rescore))


def build_sign_bits(vectors: Floats, *, seed: int = 0, recall: float = 0.0) -> SignBits:
    """The bits of (n, d) rows as they are now: d of them, rounded up to a multiple of 64.

    `recall`: measure as well how many rows must be scored exactly for it.
    """
    n_rows, dimensions = vectors.shape
    bits = -(-dimensions // _WORD) * _WORD
    # Orthonormal rows where there are as many bits as dimensions, a tight frame where there are more.
    gaussian = np.random.default_rng(seed).standard_normal((bits, dimensions))
    rotation = np.ascontiguousarray(np.linalg.qr(gaussian)[0].T, dtype=np.float32)
    words = np.empty((bits // _WORD, n_rows), dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK_ROWS):
        words[:, start : start + _BLOCK_ROWS] = _pack(vectors[start : start + _BLOCK_ROWS], rotation)
    bits_alone = SignBits(rotation=rotation, words=words)
    if not recall:
        return bits_alone
    return replace(bits_alone, recall=recall, rescore=rescore_for(vectors, bits_alone, recall, seed=seed))


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


def likely_top_k(
    estimates: Floats, exact: Callable[[Rows], Floats], k: int, *, rescore: int, above: float = -np.inf
) -> TopK:
    """The k best, above a value, of the `rescore` rows or so that are best by (n,) estimates of their scores.

    `exact`: the scores of ascending rows.
    """
    wanted = max(rescore, k)
    rows = np.arange(len(estimates))
    if wanted < len(estimates):
        sample = estimates[:: max(1, len(estimates) // _THRESHOLD_SAMPLE)]
        place = len(sample) - max(1, wanted * len(sample) // len(estimates))
        rows = _no_more(np.flatnonzero(estimates >= np.partition(sample, place)[place]), -estimates, wanted)
    scores = exact(rows)
    best = block_top_k(scores, k)
    best = best[scores[best] > above]
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
    return _no_more(np.flatnonzero(distances <= threshold), distances, wanted)


def _no_more(rows: Rows, distances: npt.NDArray[Any], wanted: int) -> Rows:
    """The rows, or the nearest `wanted` where far more of them look alike; the lowest first, as everywhere."""
    if len(rows) <= 2 * wanted:
        return rows
    return np.sort(rows[np.argsort(distances[rows], kind="stable")[:wanted]])


def _pack(vectors: Floats, rotation: Floats) -> npt.NDArray[np.uint64]:
    """(bits / 64, n) words of the signs of (n, d) vectors."""
    signs = np.packbits(vectors @ rotation > 0, axis=1)
    return np.ascontiguousarray(signs.view(np.uint64).T)
