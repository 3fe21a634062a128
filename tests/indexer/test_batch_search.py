"""Several queries at once: what single scans find, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.batch_search import batch_scores, batch_top_k
from tests.indexer.dense_cases import (
    exact_scores,
    hidden_shares,
    kinds,
    plain_top_k,
    rows_of_kind,
    seeds,
    some_penalty,
    widths,
)


@settings(max_examples=80, deadline=None)
@given(
    kind=kinds,
    rows=st.sampled_from([0, 1, 7, 600, 4_096, 4_097, 9_000]),
    dimensions=widths,
    queries=st.integers(0, 15),
    k=st.sampled_from([0, 1, 5, 10, 700]),
    share_hidden=hidden_shares,
    seed=seeds,
)
def test_each_query_finds_what_it_finds_alone(
    kind: str, rows: int, dimensions: int, queries: int, k: int, share_hidden: float | None, seed: int
) -> None:
    vectors = rows_of_kind(kind, rows, dimensions, seed)
    asked = rows_of_kind("some zero", queries, dimensions, seed + 1)
    penalty = None if share_hidden is None else some_penalty(rows, share_hidden, seed)

    found = batch_top_k(vectors, asked, k, penalty=penalty)

    assert found.rows.shape == found.scores.shape == (queries, min(k, rows))
    for query, best, scores in zip(asked, found.rows, found.scores, strict=True):
        alone = plain_top_k(vectors, query, k, penalty)
        missing = min(k, rows) - len(alone.rows)
        assert best.tolist() == alone.rows.tolist() + [-1] * missing
        assert scores.tolist() == alone.scores.tolist() + [-np.inf] * missing


@pytest.mark.parametrize("queries", [0, 1, 2, 5, 11, 12, 40])
@pytest.mark.parametrize("rows", [0, 1, 130, 5_000])
def test_scores_of_a_batch_are_dot_products(rows: int, queries: int) -> None:
    vectors, asked = rows_of_kind("spread", rows, 96, 1), rows_of_kind("spread", queries, 96, 2)

    scores = batch_scores(vectors, asked)

    assert scores.shape == (queries, rows)
    assert scores.flags.c_contiguous
    for query, row in zip(asked, scores, strict=True):
        np.testing.assert_allclose(row, exact_scores(vectors, query), atol=1e-5)


def test_a_query_that_all_rows_answer_alike_does_not_keep_them_all() -> None:
    """Every row of the catalog ties for the zero vector; the lowest rows win, and the other query is not disturbed."""
    vectors = rows_of_kind("spread", 30_000, 8, 3)
    asked = np.stack((np.zeros(8, dtype=np.float32), vectors[29_000]))

    found = batch_top_k(vectors, asked, 3)

    assert found.rows[0].tolist() == [0, 1, 2]
    assert found.rows[1, 0] == 29_000
