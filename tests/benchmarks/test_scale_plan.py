"""The plan keeps to its own rules, and the page to the plan."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.scale_measured import MeasuredCatalog, View
from benchmarks.scale_page import agrees, text_tables, written
from benchmarks.scale_plan import PAGE, Demand, newest, planned

DEMAND = Demand(tools=100_000, agents=1_000, searches_per_second=200, changes_per_second=5)


def catalog(rows: int, views: Mapping[int, float]) -> dict[str, Any]:
    """A catalog whose searches take a constant time alone, and half of it each in a batch of eight."""
    searches = [
        {"view_rows": view, "recall": 1.0, "batch": batch, "milliseconds": [time, time]}
        for view, alone in views.items()
        for batch, time in ((1, alone), (8, alone * 4))
    ]
    return {
        "rows": rows,
        "bytes_per_tool": {"vectors": 1000.0, "lexical": 500.0},
        "searches": searches,
        "follower": {"tools_per_second": 1000.0, "batch": 128, "stall_seconds": 0.01},
        "compaction": {"processor_seconds": 1.0, "stall_seconds": 0.1},
        "snapshot": {
            "bytes": rows * 5000,
            "save_processor_seconds": 0.5,
            "save_stall_seconds": 0.01,
            "load_seconds": 1.0,
        },
        "garbage_collection_seconds": 0.01,
    }


COSTS: dict[str, Any] = {
    "machine": {"processor": "P", "cores": 2, "load": 0.1, "python": "3.11"},
    "catalogs": [catalog(10_000, {10_000: 2.0}), catalog(100_000, {100_000: 20.0, 10_000: 3.0})],
    "contention": {"rows": 100_000, "processes": 2, "slower": 1.5},
    "store_bytes_per_tool": 6000.0,
    "server": {
        "processor_milliseconds_per_search": 1.0,
        "bytes_per_connection": 10_000,
        "resident_bytes_without_catalog": 100_000_000,
    },
}


def test_a_process_carries_what_its_best_batch_allows_beside_a_busy_neighbour() -> None:
    measured = MeasuredCatalog(COSTS["catalogs"][1], COSTS)
    rate, batch = measured.capacity(View(10_000))
    assert (batch, rate) == (8, pytest.approx(8 / (0.012 * 1.5 + 8 * 0.001)))
    assert measured.alone_seconds(View(10_000)) == pytest.approx(0.003 * 1.5 + 0.001)


def test_every_layout_keeps_to_its_target_and_is_not_too_busy() -> None:
    plan = planned(COSTS, DEMAND, seconds=30)
    assert [(one["name"], one["groups"]) for one in plan["layouts"]] == [
        ("all tools in every gateway, tenants of 10,000", 1),
        ("ten groups, tenants of 10,000", 10),
    ]
    for one in plan["layouts"]:
        assert one["kept"]
        assert one["p50_milliseconds"] <= one["p99_milliseconds"] <= one["target_milliseconds"]
        assert one["p99_without_it_milliseconds"] <= one["target_milliseconds"]
        assert one["busy"] <= 0.75
        assert one["headroom"] >= 1
        assert one["nodes"] * 2 == one["processes"]
        assert one["tried_again"] > 0
    whole, tenth = plan["layouts"]
    # A hundred thousand tools of 1,500 bytes, 1,000 agents on four processes, and the process itself.
    assert whole["memory_of_a_process_gigabytes"] == pytest.approx(0.15 + 0.0025 + 0.1, abs=0.01)
    assert tenth["memory_of_a_process_gigabytes"] < whole["memory_of_a_process_gigabytes"]
    # A start of a second, then what a snapshot may lack and the changes of a minute and a second, a thousand a second.
    assert whole["back_after_seconds"] == pytest.approx(1.0 + (1562 + 5 * 61) / 1000, abs=0.06)
    assert 0.2 < whole["follower_lag_seconds"]["p50"] < 0.3 < whole["follower_lag_seconds"]["p99"] < 0.55
    assert plan["store"]["gigabytes_of_a_node"] == pytest.approx(100_000 * 6000 * 2 / 3 / 1e9, abs=0.05)
    assert plan == planned(COSTS, DEMAND, seconds=30)


def test_the_figures_are_written_between_their_marks_and_nowhere_else() -> None:
    plan = planned(COSTS, DEMAND, seconds=30)
    page = PAGE.read_text(encoding="utf-8")
    filled = written(page, plan)
    assert agrees(filled, plan) == ""
    assert written(filled, plan) == filled
    assert "200 |" in filled and "200 |" in text_tables(plan)
    changed = {**plan, "store": {**plan["store"], "shards": 7}}
    assert "'store' differs" in agrees(filled, changed)
    assert "not each of" in agrees("no marks", plan)
    with pytest.raises(ValueError, match="no table 'unknown'"):
        written("<!-- figures: unknown -->\n<!-- end -->", plan)


def test_the_page_holds_the_figures_of_the_kept_plan_and_no_others() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert agrees(page, json.loads(newest("scale-plan").read_text(encoding="utf-8"))) == ""
    prose = re.sub(r"<!-- figures.*?<!-- end -->|```.*?```|`[^`]*`", "", page, flags=re.DOTALL)
    assert re.findall(r"\d+", prose) == []
