"""The fast counter gives what the gateway's counter gives."""

import pytest

from gateway.bench.tokens.meter import RequestMeter
from gateway.chat.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.chat.tokens import Encoding, TokenCounter
from gateway.chat.tool_layout import ToolLayout
from gateway.tools.client_tool import ClientToolFactory
from gateway.tools.search_tool import SEARCH_TOOL_SPEC
from indexer import model_alias
from tests.gateway.bench.tokens.shop import shop_tools


def _specs() -> list[ToolSpec]:
    factory = ClientToolFactory()
    return [factory.callback_for(tool, model_alias(tool.key)).spec for tool in shop_tools()]


@pytest.mark.parametrize("layout", ["openai", "json"])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_tools_cost_the_sum_of_what_each_adds(encoding: Encoding, layout: ToolLayout, count: int) -> None:
    tools = [SEARCH_TOOL_SPEC, *_specs()][:count]

    assert RequestMeter(encoding, layout).count_tools(tools) == TokenCounter(encoding, layout).count_tools(tools)


def test_a_prompt_costs_the_same_and_so_do_its_blocks() -> None:
    call = ToolCall(id="c1", name="search_tools", arguments='{"queries":["refund"]}')
    prompt = Prompt(
        messages=(
            SystemMessage(content="Be brief."),
            UserMessage(content="주문을 환불해 줘."),
            AssistantMessage(tool_calls=(call,)),
            ToolResponseMessage(responses=(ToolResponse(id="c1", name="search_tools", content='{"tools":[]}'),)),
        ),
        tools=(SEARCH_TOOL_SPEC, *_specs()),
    )
    meter = RequestMeter()

    assert meter.count_prompt(prompt) == TokenCounter().count_prompt(prompt) == meter.blocks(prompt).tokens


def test_a_tool_without_a_description_counts_too() -> None:
    bare = ToolSpec(name="bare", description="", parameters={"type": "object", "properties": {}})
    tools = (*_specs(), bare, *_specs())

    assert RequestMeter().count_tools(tools) == TokenCounter().count_tools(tools)


def test_a_list_of_thousands_is_one_block_that_costs_as_much() -> None:
    tools = tuple(_specs() * 20)
    blocks = RequestMeter().blocks(Prompt(messages=(UserMessage(content="Hello"),), tools=tools)).tools

    assert len(blocks) == 2
    assert sum(block.tokens for block in blocks) == TokenCounter().count_tools(tools)
