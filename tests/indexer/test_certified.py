"""Certified search: the plain scan's result without its reading, and bounds that hold in float32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.certified import build_certified_head, certified_top_k
from indexer.top_k import Floats, dot_scores
from tests.indexer.dense_cases import (
    exact_scores,
    hidden_shares,
    kinds,
    plain_top_k,
    rows_of_kind,
    seeds,
    some_penalty,
    unit,
    widths,
)


@settings(max_examples=100, deadline=None)
@given(
    kind=kinds,
    rows=st.sampled_from([0, 1, 9, 700, 4_096, 6_000]),
    appended=st.sampled_from([0, 1, 300]),
    dimensions=widths,
    head_dims=st.sampled_from([None, 1, 2, 40, 1_000]),
    k=st.sampled_from([0, 1, 10, 900]),
    share_hidden=hidden_shares,
    asked=st.sampled_from(["a row", "elsewhere", "nothing"]),
    seed=seeds,
)
def test_it_finds_what_a_plain_scan_finds(
    kind: str,
    rows: int,
    appended: int,
    dimensions: int,
    head_dims: int | None,
    k: int,
    share_hidden: float | None,
    asked: str,
    seed: int,
) -> None:
    vectors = rows_of_kind(kind, rows + appended, dimensions, seed)
    head = build_certified_head(vectors[:rows], head_dims, seed=seed)
    penalty = None if share_hidden is None else some_penalty(len(vectors), share_hidden, seed)
    query = rows_of_kind("spread", 1, dimensions, seed + 1)[0]
    if asked == "a row" and len(vectors):
        query = vectors[seed % len(vectors)]
    elif asked == "nothing":
        query = np.zeros(dimensions, dtype=np.float32)

    found = certified_top_k(vectors, head, query, k, penalty)

    alone = plain_top_k(vectors, query, k, penalty)
    assert found.rows.tolist() == alone.rows.tolist()
    assert found.scores.tolist() == alone.scores.tolist()
    assert len(found.rows) <= found.survivors <= len(vectors)


@settings(max_examples=60, deadline=None)
@given(kind=kinds, dimensions=widths, head_dims=st.sampled_from([1, 7, 64]), scale=st.floats(0.01, 100), seed=seeds)
def test_bounds_hold_what_a_scan_and_true_arithmetic_give(
    kind: str, dimensions: int, head_dims: int, scale: float, seed: int
) -> None:
    vectors = rows_of_kind(kind, 500, dimensions, seed) * np.float32(scale)
    query = rows_of_kind("spread", 1, dimensions, seed + 1)[0]

    bounds = build_certified_head(vectors, head_dims).upper_bounds(query)

    assert (bounds >= dot_scores(vectors, query)).all()
    assert (bounds >= exact_scores(vectors, query)).all()


def _touching(rows: int, dimensions: int, seed: int) -> tuple[Floats, Floats]:
    """Rows whose rest points exactly where the query's does: their bound is their score, and only rounding differs."""
    random = np.random.default_rng(seed)
    direction = random.standard_normal(dimensions - 4)
    vectors = np.empty((rows, dimensions))
    vectors[:, :4] = 100 * random.standard_normal((rows, 4))
    vectors[:, 4:] = np.abs(random.standard_normal((rows, 1))) * direction
    query = np.append(random.standard_normal(4), direction)
    return unit(vectors), unit(query[None])[0]


@pytest.mark.parametrize("dimensions", [40, 256, 384])
def test_where_a_bound_touches_the_score_only_the_margin_for_rounding_saves_the_proof(dimensions: int) -> None:
    vectors, query = _touching(3_000, dimensions, 5)
    head = build_certified_head(vectors, 4)
    upper, scores = head.upper_bounds(query), dot_scores(vectors, query)

    assert (upper >= scores).all()
    bare = np.append(query.astype(np.float64) @ head.basis, 0).astype(np.float32)
    bare[-1] = np.sqrt(max(0.0, 1 - float(bare[:-1].astype(np.float64) @ bare[:-1])))
    without_margin = np.matmul(bare, head.tiles).reshape(-1)[: len(vectors)]
    assert (without_margin < scores).any()
    for k in (1, 10):
        found = certified_top_k(vectors, head, query, k)
        assert found.rows.tolist() == plain_top_k(vectors, query, k).rows.tolist()


def test_few_rows_are_read_whole_where_the_spectrum_falls_and_all_where_it_is_flat() -> None:
    random = np.random.default_rng(0)
    falling = unit(random.standard_normal((20_000, 128)) * np.exp(-np.arange(128) / 12))
    flat = unit(random.standard_normal((20_000, 128)))

    falling_head, flat_head = build_certified_head(falling), build_certified_head(flat, 16)

    assert falling_head.head_dims < 128
    assert certified_top_k(falling, falling_head, falling[7], 10).survivors < 400
    found = certified_top_k(flat, flat_head, unit(random.standard_normal((1, 128)))[0], 10)
    assert found.survivors == 20_000


def test_the_head_is_the_same_for_the_same_seed() -> None:
    vectors = rows_of_kind("clusters", 20_000, 48, 2)

    first, second = build_certified_head(vectors, seed=4), build_certified_head(vectors, seed=4)

    assert first.head_dims == second.head_dims
    assert np.array_equal(first.tiles, second.tiles)
    assert first.nbytes == first.basis.nbytes + first.tiles.nbytes
