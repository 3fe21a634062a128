"""Inverted lists: counted, merged and renumbered."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexer.lexical.postings import Segment, build_segment, merge_segments, renumbered, segment_of_one

FIELDS = 3
ROWS = st.lists(st.tuples(*[st.lists(st.integers(0, 9), max_size=5)] * FIELDS), max_size=6)
Row = tuple[list[int], ...]


def segment_of(rows: list[Row], first_row: int) -> Segment:
    terms = [term for row in rows for field in row for term in field]
    lengths = np.array([[len(field) for field in row] for row in rows], dtype=np.int64).reshape(-1, FIELDS)
    return build_segment(np.array(terms, dtype=np.int32), lengths, first_row)


def told(segment: Segment) -> list[tuple[int, int, list[int]]]:
    """(term, row, frequencies) of each posting."""
    return list(zip(segment.posting_terms().tolist(), segment.rows.tolist(), segment.frequencies.tolist(), strict=True))


def counted(rows: list[Row]) -> list[tuple[int, int, list[int]]]:
    pairs = sorted({(term, place) for place, row in enumerate(rows) for field in row for term in field})
    return [(term, place, [Counter(field)[term] for field in rows[place]]) for term, place in pairs]


@given(ROWS)
def test_a_segment_counts_each_term_of_each_row_by_field(rows: list[Row]) -> None:
    segment = segment_of(rows, 0)
    assert told(segment) == counted(rows)
    assert segment.terms.tolist() == sorted({term for row in rows for field in row for term in field})


@given(st.tuples(*[st.lists(st.integers(0, 9), max_size=400)] * FIELDS), st.integers(0, 5))
def test_the_segment_of_one_row_is_the_one_that_any_number_of_rows_is_built_by(row: Row, number: int) -> None:
    alone = segment_of_one([term for field in row for term in field], [len(field) for field in row], number)
    built = segment_of([row], number)
    assert told(alone) == told(built)
    for name in ("terms", "starts", "rows", "frequencies"):
        one, other = getattr(alone, name), getattr(built, name)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_merged_segments_are_the_segment_of_all_their_rows(parts: list[list[Row]]) -> None:
    segments: list[Segment] = []
    first = 0
    for rows in parts:
        segments.append(segment_of(rows, first))
        first += len(rows)
    merged, whole = merge_segments(segments), segment_of([row for rows in parts for row in rows], 0)
    assert told(merged) == told(whole)
    assert merged.starts.tolist() == whole.starts.tolist()
    assert [array.dtype for array in (merged.terms, merged.starts, merged.rows, merged.frequencies)] == [
        np.int32,
        np.int64,
        np.int32,
        np.uint8,
    ]


@given(ROWS, st.data())
def test_a_renumbered_segment_is_that_of_the_rows_that_stay_in_their_new_order(
    rows: list[Row], data: st.DataObject
) -> None:
    kept = data.draw(st.permutations(range(len(rows)))) if rows else []
    kept = kept[: data.draw(st.integers(0, len(rows)))]
    new_rows = np.full(len(rows), -1, dtype=np.int32)
    new_rows[kept] = np.arange(len(kept))
    assert told(renumbered(segment_of(rows, 0), new_rows)) == counted([rows[row] for row in kept])


def test_more_than_255_of_a_term_in_a_field_count_as_255() -> None:
    assert told(segment_of([([7] * 300, [], [7])], 4)) == [(7, 4, [255, 0, 1])]
