"""The lexical half of the catalog: adding, removing and scoring tools by their words."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.document import ToolDocument
from indexer.errors import CorruptSnapshotError
from indexer.lexical.postings import Segment, build_segment, merge_segments, renumbered, segment_of_one
from indexer.lexical.snapshot import DEFAULT_BM25F, FIELDS, BM25FParameters, LexicalSnapshot
from indexer.lexical.tokens import chunks
from indexer.lexical.vocabulary import Vocabulary
from indexer.traits import traits_of

Floats: TypeAlias = npt.NDArray[np.float32]
Rows: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
FIELD_CHUNKS: Final = 400
"""Words of a field that are indexed: some parameter texts run to tens of thousands."""
_MERGED_AT_ONCE: Final = 4
_FLUSH_TOKENS: Final = 1 << 18
_USUAL_POSTINGS: Final = 100
"""Of a tool."""
_MANY_POSTINGS: Final = 1 << 16
"""To merge so many takes some 5 ms."""
_fields_of: Final[Callable[[ToolDocument], tuple[str, ...]]] = attrgetter(*FIELDS)


class LexicalIndex:
    """Incremental BM25F: one writer, any number of readers of its snapshots; rows are numbered as `VectorMatrix` does.

    Raw frequencies and lengths are kept; idf and average lengths are taken when a query is scored, so that scores
    are those of an index built afresh after any change.
    """

    def __init__(self, parameters: BM25FParameters = DEFAULT_BM25F) -> None:
        self.parameters = parameters
        self._vocabulary = Vocabulary()
        self._segments: list[Segment] = []
        self._pending_terms: list[int] = []
        self._pending_lengths: list[list[int]] = []
        self._pending_traits: list[int] = []
        self._lengths: Floats = np.empty((0, len(FIELDS)), dtype=np.float32)
        self._length_sums = np.zeros(len(FIELDS), dtype=np.float64)
        """Of the live rows; whole numbers, so that adding and taking away never drift."""
        self._traits: npt.NDArray[np.uint16] = np.empty(0, dtype=np.uint16)
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
    def is_full(self) -> bool:
        """Whether another tool of the usual size would have many postings copied."""
        sizes = [*(len(segment.rows) for segment in self._segments), _USUAL_POSTINGS]
        copied = 0
        while due := _due(sizes):
            sizes[-due:] = [sum(sizes[-due:])]
            copied += sizes[-1]
        return copied > _MANY_POSTINGS

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; the vocabulary comes on top, some 100 bytes a term."""
        arrays = (self._lengths, self._traits, self._alive)
        return sum(segment.nbytes for segment in self._segments) + sum(array.nbytes for array in arrays)

    def add(self, documents: Sequence[ToolDocument]) -> range:
        """Add tools; the row ids they got. The next snapshot shows them."""
        first = self.n_rows
        for document in documents:
            self._pending_lengths.append([self._take(text) for text in _fields_of(document)])
            self._pending_traits.append(traits_of(document))
            if len(self._pending_terms) >= _FLUSH_TOKENS:
                self._flush()
        self._snapshot = None
        return range(first, self.n_rows)

    def _take(self, text: str) -> int:
        """Queue the terms of one field; how many there were."""
        if not text:
            return 0
        before = len(self._pending_terms)
        self._pending_terms.extend(self._vocabulary.terms_of(chunks(text)[:FIELD_CHUNKS]))
        return len(self._pending_terms) - before

    def remove(self, rows: Rows) -> None:
        """Take rows (distinct) out of every later snapshot, of idf and of average lengths; ids are not used again."""
        if len(rows) == 0:
            return
        self._flush()
        alive = self._alive.copy()  # snapshots hold the old one
        dying = rows[alive[rows]]
        self._length_sums = self._length_sums - self._lengths[dying].sum(axis=0, dtype=np.float64)
        alive[dying] = False
        self._alive = alive
        self._dead += len(dying)
        self._snapshot = None

    def snapshot(self) -> LexicalSnapshot:
        """What is there now, unmoved by later writes."""
        self._flush()
        if self._snapshot is None:
            self._snapshot = LexicalSnapshot(
                parameters=self.parameters,
                vocabulary=self._vocabulary.numbers,  # it only grows; terms that came later have no postings here
                segments=tuple(self._segments),
                lengths=self._lengths[: self._rows],
                length_sums=self._length_sums,
                traits=self._traits[: self._rows],
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
        """A new index of these rows (distinct, all live), in this order; the old one and its snapshots stay."""
        self._flush()
        new_rows = np.full(self._rows, -1, dtype=np.int32)
        new_rows[keep_rows] = np.arange(len(keep_rows), dtype=np.int32)
        index = LexicalIndex(self.parameters)
        index._vocabulary = self._vocabulary.copy()
        kept = renumbered(merge_segments(self._segments), new_rows) if self._segments else _EMPTY
        index._segments = [kept] if len(kept.rows) else []
        index._lengths = self._lengths[keep_rows]
        index._length_sums = index._lengths.sum(axis=0, dtype=np.float64)
        index._traits = self._traits[keep_rows]
        index._alive = np.ones(len(keep_rows), dtype=np.bool_)
        index._rows = len(keep_rows)
        return index

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file, vocabulary included."""
        self._flush()
        segment = merge_segments(self._segments) if self._segments else _EMPTY
        words = "\n".join(self._vocabulary.numbers).encode("utf-8")
        return {
            "terms": segment.terms,
            "starts": segment.starts,
            "rows": segment.rows,
            "frequencies": segment.frequencies,
            "lengths": self._lengths[: self._rows],
            "traits": self._traits[: self._rows],
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
            lengths, traits, alive = arrays["lengths"], arrays["traits"], arrays["alive"]
            words = arrays["vocabulary"].tobytes().decode("utf-8")
        except (KeyError, UnicodeDecodeError) as error:
            raise CorruptSnapshotError(f"lexical snapshot cannot be read: {error}") from error
        index = cls(parameters)
        index._vocabulary = Vocabulary(words.split("\n") if words else ())
        _check(segment, lengths, alive, len(index._vocabulary.numbers))
        if traits.shape != alive.shape:
            raise CorruptSnapshotError("lexical snapshot: its arrays do not fit together")
        index._segments = [segment] if len(segment.rows) else []
        index._lengths, index._traits, index._alive, index._rows = lengths, traits, alive, len(alive)
        index._dead = len(alive) - int(np.count_nonzero(alive))
        index._length_sums = (lengths[alive] if index._dead else lengths).sum(axis=0, dtype=np.float64)
        return index

    def _flush(self) -> None:
        """Turn what is queued into postings, then merge the last segments once there are several alike."""
        if not self._pending_lengths:
            return
        lengths = np.array(self._pending_lengths, dtype=np.int64)
        if self._pending_terms:
            self._segments.append(self._pending_segment(lengths))
        traits = np.array(self._pending_traits, dtype=np.uint16)
        self._pending_lengths, self._pending_terms, self._pending_traits = [], [], []
        while due := _due([len(segment.rows) for segment in self._segments]):
            self._segments[-due:] = [merge_segments(self._segments[-due:])]
        self._grow(lengths, traits)

    def _pending_segment(self, lengths: npt.NDArray[np.int64]) -> Segment:
        if len(lengths) == 1:
            return segment_of_one(self._pending_terms, self._pending_lengths[0], self._rows)
        return build_segment(np.array(self._pending_terms, dtype=np.int32), lengths, self._rows)

    def _grow(self, lengths: npt.NDArray[np.int64], traits: npt.NDArray[np.uint16]) -> None:
        end = self._rows + len(lengths)
        if end > len(self._alive):
            capacity = max(end, len(self._alive) + len(self._alive) // 2)
            grown_lengths = np.zeros((capacity, len(FIELDS)), dtype=np.float32)
            grown_traits = np.zeros(capacity, dtype=np.uint16)
            grown_alive = np.zeros(capacity, dtype=np.bool_)
            grown_lengths[: self._rows] = self._lengths[: self._rows]
            grown_traits[: self._rows] = self._traits[: self._rows]
            grown_alive[: self._rows] = self._alive[: self._rows]
            self._lengths, self._traits, self._alive = grown_lengths, grown_traits, grown_alive
        self._lengths[self._rows : end] = lengths
        self._traits[self._rows : end] = traits
        self._length_sums = self._length_sums + lengths.sum(axis=0)
        self._alive[self._rows : end] = True
        self._rows = end


def _due(sizes: Sequence[int]) -> int:
    """How many of the last segments are to be merged, 0 for none: those that do not outweigh twice all after them.

    Searches look into each segment, so there must be few; to merge a few at once copies each posting less often.
    """
    after = count = 0
    for size in reversed(sizes):
        if count and size >= 2 * after:
            break
        after += size
        count += 1
    return count if count >= _MERGED_AT_ONCE else 0


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
