import numpy as np

from indexer.columns import Column, RowLists, intersection, union


def test_a_view_of_a_column_never_changes() -> None:
    column = Column(np.empty(0, dtype=np.int32))
    column.extend(np.array([1, 2], dtype=np.int32))
    view = column.view()
    for number in range(100):
        column.extend(np.array([number], dtype=np.int32))
    assert view.tolist() == [1, 2]
    assert column.view().tolist() == [1, 2, *range(100)]


def test_a_column_over_a_read_only_array_copies_it_when_it_grows() -> None:
    given = np.array([1, 2], dtype=np.int32)
    given.flags.writeable = False
    column = Column(given)
    column.extend(np.array([3], dtype=np.int32))
    assert column.view().tolist() == [1, 2, 3]
    assert given.tolist() == [1, 2]


def test_a_wide_column_keeps_its_width() -> None:
    column = Column(np.empty((0, 3), dtype=np.uint8))
    column.extend(np.arange(6, dtype=np.uint8).reshape(2, 3))
    assert column.view().shape == (2, 3)


def test_row_lists_show_a_reader_only_rows_of_its_moment() -> None:
    lists = RowLists()
    lists.add({("tag", "a"): [0, 3], ("tag", "b"): [1]})
    lists.add({("tag", "a"): [7]})
    assert lists.rows(("tag", "a"), 5).tolist() == [0, 3]
    assert lists.rows(("tag", "a"), 8).tolist() == [0, 3, 7]
    assert lists.rows(("tag", "none"), 8).tolist() == []


def test_row_lists_survive_arrays_and_renumbering() -> None:
    lists = RowLists()
    lists.add({("tag", "a"): [0, 2, 3], ("tag", "b"): [1], ("pinned",): [3]})
    new_rows = np.array([0, -1, 1, 2])
    again = RowLists.from_arrays(*lists.to_arrays(new_rows))
    again.add({("tag", "a"): [5]})
    assert again.rows(("tag", "a"), 10).tolist() == [0, 1, 2, 5]
    assert again.rows(("tag", "b"), 10).tolist() == []
    assert again.rows(("pinned",), 10).tolist() == [2]


def test_union_and_intersection_of_sorted_rows() -> None:
    first, second = np.array([1, 4, 6]), np.array([4, 5, 6, 9])
    assert union([first, second]).tolist() == [1, 4, 5, 6, 9]
    assert union([]).tolist() == []
    common = intersection([second, first])
    assert common is not None
    assert common.tolist() == [4, 6]
    assert intersection([]) is None
