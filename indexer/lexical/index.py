"""The lexical half of the catalog: adding, removing and scoring tools by their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.document import ToolDocument
from indexer.errors import CorruptSnapshotError
from indexer.lexical.postings import Segment, build_segment, merge_segments, renumbered
from indexer.lexical.tokens import analyse, chunks, surfaces

Floats: TypeAlias = npt.NDArray[np.float32]
Rows: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Postings: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.uint8]]
"""Of each posting its term (a position in the query), its row and its frequencies by field."""

FIELDS: Final = (
    "name", "title", "namespace", "description", "parameter_names", "parameter_descriptions", "examples", "tags",
)  # fmt: skip

_FIELD_CHUNKS: Final = 400
"""Words of a field that are indexed: some parameter texts run to tens of thousands."""
_FLUSH_TOKENS: Final = 1 << 18
_CHUNK_CACHE: Final = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25FParameters:
    """Weights and length normalisation by field, in the order of `FIELDS`; design/retrieval.md, "BM25F"."""

    k1: float = 3.0
    weights: tuple[float, ...] = (2.5, 1.0, 2.0, 1.0, 0.75, 0.5, 1.0, 1.0)
    b: tuple[float, ...] = (1.0, 0.9, 1.0, 0.9, 0.5, 0.25, 0.5, 0.5)


DEFAULT_BM25F: Final = BM25FParameters()


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """Where the terms of one query stand, postings of all of them one after the other.

    `terms`: distinct terms as written in the query. `idf`: (t,) float32. `term`: (p,) index into `terms`.
    `rows`: (p,) int32. `frequencies`: (p, fields) uint8. `gains`: (p,) float32, what a posting adds to a BM25F score.
    """

    terms: tuple[str, ...]
    idf: Floats
    term: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    frequencies: npt.NDArray[np.uint8]
    gains: Floats
    n_rows: int

    def scores(self) -> Floats:
        """(n_rows,) BM25F scores, 0 where no term stands."""
        return np.bincount(self.rows, weights=self.gains, minlength=self.n_rows).astype(np.float32)

    def coverage(self) -> Floats:
        """(n_rows,) share of the query's idf mass that stands in a row, 0 to 1."""
        total = float(self.idf.sum())
        if total <= 0.0 or len(self.rows) == 0:
            return np.zeros(self.n_rows, dtype=np.float32)
        mass = self.idf[self.term] * (self.gains > 0)  # a dead row gains nothing
        return (np.bincount(self.rows, weights=mass, minlength=self.n_rows) / total).astype(np.float32)

    def coverage_of(self, row: int) -> float:
        """As `coverage`, of one row."""
        total = float(self.idf.sum())
        here = self.term[(self.rows == row) & (self.gains > 0)]
        return float(self.idf[here].sum()) / total if total > 0.0 else 0.0


