"""Where the scale of a query's cosines begins."""

from dataclasses import replace

import numpy as np
import pytest

from indexer.confidence import UNCALIBRATED, Calibration
from indexer.cosine_scale import cosine_scale
from indexer.document import document_of
from indexer.engine import PlannedQuery, rank_rows
from indexer.errors import CorruptSnapshotError
from indexer.lexical import LexicalIndex
from indexer.matrix import VectorMatrix
from indexer.top_k import Floats
from tests.indexer.catalogs import tool
from tests.indexer.dense_cases import rows_of_kind, unit

_LIVE = np.arange(400)


def test_the_scale_begins_two_standard_deviations_below_the_mean_cosine() -> None:
    vectors, query = rows_of_kind("clusters", 400, 24, 1), rows_of_kind("spread", 1, 24, 2)[0]
    cosines = vectors.astype(np.float64) @ query

    assert cosine_scale(vectors, _LIVE).low(query) == pytest.approx(cosines.mean() - 2 * cosines.std(), abs=1e-6)


def test_dead_rows_have_no_part_in_it() -> None:
    vectors, query = rows_of_kind("clusters", 500, 24, 1), rows_of_kind("spread", 1, 24, 2)[0]

    assert cosine_scale(vectors, _LIVE).low(query) == cosine_scale(vectors[:400], _LIVE).low(query)


def test_of_very_many_rows_evenly_spaced_ones_stand_for_all() -> None:
    vectors, query = rows_of_kind("spread", 40_000, 8, 3), rows_of_kind("spread", 1, 8, 4)[0]
    cosines = vectors.astype(np.float64) @ query

    found = cosine_scale(vectors, np.arange(40_000)).low(query)

    assert found == pytest.approx(cosines.mean() - 2 * cosines.std(), abs=0.01)


def test_where_all_rows_are_one_the_scale_begins_at_their_cosine() -> None:
    vectors = np.repeat(rows_of_kind("spread", 1, 24, 5), 400, axis=0)

    assert cosine_scale(vectors, _LIVE).low(vectors[0]) == pytest.approx(1.0, abs=1e-5)


def _ranked(query: Floats, calibration: Calibration, rows: list[int] | None) -> list[int]:
    """Ten rows along the first axis and 390 near the second; no word speaks for any."""
    vectors = np.zeros((400, 8))
    vectors[:, 1] = 1
    vectors[:10, 0] = np.linspace(3, 0.5, 10)
    vectors[10:, 2] = np.linspace(0, 1, 390)
    matrix, lexical = VectorMatrix(8), LexicalIndex()
    matrix.append(unit(vectors))
    lexical.add([document_of(tool(f"t{number}", "")) for number in range(400)])
    if calibration.scale is None:
        calibration = replace(calibration, scale=cosine_scale(matrix.snapshot().vectors, _LIVE))
    found = rank_rows(
        PlannedQuery("zebra"),
        query[None],
        matrix=matrix.snapshot(),
        lexical=lexical.snapshot(),
        k=5,
        rows=None if rows is None else np.array(rows),
        calibration=calibration,
    )
    return found.rows.tolist()


def test_a_narrow_view_has_a_scale_of_its_own_for_the_catalogs_may_begin_above_all_it_holds() -> None:
    query = np.eye(8, dtype=np.float32)[0]
    high = cosine_scale(np.eye(8, dtype=np.float32)[:1].repeat(400, axis=0), _LIVE)

    assert _ranked(query, UNCALIBRATED, None) == [0, 1, 2, 3, 4]
    assert _ranked(query, UNCALIBRATED, [7, 8, 9, 20]) == [7, 8, 9]
    assert _ranked(query, replace(UNCALIBRATED, scale=high), [7, 8, 9, 20]) == [7, 8, 9]


def test_rows_below_where_the_scale_begins_are_found_too_in_their_order() -> None:
    vectors = np.repeat(np.eye(8, dtype=np.float32)[:1], 40, axis=0)
    vectors[37:] = unit(np.array([[1, 3, 0], [1, 4, 0], [1, 5, 0]]) @ np.eye(8)[:3])
    matrix, lexical = VectorMatrix(8), LexicalIndex()
    matrix.append(vectors)
    lexical.add([document_of(tool(f"t{number}", "")) for number in range(40)])
    known = replace(UNCALIBRATED, scale=cosine_scale(vectors, np.arange(40)))
    assert known.scale is not None
    assert known.scale.low(vectors[0]) > vectors[37, 0]

    found = rank_rows(
        PlannedQuery("zebra"),
        vectors[:1],
        matrix=matrix.snapshot(),
        lexical=lexical.snapshot(),
        k=40,
        calibration=known,
    )

    assert found.rows.tolist() == list(range(40))
    assert (np.diff(found.scores[37:]) < 0).all()
    assert found.scores[37] < 0.01


def test_a_query_that_has_nothing_to_do_with_any_row_finds_none() -> None:
    found = _ranked(np.eye(8, dtype=np.float32)[7], UNCALIBRATED, None)

    assert found == []


@pytest.mark.parametrize("without", ["mean", "covariance", "thresholds"])
def test_a_calibration_that_lacks_a_part_is_a_corrupt_snapshot(without: str) -> None:
    arrays = replace(UNCALIBRATED, scale=cosine_scale(rows_of_kind("spread", 400, 8, 1), _LIVE)).to_arrays()
    del arrays[without]

    with pytest.raises(CorruptSnapshotError, match="calibration cannot be read"):
        Calibration.from_arrays(arrays, 8)


def test_a_calibration_of_other_vectors_is_a_corrupt_snapshot() -> None:
    arrays = replace(UNCALIBRATED, scale=cosine_scale(rows_of_kind("spread", 400, 8, 1), _LIVE)).to_arrays()

    with pytest.raises(CorruptSnapshotError, match="does not fit 9 dimensions"):
        Calibration.from_arrays(arrays, 9)
