"""BM25 over the tools of a view: what several of the baselines rank with.

k1 = 1.5 and b = 0.75, the usual values (Robertson and Zaragoza, 2009); words are runs of letters and digits in lower
case. Document frequencies and mean length are those of the view, as if it had an index of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from gateway.bench.tokens.catalog import CatalogView

_K1: Final = 1.5
_B: Final = 0.75
_WORD: Final = re.compile(r"[^\W_]+")


class ViewBm25:
    """Postings of a whole catalog, scored for one view at a time."""

    def __init__(self, texts: Iterable[str]) -> None:
        bags = [Counter(words(text)) for text in texts]
        self._lengths = np.array([bag.total() for bag in bags], dtype=np.float64)
        rows: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        for row, bag in enumerate(bags):
            for term, count in bag.items():
                rows.setdefault(term, []).append(row)
                counts.setdefault(term, []).append(count)
        self._postings = {
            term: (np.array(rows[term], dtype=np.int64), np.array(counts[term], dtype=np.float64)) for term in rows
        }

    def rank(self, query: str, view: CatalogView, k: int) -> list[int]:
        """Rows of the view with the k highest scores above zero, best first, the lower row first among equals."""
        scores: npt.NDArray[np.float64] = np.zeros(len(self._lengths))
        mean = max(float(self._lengths[view.rows].mean()), 1.0) if view.size else 1.0
        for term in dict.fromkeys(words(query)):
            if term not in self._postings:
                continue
            rows, counts = self._postings[term]
            inside = view.mask[rows]
            rows, counts = rows[inside], counts[inside]
            idf = np.log1p((view.size - len(rows) + 0.5) / (len(rows) + 0.5))
            norms = _K1 * (1 - _B + _B * self._lengths[rows] / mean)
            scores[rows] += idf * counts * (_K1 + 1) / (counts + norms)
        found = np.flatnonzero(scores)
        return [int(row) for row in found[np.argsort(-scores[found], kind="stable")[:k]]]


def words(text: str) -> Sequence[str]:
    """Runs of letters and digits, in lower case."""
    return _WORD.findall(text.lower())