class LexicalSnapshot:
    """The lexical index as it was at one moment: readers keep it while the writer goes on."""

    def __init__(
        self,
        *,
        parameters: BM25FParameters,
        vocabulary: Mapping[str, int],
        segments: tuple[Segment, ...],
        lengths: Floats,
        alive: npt.NDArray[np.bool_],
        live: int,
    ) -> None:
        self._parameters = parameters
        self._vocabulary = vocabulary
        self._segments = segments
        self._lengths = lengths
        self._alive = alive
        self.live = live

    @property
    def n_rows(self) -> int:
        return len(self._alive)

    @cached_property
    def _factors(self) -> Floats:
        """(n, fields) float32: weight over length normalisation, 0 for dead rows."""
        parameters = self._parameters
        average = self._lengths[self._alive].sum(axis=0, dtype=np.float64) / max(self.live, 1)
        b = np.asarray(parameters.b, dtype=np.float32)
        slope = b / np.maximum(average, 1e-9).astype(np.float32)
        # A field of length 0 holds no term; with b = 1 its factor would be a division by zero.
        norms = 1.0 - b + slope * np.maximum(self._lengths, 1.0)
        factors = np.asarray(parameters.weights, dtype=np.float32) / norms
        factors[~self._alive] = 0.0
        return factors

    def match(self, query: str) -> LexicalMatches:
        """Find the postings of a query, each of its terms once, and what each adds to the score."""
        found = surfaces(query)
        ids = np.array([self._vocabulary.get(term, -1) for term in found], dtype=np.int64)
        term, rows, frequencies = self._postings(ids)
        # Several times faster than fancy indexing and a row-wise sum; no BLAS, whose threads wait for busy cores.
        factors = np.take(self._factors, rows, axis=0, mode="clip")
        gains = np.einsum("pf,pf->p", frequencies.astype(np.float32), factors)
        present = gains > 0 if self.live < self.n_rows else None
        document_frequency = np.bincount(term, weights=present, minlength=len(found))
        idf = np.log1p((self.live - document_frequency + 0.5) / (document_frequency + 0.5)).astype(np.float32)
        k1 = self._parameters.k1
        gains = np.asarray(idf[term] * gains * (k1 + 1) / (k1 + gains), dtype=np.float32)
        return LexicalMatches(tuple(found.values()), idf, term, rows, frequencies, gains, self.n_rows)

    def scores(self, query: str, rows: Rows | None = None) -> Floats:
        """BM25F scores: (n_rows,), or (m,) of the rows asked for; 0 for a dead row."""
        scores = self.match(query).scores()
        return scores if rows is None else scores[rows]

    def coverage(self, query: str, rows: Rows | None = None) -> Floats:
        """Share of the query's idf mass, 0 to 1, that stands in a row: (n_rows,), or (m,) of the rows asked for."""
        coverage = self.match(query).coverage()
        return coverage if rows is None else coverage[rows]

    def matched_terms(self, query: str, row: int) -> tuple[str, ...]:
        """The words of the query that stand in a row, the rarest first."""
        matches = self.match(query)
        here = matches.term[(matches.rows == row) & (matches.gains > 0)]
        rarest_first: list[int] = here[np.argsort(-matches.idf[here], kind="stable")].tolist()
        return tuple(dict.fromkeys(matches.terms[index] for index in rarest_first))

    def _postings(self, ids: npt.NDArray[np.int64]) -> Postings:
        found = [self._segment_postings(segment, ids) for segment in self._segments]
        if len(found) == 1:
            return found[0]
        if not found:
            return _NO_POSTINGS
        term, rows, frequencies = zip(*found, strict=True)
        return np.concatenate(term), np.concatenate(rows), np.concatenate(frequencies)

    @staticmethod
    def _segment_postings(segment: Segment, ids: npt.NDArray[np.int64]) -> Postings:
        places = np.minimum(np.searchsorted(segment.terms, ids), len(segment.terms) - 1)
        known = np.flatnonzero(segment.terms[places] == ids)
        starts = segment.starts[places[known]]
        counts = segment.starts[places[known] + 1] - starts
        shifts = starts - np.cumsum(counts) + counts
        where = np.arange(int(counts.sum())) + np.repeat(shifts, counts)
        rows = np.take(segment.rows, where, mode="clip")
        return np.repeat(known, counts), rows, np.take(segment.frequencies, where, axis=0, mode="clip")


