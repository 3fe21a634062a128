"""Sign bits: candidates by bits, exact scores, and the recall that was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.sign_bits import bits_top_k, build_sign_bits, rescore_for
from indexer.top_k import Floats
from tests.indexer.dense_cases import (
    hidden_shares,
    kinds,
    plain_top_k,
    rows_of_kind,
    seeds,
    some_penalty,
    unit,
    widths,
)


@settings(max_examples=80, deadline=None)
@given(
    kind=kinds,
    rows=st.sampled_from([0, 1, 9, 700]),
    appended=st.sampled_from([0, 1, 50]),
    dimensions=widths,
    k=st.sampled_from([0, 1, 10, 900]),
    share_hidden=hidden_shares,
    seed=seeds,
)
def test_with_all_rows_rescored_it_is_the_plain_scan(
    kind: str, rows: int, appended: int, dimensions: int, k: int, share_hidden: float | None, seed: int
) -> None:
    vectors = rows_of_kind(kind, rows + appended, dimensions, seed)
    bits = build_sign_bits(vectors[:rows])
    penalty = None if share_hidden is None else some_penalty(len(vectors), share_hidden, seed)
    query = rows_of_kind("some zero", 1, dimensions, seed + 1)[0]

    found = bits_top_k(vectors, bits, query, k, rescore=rows, penalty=penalty)

    alone = plain_top_k(vectors, query, k, penalty)
    assert found.rows.tolist() == alone.rows.tolist()
    assert found.scores.tolist() == alone.scores.tolist()


@settings(max_examples=30, deadline=None)
@given(rows=st.sampled_from([1, 100, 33_000]), dimensions=st.sampled_from([1, 64, 65, 100, 256]), seed=seeds)
def test_distances_are_the_bits_that_differ(rows: int, dimensions: int, seed: int) -> None:
    vectors = rows_of_kind("spread", rows, dimensions, seed)
    query = rows_of_kind("spread", 1, dimensions, seed + 1)[0]
    bits = build_sign_bits(vectors, seed=seed)

    differs = (vectors @ bits.rotation > 0) != (query[None] @ bits.rotation > 0)

    assert bits.rotation.shape == (dimensions, -(-dimensions // 64) * 64)
    np.testing.assert_allclose(bits.rotation @ bits.rotation.T, np.eye(dimensions), atol=1e-5)
    # A product of many rows may round a coordinate that is nearly zero to the other side.
    assert np.abs(bits.distances(query).astype(int) - differs.sum(axis=1)).max() <= 1


def test_a_row_that_is_the_opposite_in_every_bit_is_farther_than_all_others() -> None:
    vectors = rows_of_kind("spread", 500, 256, 1)
    bits = build_sign_bits(vectors)

    assert bits.distances(-vectors[3])[3] == 256


def test_equal_rows_come_in_order_and_no_more_than_twice_as_many_as_wanted_are_read() -> None:
    vectors = rows_of_kind("equal", 40_000, 64, 2)
    bits = build_sign_bits(vectors)

    found = bits_top_k(vectors, bits, vectors[0], 5, rescore=100)

    assert found.rows.tolist() == [0, 1, 2, 3, 4]


def test_rows_that_a_filter_hides_do_not_take_the_places_of_those_it_shows() -> None:
    vectors = rows_of_kind("clusters", 40_000, 64, 3)
    query = vectors[11]
    bits = build_sign_bits(vectors)
    near = plain_top_k(vectors, query, 30_000).rows
    penalty = np.zeros(40_000, dtype=np.float32)
    penalty[near] = -4  # every row that looks like the query

    found = bits_top_k(vectors, bits, query, 10, rescore=400, penalty=penalty)

    assert len(found.rows) == 10
    assert (penalty[found.rows] == 0).all()


def _catalog(rows: int, seed: int) -> Floats:
    """Rows with a falling spectrum, as encoders give them."""
    random = np.random.default_rng(seed)
    return unit(random.standard_normal((rows, 96)) * np.exp(-np.arange(96) / 25))


@pytest.mark.parametrize("recall", [0.9, 0.98])
def test_as_many_rows_are_rescored_as_the_recall_takes(recall: float) -> None:
    vectors = _catalog(20_000, 4)
    bits = build_sign_bits(vectors)
    rescore = rescore_for(vectors, bits, recall)
    queries = unit(_catalog(40, 5).astype(np.float64) + 0.5 * vectors[:40])

    found = [set(bits_top_k(vectors, bits, query, 10, rescore=rescore).rows.tolist()) for query in queries]
    right = [set(plain_top_k(vectors, query, 10).rows.tolist()) for query in queries]

    assert rescore < len(vectors)
    shares = [len(one & other) / 10 for one, other in zip(found, right, strict=True)]
    assert float(np.mean(shares)) >= recall


def test_a_higher_recall_takes_more_rows_and_a_small_catalog_all_of_them() -> None:
    vectors = _catalog(20_000, 6)
    bits = build_sign_bits(vectors)

    assert rescore_for(vectors, bits, 0.9) < rescore_for(vectors, bits, 0.999)
    assert rescore_for(vectors[:100], build_sign_bits(vectors[:100]), 0.9) == 100
