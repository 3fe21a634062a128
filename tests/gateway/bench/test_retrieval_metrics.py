"""Metrics against values worked out by hand."""

import math

import numpy as np
import pytest

from gateway.bench.retrieval_metrics import METRICS, bootstrap_interval, met_ranks, query_metrics


def _metrics(ranked: list[int], *needs: set[int]) -> dict[str, float]:
    return dict(zip(METRICS, query_metrics(ranked, needs), strict=True))


def test_one_needed_tool_at_the_third_place() -> None:
    assert _metrics([5, 6, 1, 7], {1}) == {
        "ndcg@10": pytest.approx(1 / math.log2(4)),
        "recall@1": 0,
        "recall@5": 1,
        "recall@10": 1,
        "mrr": pytest.approx(1 / 3),
        "completeness@10": 1,
        "hit@1": 0,
    }


def test_two_needed_tools_of_which_one_is_found() -> None:
    found = _metrics([1, 9, 8], {1}, {2})

    assert found["ndcg@10"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert (found["recall@1"], found["recall@10"], found["completeness@10"]) == (0.5, 0.5, 0)


def test_any_one_tool_of_a_group_meets_the_need_and_a_second_one_gains_nothing() -> None:
    assert met_ranks([2, 1, 3], [{1, 2}, {3}]) == [0, 2]
    assert _metrics([2], {1, 2, 3})["ndcg@10"] == 1


def test_nothing_found_is_nothing_and_more_needs_than_ten_places_can_still_be_perfect() -> None:
    assert set(_metrics([], {1}).values()) == {0}
    assert _metrics(list(range(12)), *({tool} for tool in range(12)))["ndcg@10"] == pytest.approx(1)


def test_what_stands_below_the_tenth_place_does_not_count() -> None:
    assert _metrics([*range(10), 99], {99})["mrr"] == 0


def test_the_interval_holds_the_mean_and_shrinks_with_more_values() -> None:
    values = np.tile([0.0, 1.0], 50)
    low, high = bootstrap_interval(values)
    wide_low, wide_high = bootstrap_interval(values[:20])

    # The standard error of a mean of n coins is 0.5 / sqrt(n): 0.05 for 100, so +-0.098.
    assert (low, high) == (pytest.approx(0.402, abs=0.03), pytest.approx(0.598, abs=0.03))
    assert wide_high - wide_low > high - low
    assert all(math.isnan(bound) for bound in bootstrap_interval(np.empty(0)))
