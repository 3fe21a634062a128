"""Where the words of one query stand, and what they are worth there."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]
RowTerms: TypeAlias = npt.NDArray[np.bool_]
"""(t, m): whether a term stands in a row."""


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """The postings of a query's terms, one term after the other; of live rows only.

    `terms`: distinct terms as written in the query. `idf`: (t,) float32. `ends`: (t,) where each term's postings end.
    `rows`: (p,) int32, ascending in each term. `gains`: (p,) float32, what a posting adds to a BM25F score, above 0.
    """

    terms: tuple[str, ...]
    idf: Floats
    ends: Numbers
    rows: npt.NDArray[np.int32]
    gains: Floats
    n_rows: int

    def scores(self) -> Floats:
        """(n_rows,) BM25F scores, 0 where no term stands."""
        return np.bincount(self.rows, weights=self.gains, minlength=self.n_rows).astype(np.float32)

    def terms_in(self, rows: Numbers) -> RowTerms:
        """Which terms stand in which of (m,) distinct rows."""
        wanted = rows.astype(np.int32)
        found = np.zeros((len(self.ends), len(rows)), dtype=np.bool_)
        start = 0
        for here, end in zip(found, self.ends.tolist(), strict=True):
            if start < end:
                own = self.rows[start:end]
                np.equal(own.take(own.searchsorted(wanted), mode="clip"), wanted, out=here)
            start = end
        return found

    def coverage(self, rows: Numbers) -> Floats:
        """Share of the query's idf mass that stands in each of (m,) distinct rows, 0 to 1."""
        return self.mass_of(self.terms_in(rows))

    def mass_of(self, found: RowTerms) -> Floats:
        """As `coverage`, from the terms of the rows."""
        total = float(np.add.reduce(self.idf))
        if total <= 0.0:
            return np.zeros(len(found.T), dtype=np.float32)
        return (self.idf.astype(np.float64) @ found / total).astype(np.float32)

    def coverage_of(self, row: int) -> float:
        """As `coverage`, of one row."""
        total = float(np.add.reduce(self.idf))
        postings: Numbers = (self.rows == row).nonzero()[0]
        here: Numbers = self.ends.searchsorted(postings, side="right")
        return float(np.add.reduce(self.idf[here])) / total if total > 0.0 else 0.0