class LexicalIndex:
    """Incremental BM25F: one writer, any number of readers of its snapshots; rows are numbered as `VectorMatrix` does.

    Raw frequencies and lengths are kept; idf and average lengths are taken when a query is scored, so that scores
    are those of an index built afresh after any change.
    """

    def __init__(self, parameters: BM25FParameters = DEFAULT_BM25F) -> None:
        self.parameters = parameters
        self._vocabulary: dict[str, int] = {}
        self._chunk_ids: dict[str, tuple[int, ...]] = {}
        self._segments: list[Segment] = []
        self._pending_terms: list[int] = []
        self._pending_lengths: list[list[int]] = []
        self._lengths: Floats = np.empty((0, len(FIELDS)), dtype=np.float32)
        self._alive: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._rows = 0
        self._dead = 0
        self._snapshot: LexicalSnapshot | None = None

    @property
    def n_rows(self) -> int:
        return self._rows + len(self._pending_lengths)

    @property
    def dead(self) -> int:
        """How many rows were removed."""
        return self._dead

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; the vocabulary comes on top, some 100 bytes a term."""
        return sum(segment.nbytes for segment in self._segments) + self._lengths.nbytes + self._alive.nbytes

    def add(self, documents: Sequence[ToolDocument]) -> range:
        """Add tools; the row ids they got. The next snapshot shows them."""
        first = self.n_rows
        for document in documents:
            self._pending_lengths.append([self._take(getattr(document, name)) for name in FIELDS])
            if len(self._pending_terms) >= _FLUSH_TOKENS:
                self._flush()
        self._snapshot = None
        return range(first, self.n_rows)

    def remove(self, rows: Rows) -> None:
        """Take rows out of every later snapshot, of idf and of average lengths; ids are not used again."""
        if len(rows) == 0:
            return
        self._flush()
        alive = self._alive.copy()  # snapshots hold the old one
        alive[rows] = False
        self._alive = alive
        self._dead = self._rows - int(np.count_nonzero(alive[: self._rows]))
        self._snapshot = None

    def snapshot(self) -> LexicalSnapshot:
        """What is there now, unmoved by later writes."""
        self._flush()
        if self._snapshot is None:
            self._snapshot = LexicalSnapshot(
                parameters=self.parameters,
                vocabulary=self._vocabulary,  # it only grows; terms that came later have no postings here
                segments=tuple(self._segments),
                lengths=self._lengths[: self._rows],
                alive=self._alive[: self._rows],
                live=self._rows - self._dead,
            )
        return self._snapshot

    def scores(self, query: str, rows: Rows | None = None) -> Floats:
        """As `LexicalSnapshot.scores`, of this moment."""
        return self.snapshot().scores(query, rows)

    def coverage(self, query: str, rows: Rows | None = None) -> Floats:
        """As `LexicalSnapshot.coverage`, of this moment."""
        return self.snapshot().coverage(query, rows)

    def matched_terms(self, query: str, row: int) -> tuple[str, ...]:
        """As `LexicalSnapshot.matched_terms`, of this moment."""
        return self.snapshot().matched_terms(query, row)

    def compacted(self, keep_rows: Rows) -> "LexicalIndex":
        """A new index of these rows (ascending, all live); the old one and its snapshots stay as they are."""
        self._flush()
        new_rows = np.full(self._rows, -1, dtype=np.int32)
        new_rows[keep_rows] = np.arange(len(keep_rows), dtype=np.int32)
        index = LexicalIndex(self.parameters)
        index._vocabulary = dict(self._vocabulary)
        index._chunk_ids = dict(self._chunk_ids)
        kept = renumbered(merge_segments(self._segments), new_rows) if self._segments else _EMPTY
        index._segments = [kept] if len(kept.rows) else []
        index._lengths = self._lengths[keep_rows]
        index._alive = np.ones(len(keep_rows), dtype=np.bool_)
        index._rows = len(keep_rows)
        return index

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file, vocabulary included."""
        self._flush()
        segment = merge_segments(self._segments) if self._segments else _EMPTY
        words = "\n".join(self._vocabulary).encode("utf-8")
        return {
            "terms": segment.terms,
            "starts": segment.starts,
            "rows": segment.rows,
            "frequencies": segment.frequencies,
            "lengths": self._lengths[: self._rows],
            "alive": self._alive[: self._rows],
            "vocabulary": np.frombuffer(words, dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, parameters: BM25FParameters = DEFAULT_BM25F) -> "LexicalIndex":
        """Take over what `to_arrays` gave; read-only memory maps are served as they are.

        Raises: CorruptSnapshotError.
        """
        try:
            segment = Segment(*(arrays[name] for name in ("terms", "starts", "rows", "frequencies")))
            lengths, alive, words = arrays["lengths"], arrays["alive"], arrays["vocabulary"].tobytes().decode("utf-8")
        except (KeyError, UnicodeDecodeError) as error:
            raise CorruptSnapshotError(f"lexical snapshot cannot be read: {error}") from error
        index = cls(parameters)
        index._vocabulary = {word: number for number, word in enumerate(words.split("\n"))} if words else {}
        _check(segment, lengths, alive, len(index._vocabulary))
        index._segments = [segment] if len(segment.rows) else []
        index._lengths, index._alive, index._rows = lengths, alive, len(alive)
        index._dead = len(alive) - int(np.count_nonzero(alive))
        return index

    def _take(self, text: str) -> int:
        """Queue the terms of one field; how many there were."""
        if not text:
            return 0
        before = len(self._pending_terms)
        cache, pending = self._chunk_ids, self._pending_terms
        for chunk in chunks(text)[:_FIELD_CHUNKS]:
            ids = cache.get(chunk)
            pending.extend(self._number(chunk) if ids is None else ids)
        return len(pending) - before

    def _number(self, chunk: str) -> tuple[int, ...]:
        vocabulary = self._vocabulary
        ids = tuple(vocabulary.setdefault(term, len(vocabulary)) for term, _ in analyse(chunk))
        if len(self._chunk_ids) < _CHUNK_CACHE:
            self._chunk_ids[chunk] = ids
        return ids

    def _flush(self) -> None:
        """Turn what is queued into postings, then merge segments until each is twice the size of the next."""
        if not self._pending_lengths:
            return
        lengths = np.array(self._pending_lengths, dtype=np.int64)
        terms = np.array(self._pending_terms, dtype=np.int32)
        self._pending_lengths, self._pending_terms = [], []
        if len(terms):
            self._segments.append(build_segment(terms, lengths, self._rows))
        while len(self._segments) > 1 and len(self._segments[-2].rows) < 2 * len(self._segments[-1].rows):
            tail = merge_segments(self._segments[-2:])
            self._segments[-2:] = [tail]
        self._grow(lengths)

    def _grow(self, lengths: npt.NDArray[np.int64]) -> None:
        end = self._rows + len(lengths)
        if end > len(self._alive):
            capacity = max(end, len(self._alive) + len(self._alive) // 2)
            grown_lengths = np.zeros((capacity, len(FIELDS)), dtype=np.float32)
            grown_alive = np.zeros(capacity, dtype=np.bool_)
            grown_lengths[: self._rows] = self._lengths[: self._rows]
            grown_alive[: self._rows] = self._alive[: self._rows]
            self._lengths, self._alive = grown_lengths, grown_alive
        self._lengths[self._rows : end] = lengths
        self._alive[self._rows : end] = True
        self._rows = end


_NO_POSTINGS: Final[Postings] = (
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty((0, len(FIELDS)), dtype=np.uint8),
)
_EMPTY: Final = Segment(
    np.empty(0, dtype=np.int32),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty((0, len(FIELDS)), dtype=np.uint8),
)


def _check(segment: Segment, lengths: Floats, alive: npt.NDArray[np.bool_], vocabulary: int) -> None:
    postings = len(segment.rows)
    fits = (
        len(segment.starts) == len(segment.terms) + 1
        and segment.frequencies.shape == (postings, len(FIELDS))
        and lengths.shape == (len(alive), len(FIELDS))
        and (not len(segment.terms) or int(segment.terms[-1]) < vocabulary)
        and int(segment.starts[-1]) == postings
        and (not postings or int(segment.rows.max()) < len(alive))
    )
    if not fits:
        raise CorruptSnapshotError("lexical snapshot: its arrays do not fit together")
