"""Vectors that are hard on a search: ties, zeros, one direction only, widths that fit no word."""

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from indexer.top_k import DEAD_SCORE, TOMBSTONE, Floats, TopK, block_top_k, dot_scores

KINDS = ("spread", "clusters", "equal", "duplicates", "some zero", "plane", "opposites")


def unit(vectors: npt.NDArray[np.float64]) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0).astype(np.float32)


def rows_of_kind(kind: str, rows: int, dimensions: int, seed: int) -> Floats:
    """(rows, dimensions) unit or zero rows."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((rows, dimensions))
    match kind:
        case "clusters":
            vectors = 0.2 * vectors + vectors[random.integers(0, min(5, rows), rows)] if rows else vectors
        case "equal":
            vectors[:] = vectors[:1]
        case "duplicates":
            vectors = vectors[random.integers(0, rows, rows)] if rows else vectors
        case "some zero":
            vectors[random.random(rows) < 0.3] = 0
        case "plane":
            vectors[:, 2:] = 0
        case "opposites":
            vectors = np.outer(random.choice([-1.0, 1.0], rows), random.standard_normal(dimensions))
        case _:
            pass
    return unit(vectors)


def some_penalty(rows: int, share_hidden: float, seed: int) -> Floats:
    """(rows,) penalties that hide about this share."""
    hidden = np.random.default_rng(seed).random(rows) < share_hidden
    return np.where(hidden, TOMBSTONE, np.float32(0)).astype(np.float32)


def plain_top_k(vectors: Floats, query: Floats, k: int, penalty: Floats | None = None) -> TopK:
    """What one scan finds."""
    scores = dot_scores(vectors, query)
    if penalty is not None:
        scores = scores + penalty
    best = block_top_k(scores, k)
    best = best[scores[best] > DEAD_SCORE]
    return TopK(best, scores[best])


def exact_scores(vectors: Floats, query: Floats) -> npt.NDArray[np.float64]:
    return vectors.astype(np.float64) @ query.astype(np.float64)


kinds = st.sampled_from(KINDS)
seeds = st.integers(0, 10_000)
widths = st.sampled_from([1, 3, 8, 50, 64, 100])
hidden_shares = st.sampled_from([None, 0.0, 0.2, 0.95, 1.0])
