"""Each baseline does what its source says of the system that it stands for."""

import json

import numpy as np
import pytest

from benchmarks.baselines import BASELINES
from benchmarks.baselines.anthropic_bm25 import AnthropicBm25
from benchmarks.baselines.anthropic_regex import AnthropicRegex, pattern
from benchmarks.baselines.fastmcp_proxy import FastMcpProxy, compact
from benchmarks.baselines.litellm_preselect import LiteLlmPreselect
from benchmarks.baselines.spring_ai import SpringAi
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryMaker
from gateway.bench.tokens.playing import Stage, play_simulated
from gateway.bench.tokens.scripted_policy import ScriptRules
from gateway.chat.messages import ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from tests.gateway.bench.tokens.shop import shop_catalog, single


def _view(catalog: BenchCatalog) -> CatalogView:
    return CatalogView(catalog, np.arange(len(catalog.tools)))


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=json.dumps(arguments))


@pytest.mark.parametrize("make", BASELINES)
async def test_every_baseline_plays_a_conversation_and_names_its_source(make: DeliveryMaker) -> None:
    catalog = await shop_catalog()
    delivery = make(catalog)
    stage = Stage(catalog, single(), seed=1, rules=ScriptRules(slip_share=0))

    play = await play_simulated(stage, delivery, _view(catalog), k=5)

    assert delivery.source
    assert play.requests[-1].completion_tokens > 0
    assert len(play.called) == 1


@pytest.mark.parametrize("make", BASELINES)
async def test_no_baseline_finds_what_its_view_does_not_hold(make: DeliveryMaker) -> None:
    catalog = await shop_catalog()
    rows = np.array([row for row, tool in enumerate(catalog.tools) if tool.namespace != "order"])

    found = await make(catalog).open(CatalogView(catalog, rows), k=5, seed=1).rank("refund it", "refund an order", 5)

    assert set(found) <= set(rows.tolist())


async def test_spring_answers_with_names_and_shows_their_definitions_in_another_order_each_round() -> None:
    catalog = await shop_catalog()
    run = SpringAi(catalog).open(_view(catalog), k=5, seed=1)

    answer = await run.answer_search(_call("toolSearchTool", query="Refund the order of a shop"))
    told = ToolResponseMessage(responses=(ToolResponse(id="c", name="toolSearchTool", content=answer),))
    lists = [[tool.name for tool in run.offered([told])] for _ in range(4)]

    assert len(json.loads(answer)) == 5
    assert {frozenset(names) for names in lists} == {frozenset({"toolSearchTool", *json.loads(answer)})}
    assert len({tuple(names) for names in lists}) > 1


async def test_anthropic_puts_definitions_into_the_result_and_leaves_the_list_alone() -> None:
    catalog = await shop_catalog()
    run = AnthropicBm25(catalog).open(_view(catalog), k=3, seed=1)

    answer = await run.answer_search(_call("tool_search_tool_bm25", query="refund order"))

    assert [json.loads(line)["name"] for line in answer.splitlines()][0] == "order__refund_order"
    assert len(run.offered([])) == 1
    assert await run.answer_search(_call("tool_search_tool_bm25", query="zzz")) == "No tools found."


async def test_a_regex_finds_in_the_order_of_the_catalog_and_ranks_nothing() -> None:
    catalog = await shop_catalog()
    run = AnthropicRegex(catalog).open(_view(catalog), k=3, seed=1)

    assert pattern("please refund an order") == "please.*refund|refund.*please"
    found = await run.rank("", "refund order", 3)
    assert found == sorted(found)
    assert [catalog.tools[row].name for row in found] == ["refund_order"]
    assert len(await run.rank("", "refund zzz", 3)) == 3


async def test_a_preselect_filters_by_the_last_user_message_and_falls_back_to_all_tools() -> None:
    catalog = await shop_catalog()
    run = LiteLlmPreselect(catalog).open(_view(catalog), k=5, seed=1)

    assert len(run.offered([UserMessage(content="zzz"), UserMessage(content="Refund the order of a shop")])) == 5
    assert len(run.offered([UserMessage(content="")])) == 40


async def test_a_proxy_tells_its_finds_in_a_few_lines_of_text() -> None:
    catalog = await shop_catalog()
    run = FastMcpProxy(catalog).open(_view(catalog), k=2, seed=1)

    answer = await run.answer_search(_call("search_tools", query="refund order"))

    assert answer.startswith("### order__refund_order\nRefund the order of a shop.")
    assert "- `order_id` (string, required): The order_id it is about." in answer
    assert compact(catalog.specs[0]) in await run.answer_search(_call("search_tools", query="create order"))
    assert [tool.name for tool in run.offered([])] == ["search_tools", "call_tool"]
