"""Which way of searching is chosen, and that the choice says why."""

import pytest

from indexer import search_plan
from indexer.search_plan import plan_search


@pytest.mark.parametrize(
    ("rows", "selected", "queries", "recall", "method"),
    [
        (0, 1.0, 1, 1.0, "exact"),
        (search_plan.CERTIFIED_ROWS - 1, 1.0, 1, 1.0, "exact"),
        (search_plan.CERTIFIED_ROWS, 1.0, 1, 1.0, "certified"),
        (search_plan.CERTIFIED_ROWS, search_plan.GATHER_SHARE, 1, 1.0, "certified"),
        (1_000_000, 0.01, 1, 0.9, "gather"),
        (10, 0.01, 64, 1.0, "gather"),
        (1_000, 1.0, search_plan.BATCH_QUERIES, 1.0, "batch"),
        (1_000_000, 1.0, search_plan.BATCH_BEATS_CERTIFIED - 1, 1.0, "certified"),
        (1_000_000, 1.0, search_plan.BATCH_BEATS_CERTIFIED, 1.0, "batch"),
        (search_plan.BITS_ROWS, 1.0, 1, 0.99, "bits"),
        (search_plan.BITS_ROWS - 1, 1.0, 1, 0.99, "certified"),
        (1_000_000, 1.0, search_plan.BATCH_BEATS_BITS - 1, 0.99, "bits"),
        (1_000_000, 1.0, search_plan.BATCH_BEATS_BITS, 0.99, "batch"),
    ],
)
def test_sizes_choose_the_method(rows: int, selected: float, queries: int, recall: float, method: str) -> None:
    plan = plan_search(rows=rows, dimensions=256, selected=selected, queries=queries, recall=recall)

    assert plan.method == method


def test_a_plan_says_which_sizes_decided() -> None:
    assert "0.5%" in plan_search(rows=90_000, dimensions=8, selected=0.005).why
    assert "1,000,000 rows of 256 dimensions" in plan_search(rows=1_000_000, dimensions=256).why
    assert "0.99" in plan_search(rows=1_000_000, dimensions=256, recall=0.99).why
    assert "12 queries" in plan_search(rows=90_000, dimensions=8, queries=12).why


def test_nothing_but_a_stated_recall_leads_to_an_approximate_search() -> None:
    methods = {
        plan_search(rows=rows, dimensions=256, selected=selected, queries=queries).method
        for rows in (10, 10**5, 10**7)
        for selected in (0.01, 1.0)
        for queries in (1, 5, 64)
    }

    assert "bits" not in methods
