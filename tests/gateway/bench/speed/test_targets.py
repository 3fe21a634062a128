"""Targets: met, missed or not measured, and only with the right answers."""

from typing import Any

import pytest

from gateway.bench.speed import dense_rows as dense
from gateway.bench.speed.targets import TARGETS, verdicts


def _result(name: str, ms: float, ratio: float, recall: float = 1.0) -> dict[str, Any]:
    return {"name": name, "ms": [ms, ms, ms], "ratio": [ratio, ratio, ratio], "check": ["recall@10", recall]}


def _race(key: str, *results: dict[str, Any]) -> dict[str, Any]:
    return {"key": key, "title": key, "results": list(results), "skipped": {}}


def _met(races: list[dict[str, Any]], figures: list[dict[str, Any]] | None = None) -> dict[str, bool | None]:
    return {verdict.said: verdict.met for verdict in verdicts(races, figures or [])}


def test_a_run_that_measured_nothing_misses_nothing() -> None:
    assert set(_met([]).values()) == {None}


@pytest.mark.parametrize(("ratio", "met"), [(1.5, True), (1.4, True), (1.3, False)])
def test_a_lead_must_reach_its_bound(ratio: float, met: bool) -> None:
    race = _race("dense-100k-384", _result(dense.OWN, 1, 1), _result(dense.FAISS_FLAT, 2, ratio))

    assert _met([race])["dense-100k-384: toolscout >= 1.40 x faiss flat, recall 1"] is met


def test_a_lead_with_wrong_answers_is_none() -> None:
    race = _race("dense-100k-384", _result(dense.OWN, 1, 1, recall=0.9), _result(dense.FAISS_FLAT, 2, 9.0))

    assert _met([race])["dense-100k-384: toolscout >= 1.40 x faiss flat, recall 1"] is False


def test_our_shortcuts_are_compared_with_others_through_the_first_contender() -> None:
    race = _race(
        "dense-1m-384",
        _result(dense.OWN, 10, 1),
        _result(dense.BITS, 4, 0.4),
        _result(dense.FAISS_FLAT, 12, 1.2),
    )

    found = {one.said: (one.value, one.met) for one in verdicts([race], []) if one.value is not None}

    assert found == {
        "dense-1m-384: toolscout >= 2.50 x faiss flat, recall 1": (pytest.approx(1.2), False),
        "dense-1m-384: toolscout sign bits >= 5.00 x faiss flat, recall 0.99": (pytest.approx(3.0), False),
    }


@pytest.mark.parametrize(("ms", "met"), [(0.9, True), (1.1, False)])
def test_our_own_time_must_stay_below_its_bound(ms: float, met: bool) -> None:
    assert _met([_race("search-10k", _result(dense.OWN, ms, 1))])["search-10k <= 1 ms"] is met


@pytest.mark.parametrize(("value", "met"), [(5001.0, True), (4999.0, False)])
def test_a_figure_must_reach_its_bound(value: float, met: bool) -> None:
    figure = {"key": "load-100k", "value": value, "unit": "tools/s"}

    assert _met([], [figure])["load-100k >= 5,000 tools/s"] is met


@pytest.mark.parametrize(("exponent", "met"), [(1.05, True), (1.2, False)])
def test_a_cost_that_grows_faster_than_linearly_is_a_miss(exponent: float, met: bool) -> None:
    found = verdicts([], [], [{"cost": "whole search", "exponent": exponent}])

    assert found[-1].said == "growth of whole search: exponent <= 1.1"
    assert found[-1].met is met


def test_every_target_is_of_a_row_that_there_is() -> None:
    from gateway.bench.speed.figures import figure_rows
    from gateway.bench.speed.http_figures import http_rows
    from gateway.bench.speed.text_rows import text_rows

    keys = {key for key, _, _ in (*dense.dense_rows(), *text_rows(), *figure_rows(), *http_rows())}
    of_figures = {"memory-100k", "http-closed-10k", "http-open-p99-10k"}  # made beside others, under their own keys

    assert {target.row for target in TARGETS} <= keys | of_figures
