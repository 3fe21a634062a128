"""Growing numpy columns that readers see as immutable views, and sorted row lists over them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.int64]
Label: TypeAlias = tuple[str, ...]
"""('tenant', name), ('namespace', tenant, name), ('tag', name), ('trust', tier) or ('pinned',)."""

_INITIAL_CAPACITY: Final = 16


class Column:
    """An append-only array, (n,) or (n, width): one writer; a view taken by a reader never changes."""

    def __init__(self, initial: npt.NDArray[Any]) -> None:
        self._values = initial
        self._length = len(initial)

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    def extend(self, values: npt.NDArray[Any] | Sequence[int]) -> None:
        end = self._length + len(values)
        if end > len(self._values):
            capacity = max(end, len(self._values) + len(self._values) // 2, _INITIAL_CAPACITY)
            grown = np.empty((capacity, *self._values.shape[1:]), dtype=self._values.dtype)
            grown[: self._length] = self._values[: self._length]
            self._values = grown
        if len(values) == 1:
            self._values[self._length] = values[0]
        else:
            self._values[self._length : end] = values
        self._length = end

    def view(self) -> npt.NDArray[Any]:
        return self._values[: self._length]


class RowLists:
    """For each label the rows that carry it, ascending: what narrow filters gather."""

    def __init__(self) -> None:
        self._lists: dict[Label, Column] = {}

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in list(self._lists.values()))

    def add(self, grouped: Mapping[Label, list[int]]) -> None:
        """Append rows, each above all that its label has."""
        for label, rows in grouped.items():
            column = self._lists.get(label)
            if column is None:
                # Complete before it is put in its place: readers look without a lock.
                self._lists[label] = Column(np.array(rows, dtype=np.int64))
            else:
                column.extend(rows)

    def rows(self, label: Label, below: int) -> Rows:
        """The rows of a label lower than `below`: those of a reader's own moment."""
        column = self._lists.get(label)
        if column is None:
            return np.empty(0, dtype=np.int64)
        rows = column.view()
        return rows[: np.searchsorted(rows, below)]

    def to_arrays(self, new_rows: Rows) -> tuple[list[Label], Rows, Rows]:
        """Labels, (labels + 1,) offsets and (n,) rows, mapped through `new_rows`, in any order; -1 leaves a row out."""
        labels: list[Label] = []
        groups: list[Rows] = []
        for label, column in self._lists.items():
            rows = new_rows[column.view()]
            rows = np.sort(rows[rows >= 0])
            if len(rows):
                labels.append(label)
                groups.append(rows)
        offsets = np.zeros(len(groups) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows in groups], out=offsets[1:])
        return labels, offsets, np.concatenate(groups) if groups else np.empty(0, dtype=np.int64)

    @classmethod
    def from_arrays(cls, labels: Sequence[Label], offsets: Rows, rows: Rows) -> "RowLists":
        """The inverse of `to_arrays`; the rows are served from the array itself until they grow."""
        lists = cls()
        bounds = offsets.tolist()
        for label, start, end in zip(labels, bounds[:-1], bounds[1:], strict=True):
            lists._lists[label] = Column(rows[start:end])
        return lists


def union(lists: Sequence[Rows]) -> Rows:
    """Rows of any of the lists, ascending and distinct."""
    if not lists:
        return np.empty(0, dtype=np.int64)
    return lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))


def intersection(lists: Sequence[Rows]) -> Rows | None:
    """Rows of all lists, ascending, the shortest first taken; None for no list: every row."""
    if not lists:
        return None
    common, *others = sorted(lists, key=len)
    for rows in others:
        common = np.intersect1d(common, rows, assume_unique=True)
    return common
