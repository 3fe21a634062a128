"""Where the scale of a query's cosines begins: from what a catalog's vectors look like as a whole.

The lowest of all cosines would say nearly the same, but finding it means reading every row; and in a large catalog it
lies lower than in a small one. What it is worth: design/retrieval.md, "Fusion".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

DEVIATIONS: Final = np.float32(2.0)
"""How many standard deviations below the mean the scale begins."""
_SAMPLE_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class CosineScale:
    """Mean (d,) and covariance (d, d) of a catalog's vectors, float32."""

    mean: Floats
    covariance: Floats

    def low(self, query: Floats) -> np.float32:
        """Two standard deviations below the mean cosine of all rows with a (d,) query."""
        variance = max(np.vecdot(np.vecdot(self.covariance, query), query), np.float32(0))
        return np.float32(np.vecdot(self.mean, query) - DEVIATIONS * np.sqrt(variance))


def cosine_scale(vectors: Floats, live: npt.NDArray[np.int64]) -> CosineScale:
    """The scale of the live ones, at least one, of (n, d) rows; of very many, evenly spaced ones stand for all."""
    rows = vectors[live[:: -(-len(live) // _SAMPLE_ROWS)]].astype(np.float64)
    mean = rows.mean(axis=0)
    rows -= mean
    return CosineScale(mean.astype(np.float32), (rows.T @ rows / len(rows)).astype(np.float32))
