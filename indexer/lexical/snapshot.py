"""The lexical index at one moment: scores of BM25F, exact for exactly the rows that live then."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.deeds import DeedMask
from indexer.lexical.matches import Floats, LexicalMatches, Numbers
from indexer.lexical.postings import Segment
from indexer.lexical.tokens import surfaces
from indexer.traits import trait_factors

FIELDS: Final = (
    "name", "title", "namespace", "description", "parameter_names", "parameter_descriptions", "examples", "tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25FParameters:
    """Weights and length normalisation by field, in the order of `FIELDS`; design/retrieval.md, "BM25F"."""

    k1: float = 3.0
    weights: tuple[float, ...] = (2.5, 1.0, 2.0, 1.0, 0.75, 0.5, 1.0, 1.0)
    b: tuple[float, ...] = (1.0, 0.9, 1.0, 0.9, 0.5, 0.25, 0.5, 0.5)


DEFAULT_BM25F: Final = BM25FParameters()
_ROWS_TOGETHER: Final = 64
_KEPT_FACTORS: Final = 16
"""Kinds of request whose values are kept, 4 bytes a row each: most requests name one of nine deeds."""


class TermPostings(NamedTuple):
    """One term in the live rows: (p,) int32 ascending rows, (p,) float32 gains above 0, and its idf."""

    rows: npt.NDArray[np.int32]
    gains: Floats
    idf: float


_Read: TypeAlias = tuple[Numbers, npt.NDArray[np.int32], npt.NDArray[np.uint8]]
"""Of each posting its term (a position among the terms asked for), its row and its frequencies by field."""


class LexicalSnapshot:
    """The lexical index as it was at one moment: readers keep it while the writer goes on.

    What a term is worth in each row is worked out when a query first asks for it, and kept: a change makes a new
    snapshot, which starts without. Common words, the dear ones, are read a single time between two changes.
    """

    def __init__(
        self,
        *,
        parameters: BM25FParameters,
        vocabulary: Mapping[str, int],
        segments: tuple[Segment, ...],
        lengths: Floats,
        length_sums: npt.NDArray[np.float64],
        traits: npt.NDArray[np.uint16],
        alive: npt.NDArray[np.bool_],
        live: int,
    ) -> None:
        """`lengths`: (n, fields). `length_sums`: (fields,) over the live rows. `traits`: (n,), `indexer.traits` of
        each tool. `alive`: (n,)."""
        self._parameters = parameters
        self._vocabulary = vocabulary
        self._segments = segments
        self._lengths = lengths
        self._average = length_sums / max(live, 1)
        self._traits = traits
        self._alive = alive
        self.live = live
        self._known: dict[int, TermPostings] = {}
        self._factors_known: dict[DeedMask, Floats] = {}
        self._postings_read = 0

    @property
    def n_rows(self) -> int:
        return len(self._alive)

    @property
    def rarest_idf(self) -> float:
        """The idf of a word that a single live row holds."""
        return math.log1p((max(self.live, 1) - 0.5) / 1.5)

    def match(self, query: str) -> LexicalMatches:
        """Find the postings of a query, each of its terms once, and what each adds to the score."""
        found = surfaces(query)
        numbers = [self._vocabulary.get(term, -1) for term in found]
        known = self._known
        missing = [number for number in dict.fromkeys(numbers) if number not in known]
        if missing:
            known.update(zip(missing, self._work_out(missing), strict=True))
        rows, gains, idf = zip(*[known[number] for number in numbers], strict=True) if numbers else ((), (), ())
        return LexicalMatches(
            terms=tuple(found.values()),
            idf=np.array(idf, dtype=np.float32),
            ends=np.array(list(accumulate(map(len, rows))), dtype=np.int64),
            rows=np.concatenate(rows) if rows else _NO_ROWS,
            gains=np.concatenate(gains) if rows else _NO_GAINS,
            n_rows=self.n_rows,
        )

    def trait_factors(self, wanted: DeedMask) -> Floats:
        """(n_rows,) what the traits of each tool leave of its score, for a request that names these deeds."""
        factors = self._factors_known.get(wanted)
        if factors is None:
            if len(self._factors_known) >= _KEPT_FACTORS:
                self._factors_known.clear()
            factors = self._factors_known[wanted] = np.take(trait_factors(wanted), self._traits, mode="clip")
            factors.flags.writeable = False
        return factors

    def scores(self, query: str, rows: Numbers | None = None) -> Floats:
        """BM25F scores: (n_rows,), or (m,) of the rows asked for; 0 for a dead row."""
        scores = self.match(query).scores()
        return scores if rows is None else scores[rows]

    def coverage(self, query: str, rows: Numbers | None = None) -> Floats:
        """Share of the query's idf mass, 0 to 1, that stands in a row: (n_rows,), or (m,) of the rows asked for."""
        return self.match(query).coverage(np.arange(self.n_rows) if rows is None else rows)

    def matched_terms(self, query: str, row: int) -> tuple[str, ...]:
        """The words of the query that stand in a row, the rarest first."""
        matches = self.match(query)
        here = np.flatnonzero(matches.terms_in(np.array([row])))
        rarest_first: list[int] = here[np.argsort(-matches.idf[here], kind="stable")].tolist()
        return tuple(matches.terms[term] for term in rarest_first)

    # What a term is worth, row by row.

    def _work_out(self, numbers: Sequence[int]) -> list[TermPostings]:
        term, rows, frequencies = self._read(np.array(numbers, dtype=np.int64))
        if self.live < self.n_rows:
            alive = self._alive[rows]
            term, rows, frequencies = term[alive], rows[alive], frequencies[alive]
        counts = np.bincount(term, minlength=len(numbers))
        idf = np.log1p((self.live - counts + 0.5) / (counts + 0.5))
        # Several times faster than a row-wise sum of products; no BLAS, whose threads wait for busy cores.
        weighted = np.einsum("pf,pf->p", frequencies.astype(np.float32), self._factors_of(rows))
        k1 = np.float32(self._parameters.k1)
        gains = np.repeat(idf.astype(np.float32), counts) * weighted * (k1 + 1) / (k1 + weighted)
        ends = np.cumsum(counts).tolist()
        starts = [0, *ends[:-1]]
        return [
            TermPostings(rows[start:end], gains[start:end], value)
            for start, end, value in zip(starts, ends, idf.tolist(), strict=True)
        ]

    def _read(self, numbers: Numbers) -> _Read:
        """The postings of some terms, term by term, rows ascending in each: later segments hold later rows."""
        pieces: list[list[tuple[Segment, slice]]] = [[] for _ in numbers]
        for segment in self._segments:
            places = np.minimum(np.searchsorted(segment.terms, numbers), len(segment.terms) - 1)
            known = np.flatnonzero(segment.terms[places] == numbers)
            bounds = zip(
                segment.starts[places[known]].tolist(), segment.starts[places[known] + 1].tolist(), strict=True
            )
            for term, (start, end) in zip(known.tolist(), bounds, strict=True):
                pieces[term].append((segment, slice(start, end)))
        found = [piece for term in pieces for piece in term]
        if not found:
            return _NO_POSTINGS
        counts = [sum(where.stop - where.start for _, where in term) for term in pieces]
        return (
            np.repeat(np.arange(len(numbers)), counts),
            np.concatenate([segment.rows[where] for segment, where in found]),
            np.concatenate([segment.frequencies[where] for segment, where in found]),
        )

    def _factors_of(self, rows: npt.NDArray[np.int32]) -> Floats:
        """(p, fields) float32: weight over length normalisation.

        A catalog that changes between searches has them made for the rows that are read; one that rests, once for all.
        """
        self._postings_read += len(rows)
        if self._postings_read < self.n_rows:
            return self._factors(np.take(self._lengths, rows, axis=0, mode="clip"))
        return np.take(self._all_factors, rows, axis=0, mode="clip")

    @cached_property
    def _all_factors(self) -> Floats:
        return self._factors(self._lengths)

    def _factors(self, lengths: Floats) -> Floats:
        b = np.asarray(self._parameters.b, dtype=np.float32)
        slope = b / np.maximum(self._average, 1e-9).astype(np.float32)
        weights = np.asarray(self._parameters.weights, dtype=np.float32)
        rows, fields = lengths.shape
        # Several rows are one to numpy, whose loops over the fields of a single one are too short to be fast.
        together = np.empty((-(-rows // _ROWS_TOGETHER), _ROWS_TOGETHER * fields), dtype=np.float32)
        norms = together.reshape(-1, fields)
        norms[rows:] = 1.0
        # A field of length 0 holds no term; with b = 1 its factor would be a division by zero.
        np.maximum(lengths, np.float32(1.0), out=norms[:rows])
        together *= np.tile(slope, _ROWS_TOGETHER)
        together += np.tile(1.0 - b, _ROWS_TOGETHER)
        np.divide(np.tile(weights, _ROWS_TOGETHER), together, out=together)
        return norms[:rows]


_NO_ROWS: Final = np.empty(0, dtype=np.int32)
_NO_GAINS: Final = np.empty(0, dtype=np.float32)
_NO_POSTINGS: Final[_Read] = (np.empty(0, dtype=np.int64), _NO_ROWS, np.empty((0, len(FIELDS)), dtype=np.uint8))
