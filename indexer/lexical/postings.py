"""Inverted lists of raw term frequencies by field: immutable segments, merged as they grow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
        return np.repeat(self.terms, np.diff(self.starts))


def build_segment(terms: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], first_row: int) -> Segment:
    """Count tokens into postings.

    `terms`: every token of every field of every row, in that order. `lengths`: (rows, fields), tokens of each field.
    """
    n_rows, n_fields = lengths.shape
    place = np.repeat(np.arange(n_rows * n_fields, dtype=np.int64), lengths.ravel())
    keys, counts = np.unique(terms.astype(np.int64) * (n_rows * n_fields) + place, return_counts=True)
    pairs, fields = np.divmod(keys, n_fields)  # a pair is (term, row)
    is_first = np.empty(len(pairs), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    posting = np.cumsum(is_first) - 1
    frequencies = np.zeros((int(is_first.sum()), n_fields), dtype=np.uint8)
    frequencies[posting, fields] = np.minimum(counts, _MAX_FREQUENCY)
    posting_terms, rows = np.divmod(pairs[is_first], n_rows)
    return _by_term(posting_terms.astype(np.int32), (rows + first_row).astype(np.int32), frequencies)


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """One segment of several whose rows ascend from each to the next."""
    terms = np.concatenate([segment.posting_terms() for segment in segments])
    order = np.argsort(terms, kind="stable")  # sorted runs: close to one pass
    rows = np.concatenate([segment.rows for segment in segments])
    frequencies = np.concatenate([segment.frequencies for segment in segments])
    return _by_term(terms[order], rows[order], frequencies[order])


def renumbered(segment: Segment, new_rows: npt.NDArray[np.int32]) -> Segment:
    """The segment with rows mapped through `new_rows`, in any order; -1 leaves a row out."""
    rows = new_rows[segment.rows]
    kept = np.flatnonzero(rows >= 0)
    rows, terms = rows[kept], segment.posting_terms()[kept]
    # One sort of one number a posting: several times faster than sorting by two keys.
    order = np.argsort(terms.astype(np.int64) * len(new_rows) + rows, kind="stable")
    return _by_term(terms[order], rows[order], segment.frequencies[kept[order]])


def _by_term(
    posting_terms: npt.NDArray[np.int32], rows: npt.NDArray[np.int32], frequencies: npt.NDArray[np.uint8]
) -> Segment:
    terms, first = np.unique(posting_terms, return_index=True)
    starts = np.append(first, len(posting_terms)).astype(np.int64)
    return Segment(terms, starts, rows, frequencies)
