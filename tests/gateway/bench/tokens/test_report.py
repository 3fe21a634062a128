"""The whole benchmark over small catalogs, and what it writes."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.baselines import BASELINES
from gateway.bench.tokens.drawn import draw_conversations
from gateway.bench.tokens.html_report import render_html
from gateway.bench.tokens.plots import headline_plot
from gateway.bench.tokens.report import BenchmarkSettings, run_benchmark
from gateway.bench.tokens.sweep import ALL_TOOLS, APPEND, HASH_ORDER, PASSTHROUGH, SweepSettings, sizes_for
from gateway.bench.tokens.text_report import render_text
from indexer import RejectedTool, ToolDefinition
from indexer.sources import open_source
from tests.gateway.bench.tokens.shop import shop_catalog, shop_tools, single, three_turns

_SETTINGS = BenchmarkSettings(sweep=SweepSettings(sizes=(5, 20, 40), seeds=(1, 2)))


@pytest.fixture(scope="module")
async def record() -> dict[str, Any]:
    """What the tests that only read share."""
    return await _measure()


async def _measure(
    tools: Sequence[ToolDefinition | RejectedTool] | None = None, settings: BenchmarkSettings = _SETTINGS
) -> dict[str, Any]:
    catalog = await shop_catalog(tools)
    return await run_benchmark(catalog, [single(), three_turns()], BASELINES, settings)


async def test_a_run_measures_every_delivery_at_every_size_for_every_group(record: dict[str, Any]) -> None:
    groups = {group["group"]: group for group in record["groups"]}
    assert set(groups) == {"all", "1 turn", "3 turns", "in en", "single tool", "multi tool"}
    rows = groups["all"]["rows"]
    assert {row["tools"] for row in rows} == {5, 20, 40}
    names = {row["delivery"] for row in rows}
    assert {ALL_TOOLS, APPEND, HASH_ORDER, PASSTHROUGH, "call-through", "Spring AI", "FastMCP-style proxy"} <= names
    largest = {row["delivery"]: row for row in rows if row["tools"] == 40}
    assert largest[APPEND]["saved"][0] > 0
    assert largest[APPEND]["saved"][1] <= largest[APPEND]["saved"][0] <= largest[APPEND]["saved"][2]
    assert largest[APPEND]["requests_per_turn"] > largest[ALL_TOOLS]["requests_per_turn"]
    assert largest[APPEND]["added_seconds_per_turn"] > 0
    assert largest[ALL_TOOLS]["saved"][0] == 0
    assert largest[ALL_TOOLS]["all_visible_when_needed"] == [1.0, 1.0, 1.0]


async def test_another_order_costs_no_more_tokens_but_reads_no_more_from_the_cache(record: dict[str, Any]) -> None:
    rows = record["groups"][0]["rows"]
    append, hashed = ({row["tools"]: row for row in rows if row["delivery"] == name} for name in (APPEND, HASH_ORDER))

    for size in append:
        assert append[size]["prompt_tokens"] == hashed[size]["prompt_tokens"]
        for ours, theirs in zip(append[size]["cost"], hashed[size]["cost"], strict=True):
            assert ours["cached_read"] >= theirs["cached_read"]


async def test_every_prompt_token_is_uncached_written_or_read(record: dict[str, Any]) -> None:
    for row in record["groups"][0]["rows"]:
        for cost in row["cost"]:
            parts = cost["uncached"] + cost["cache_written"] + cost["cached_read"]
            assert parts == pytest.approx(row["prompt_tokens"][0], abs=0.2)


async def test_the_same_seed_gives_the_same_json(record: dict[str, Any]) -> None:
    assert json.dumps(await _measure()) == json.dumps(record)


async def test_break_even_has_its_interval_and_passthrough_below_it_costs_no_more_than_all_tools(
    record: dict[str, Any],
) -> None:
    by = [one["by"] for one in record["break_even"]]
    assert by == ["tokens sent", *(f"price of {price.model}" for price in _SETTINGS.prices)]
    for one in record["break_even"]:
        assert one["tools"][1] <= one["tools"][0] <= one["tools"][2]
    assert record["passthrough"]["budget_tokens"] > 0
    assert record["passthrough"]["worst_ratio_to_all_tools"] <= 1


async def test_the_report_opens_with_the_answer_in_two_sentences(record: dict[str, Any]) -> None:
    text = render_text(record)

    assert text.startswith(record["answer"])
    assert record["answer"].count(". ") == 1
    assert "| tools | all tools, tokens |" in text
    assert "| tools | delivery |" in text
    assert "exact vocabulary" in text
    assert "No real model took part" in text


async def test_the_page_needs_nothing_from_elsewhere(record: dict[str, Any]) -> None:
    page = render_html(record)

    assert page.index("answer") < page.index("<table>")
    assert "<script" not in page
    assert "<link" not in page
    assert 'src="' not in page


async def test_the_page_has_plots_where_matplotlib_is_installed(record: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")

    page = render_html(record)

    assert page.count("<svg") == 5
    assert page == render_html(record)
    assert headline_plot(record["groups"][0]).startswith("<svg")


async def test_an_empty_catalog_is_said_to_be_nothing_to_measure() -> None:
    record = await _measure([])

    assert record["answer"].startswith("Nothing was measured")
    assert record["groups"] == []
    assert "2 left out because a tool that they need is not in the catalog" in render_text(record)
    assert "Nothing was measured" in render_html(record)
    assert draw_conversations([]) == []


async def test_a_catalog_of_one_tool_is_measured() -> None:
    (refund,) = (tool for tool in shop_tools() if tool.name == "refund_order" and tool.namespace == "order")

    record = await _measure([refund])

    rows = record["groups"][0]["rows"]
    assert {row["tools"] for row in rows} == {1}
    assert record["conversations"]["played"] == 1
    passed = next(row for row in rows if row["delivery"] == PASSTHROUGH)
    assert passed["all_visible_when_needed"][0] == 1


async def test_a_definition_larger_than_the_context_window_is_counted_and_said() -> None:
    giant = ToolDefinition(name="giant", namespace="order", description="Refund " + "words and words " * 2000)

    record = await _measure([*shop_tools(), giant], replace(_SETTINGS, context_window=4_000))

    assert record["catalog"]["larger_than_context"] == 1
    assert record["catalog"]["largest_tool_tokens"] > 4_000
    assert "1 tools are larger than a whole context by themselves" in render_text(record)


async def test_the_second_tool_of_a_name_is_left_out_and_said() -> None:
    double = ToolDefinition(name="refund_order", namespace="order", description="Another one of this name.")

    record = await _measure([*shop_tools(), double])

    assert record["catalog"]["tools"] == 40
    assert record["catalog"]["refused"] == 1
    assert "the same namespace and name as an earlier tool" in render_text(record)


async def test_a_broken_line_of_a_catalog_is_left_out_and_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    lines = [json.dumps({"name": tool.name, "namespace": tool.namespace, "description": tool.description,
                         "input_schema": tool.input_schema}) for tool in shop_tools()]  # fmt: skip
    file.write_text("\n".join([*lines[:3], "{broken", *lines[3:]]))

    record = await _measure(list(open_source(str(file)).entries()))

    assert record["catalog"]["tools"] == 40
    assert record["catalog"]["first_refused"][0]["place"] == "line 4"


def test_sizes_end_with_the_whole_of_a_catalog_that_lies_between_two() -> None:
    assert sizes_for((10, 30, 100), 57) == (10, 30, 57)
    assert sizes_for((10, 30, 100), 100) == (10, 30, 100)
    assert sizes_for((10, 30), 100) == (10, 30)
    assert sizes_for((10,), 0) == ()


def test_conversations_are_drawn_from_a_catalog_that_has_none() -> None:
    drawn = draw_conversations(shop_tools(), count=4)

    assert [len(one.turns) for one in drawn] == [1, 3, 3, 10]
    assert drawn == draw_conversations(shop_tools(), count=4)
    assert drawn[0].turns[0].needs[0].queries[0].endswith("of a shop.")
