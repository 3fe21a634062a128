"""Inverted lists of raw term frequencies by field: immutable segments, merged as they grow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_MAX_FREQUENCY: Final = 255


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of some rows, by term, then row.

    `terms`: (t,) int32 ids, ascending and distinct. `starts`: (t + 1,) int64 offsets of each term's postings.
    `rows`: (p,) int32. `frequencies`: (p, fields) uint8, at least one of each row positive.
    """

    terms: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    frequencies: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.rows.nbytes + self.frequencies.nbytes

    def posting_terms(self) -> npt.NDArray[np.int32]:
        """(p,) the term of each posting."""
        return self.terms.repeat(self.starts[1:] - self.starts[:-1])


def build_segment(terms: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], first_row: int) -> Segment:
    """Count tokens into postings.

    `terms`: every token of every field of every row, in that order. `lengths`: (rows, fields), tokens of each field.
    """
    n_rows, n_fields = lengths.shape
    # Methods where there are some: for the words of one tool, numpy's functions take longer than what they do.
    place = np.arange(n_rows * n_fields, dtype=np.int64).repeat(lengths.ravel())
    tokens = terms * np.int64(n_rows * n_fields) + place
    tokens.sort()
    pairs, fields = np.divmod(tokens, n_fields)  # a pair is (term, row)
    is_first = _starts_run(pairs)
    cells = (is_first.cumsum() - 1) * n_fields + fields
    counts = np.bincount(cells, minlength=int(np.count_nonzero(is_first)) * n_fields)
    frequencies = np.minimum(counts, _MAX_FREQUENCY).astype(np.uint8).reshape(-1, n_fields)
    posting_terms, rows = np.divmod(pairs[is_first], n_rows)
    return _by_term(posting_terms.astype(np.int32), (rows + first_row).astype(np.int32), frequencies)


def segment_of_one(terms: Sequence[int], lengths: Sequence[int], row: int) -> Segment:
    """As `build_segment` for the words of one tool: for so few, the calls of numpy take longer than what they do."""
    counted: dict[int, bytearray] = {}
    start = 0
    for field, length in enumerate(lengths):
        for term in terms[start : start + length]:
            frequencies = counted.get(term)
            if frequencies is None:
                frequencies = counted[term] = bytearray(len(lengths))
            if frequencies[field] < _MAX_FREQUENCY:
                frequencies[field] += 1
        start += length
    ordered = sorted(counted)
    return Segment(
        np.array(ordered, dtype=np.int32),
        np.arange(len(ordered) + 1, dtype=np.int64),
        np.array([row], dtype=np.int32).repeat(len(ordered)),
        np.frombuffer(b"".join(map(counted.__getitem__, ordered)), dtype=np.uint8).reshape(-1, len(lengths)),
    )


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """One segment of several whose rows ascend from each to the next."""
    terms = np.concatenate([segment.posting_terms() for segment in segments])
    order = terms.argsort(kind="stable")  # sorted runs: close to one pass
    rows = np.concatenate([segment.rows for segment in segments])
    frequencies = np.concatenate([segment.frequencies for segment in segments])
    # `take` copies a row of bytes three times as fast as an index does.
    return _by_term(terms[order], rows[order], frequencies.take(order, axis=0))


def renumbered(segment: Segment, new_rows: npt.NDArray[np.int32]) -> Segment:
    """The segment with rows mapped through `new_rows`, in any order; -1 leaves a row out."""
    rows = new_rows[segment.rows]
    kept = np.flatnonzero(rows >= 0)
    rows, terms = rows[kept], segment.posting_terms()[kept]
    # One sort of one number a posting: several times faster than sorting by two keys.
    order = np.argsort(terms.astype(np.int64) * len(new_rows) + rows, kind="stable")
    return _by_term(terms[order], rows[order], segment.frequencies.take(kept[order], axis=0))


def _by_term(
    posting_terms: npt.NDArray[np.int32], rows: npt.NDArray[np.int32], frequencies: npt.NDArray[np.uint8]
) -> Segment:
    first = _starts_run(posting_terms).nonzero()[0]
    starts = np.concatenate((first, np.array([len(posting_terms)])))
    return Segment(posting_terms[first], starts, rows, frequencies)


def _starts_run(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """(n,) whether a value differs from the one before it."""
    starts = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts
