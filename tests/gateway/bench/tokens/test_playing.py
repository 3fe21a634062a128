"""One conversation under the product's loop and under others."""

import numpy as np
import pytest

from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.own_deliveries import AllTools, CallThrough
from gateway.bench.tokens.playing import AppendSettings, Stage, play_append, play_simulated
from gateway.bench.tokens.scripted_policy import ScriptRules
from gateway.chat.tokens import TokenCounter
from gateway.tools.search_tool import SEARCH_TOOL_NAME
from tests.gateway.bench.tokens.shop import shop_catalog, three_turns

_NEVER = ScriptRules(slip_share=0)


def _whole(catalog: BenchCatalog) -> CatalogView:
    return CatalogView(catalog, np.arange(len(catalog.tools)))


async def test_the_product_finds_calls_and_keeps_the_tools_of_earlier_turns() -> None:
    catalog = await shop_catalog()
    stage = Stage(catalog, three_turns(), seed=1, rules=_NEVER)

    play = await play_append(stage, catalog.index, _whole(catalog), AppendSettings(k=5))

    assert play.right(stage.conversation, stage.names)
    # Turn one: search, call, answer. Turn two: one search for both needs, both calls, answer. Turn three: answer.
    assert len(play.requests) == 7
    assert play.searches == 2
    lists = [[block.key for block in one.blocks.tools] for one in play.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in zip(lists, lists[1:], strict=False))
    assert play.requests[0].tools == 1
    assert play.wrong_calls(stage.conversation, stage.names) == 0


async def test_all_tools_needs_no_search_and_counts_every_tool_in_every_request() -> None:
    catalog = await shop_catalog()
    stage = Stage(catalog, three_turns(), seed=1, rules=_NEVER)
    view = _whole(catalog)

    play = await play_simulated(stage, AllTools(catalog), view, k=5)

    assert (len(play.requests), play.searches) == (5, 0)
    assert {one.tools for one in play.requests} == {40}
    assert view.tool_tokens == TokenCounter().count_tools(catalog.specs)
    assert all(one.prompt_tokens > view.tool_tokens for one in play.requests)


async def test_a_call_through_list_never_changes_and_its_calls_count() -> None:
    catalog = await shop_catalog()
    stage = Stage(catalog, three_turns(), seed=1, rules=_NEVER)

    play = await play_simulated(stage, CallThrough(catalog, catalog.index), _whole(catalog), k=5)

    assert play.right(stage.conversation, stage.names)
    assert {one.blocks.tools for one in play.requests} == {play.requests[0].blocks.tools}
    assert "order__refund_order" in play.called[0]


async def test_a_view_is_all_that_a_search_can_find() -> None:
    catalog = await shop_catalog()
    stage = Stage(catalog, three_turns(), seed=1, rules=_NEVER)
    rows = [row for row, tool in enumerate(catalog.tools) if tool.name != "refund_order"]

    play = await play_append(stage, catalog.index, CatalogView(catalog, np.array(rows)), AppendSettings(k=5))

    assert not play.right(stage.conversation, stage.names)
    assert "order__refund_order" not in play.called[0]


@pytest.mark.parametrize(("budget", "searched"), [(0, True), (100, True), (1_000_000, False)])
async def test_passthrough_sends_a_catalog_below_its_budget_whole(budget: int, searched: bool) -> None:
    catalog = await shop_catalog()
    stage = Stage(catalog, three_turns(), seed=1, rules=_NEVER)
    view = _whole(catalog)

    play = await play_append(stage, catalog.index, view, AppendSettings(k=5, passthrough_tokens=budget))
    plain = await play_simulated(stage, AllTools(catalog), view, k=5)

    assert (play.searches > 0) is searched
    if not searched:
        assert play.prompt_tokens == plain.prompt_tokens
        assert SEARCH_TOOL_NAME not in str(play.requests[0].blocks.tools)
