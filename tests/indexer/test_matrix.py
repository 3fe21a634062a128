"""The numpy replica: exact top-k, filters, tombstones and snapshots."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import CorruptSnapshotError, DimensionMismatchError
from indexer.matrix import VectorMatrix
from indexer.top_k import TOMBSTONE, Floats, block_top_k, dot_scores, gathered_scores


def _unit_rows(rows: int, dimensions: int, seed: int = 0) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _matrix(rows: int = 50, dimensions: int = 8) -> VectorMatrix:
    matrix = VectorMatrix(dimensions)
    matrix.append(_unit_rows(rows, dimensions))
    return matrix


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 9_000),
    k=st.integers(0, 40),
    levels=st.sampled_from([1, 2, 7, 500, 10_000_000]),
    seed=st.integers(0, 10_000),
)
def test_top_k_is_what_a_stable_sort_of_all_scores_gives_ties_included(
    count: int, k: int, levels: int, seed: int
) -> None:
    scores = np.random.default_rng(seed).integers(0, levels, count).astype(np.float32)

    assert block_top_k(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


@pytest.mark.parametrize("rows", [100, 9_000])  # below and above the size where the product is done another way
def test_scores_are_dot_products_whole_and_gathered(rows: int) -> None:
    vectors = _unit_rows(rows, 96)
    query = _unit_rows(1, 96, seed=1)[0]
    chosen = np.sort(np.random.default_rng(2).choice(rows, rows // 3, replace=False))
    expected = vectors.astype(np.float64) @ query

    np.testing.assert_allclose(dot_scores(vectors, query), expected, atol=1e-5)
    np.testing.assert_allclose(gathered_scores(vectors, chosen, query), expected[chosen], atol=1e-5)


@pytest.mark.parametrize(
    "runs",
    [[], [(0, 1)], [(5, 900)], [(0, 1_500)], [(3, 4), (9, 10)], [(0, 300), (301, 700), (1_200, 1_500)]],
    ids=["none", "one row", "one run", "every row", "single rows", "several runs"],
)
def test_runs_of_neighbouring_rows_score_as_single_rows_do(runs: list[tuple[int, int]]) -> None:
    vectors, query = _unit_rows(1_500, 40), _unit_rows(1, 40, seed=1)[0]
    rows = np.array([row for start, end in runs for row in range(start, end)], dtype=np.int64)

    assert gathered_scores(vectors, rows, query).tolist() == dot_scores(vectors, query)[rows].tolist()


def test_a_row_finds_itself_and_equal_rows_come_in_order() -> None:
    matrix = _matrix()
    twin = matrix.snapshot().vectors[7].copy()
    assert matrix.append(twin[None]) == range(50, 51)

    best = matrix.top_k(twin, 2)

    assert best.rows.tolist() == [7, 50]
    np.testing.assert_allclose(best.scores, [1, 1], atol=1e-6)


def test_filters_by_rows_and_by_penalty_agree_and_never_fill_up_with_hidden_rows() -> None:
    matrix = _matrix()
    query = _unit_rows(1, 8, seed=3)[0]
    allowed = np.array([3, 11, 12, 40])
    penalty = np.full(50, TOMBSTONE, dtype=np.float32)
    penalty[allowed] = 0

    by_rows, by_penalty = matrix.top_k(query, 10, rows=allowed), matrix.top_k(query, 10, penalty=penalty)

    assert sorted(by_rows.rows.tolist()) == allowed.tolist()
    assert by_rows.rows.tolist() == by_penalty.rows.tolist()
    np.testing.assert_allclose(by_rows.scores, by_penalty.scores, atol=1e-6)


def test_tombstoned_rows_are_never_found() -> None:
    matrix = _matrix()
    query = matrix.snapshot().vectors[7].copy()
    matrix.tombstone(np.array([7, 8]))
    matrix.tombstone(np.array([8]))

    assert matrix.dead == 2
    assert 7 not in matrix.top_k(query, 50).rows
    assert len(matrix.top_k(query, 50).rows) == 48
    assert matrix.top_k(query, 5, rows=np.array([7, 8])).rows.tolist() == []


def test_a_snapshot_does_not_move_when_the_writer_goes_on() -> None:
    matrix = _matrix(rows=300)
    snapshot = matrix.snapshot()
    query = snapshot.vectors[7].copy()
    matrix.tombstone(np.array([7]))
    for _ in range(20):
        matrix.append(_unit_rows(100, 8, seed=5))

    assert snapshot.n_rows == 300
    assert snapshot.top_k(query, 1).rows.tolist() == [7]
    assert matrix.top_k(query, 1).rows.tolist() != [7]
    assert not snapshot.vectors.flags.writeable


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), min_size=1, max_size=8), data=st.data())
def test_appending_and_removing_in_steps_equals_one_matrix_of_what_is_left(
    steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    matrix = VectorMatrix(8)
    alive: list[int] = []
    for number, (added, removed) in enumerate(steps):
        alive.extend(matrix.append(_unit_rows(added, 8, seed=number)))
        gone = data.draw(st.permutations(alive))[:removed]
        matrix.tombstone(np.array(gone, dtype=np.int64))
        alive = [row for row in alive if row not in gone]
    query = _unit_rows(1, 8, seed=99)[0]
    compact = matrix.compacted(np.array(alive, dtype=np.int64))

    assert compact.n_rows == len(alive)
    assert compact.dead == 0
    found, left = matrix.top_k(query, 12), compact.top_k(query, 12)
    assert found.rows.tolist() == [alive[row] for row in left.rows]


def _mapped(matrix: VectorMatrix, folder: Path) -> dict[str, Floats]:
    """Its arrays in files, read as they are asked for."""
    for name, array in matrix.to_arrays().items():
        np.save(folder / f"{name}.npy", array)
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("vectors", "penalty")}


def test_arrays_come_back_as_they_went_and_can_be_written_to(tmp_path: Path) -> None:
    matrix = _matrix()
    matrix.tombstone(np.array([3]))
    mapped = _mapped(matrix, tmp_path)

    restored = VectorMatrix.from_arrays(mapped)
    query = _unit_rows(1, 8, seed=4)[0]
    assert restored.top_k(query, 9).rows.tolist() == matrix.top_k(query, 9).rows.tolist()
    assert restored.append(np.empty((0, 8), dtype=np.float32)) == range(50, 50)
    restored.tombstone(np.array([4]))
    assert restored.append(query[None]) == range(50, 51)
    assert restored.top_k(query, 1).rows.tolist() == [50]
    assert restored.dead == 2


def test_rows_that_left_their_file_are_the_same_and_new_ones_move_none_of_them(tmp_path: Path) -> None:
    matrix = _matrix()
    matrix.tombstone(np.array([3]))
    mapped = _mapped(matrix, tmp_path)

    restored = VectorMatrix.from_arrays(mapped)
    restored.leave_file()
    before = restored.snapshot().vectors
    query = _unit_rows(1, 8, seed=4)[0]
    assert restored.append(query[None]) == range(50, 51)
    after = restored.snapshot().vectors
    assert np.shares_memory(before, after)
    assert not np.shares_memory(before, mapped["vectors"])
    np.testing.assert_array_equal(after[:50], matrix.to_arrays()["vectors"])
    assert restored.top_k(query, 51).rows.tolist() == [50, *matrix.top_k(query, 50).rows.tolist()]


def test_an_empty_matrix_finds_nothing() -> None:
    assert VectorMatrix(8).top_k(np.zeros(8, dtype=np.float32), 5).rows.tolist() == []


def test_vectors_of_another_width_are_refused_with_both_widths() -> None:
    matrix = _matrix()
    with pytest.raises(DimensionMismatchError, match="appended vectors: expected vectors of 8 dimensions, got 9"):
        matrix.append(np.zeros((1, 9), dtype=np.float32))
    with pytest.raises(DimensionMismatchError, match="query vector: expected vectors of 8 dimensions, got 9"):
        matrix.top_k(np.zeros(9, dtype=np.float32), 1)


@pytest.mark.parametrize(
    "arrays",
    [
        {"vectors": np.zeros((2, 3), dtype=np.float32)},
        {"vectors": np.zeros((2, 3), dtype=np.float32), "penalty": np.zeros(3, dtype=np.float32)},
        {"vectors": np.zeros((2, 3), dtype=np.float64), "penalty": np.zeros(2, dtype=np.float32)},
    ],
)
def test_arrays_that_do_not_fit_together_are_a_corrupt_snapshot(arrays: dict[str, Any]) -> None:
    with pytest.raises(CorruptSnapshotError):
        VectorMatrix.from_arrays(arrays)
