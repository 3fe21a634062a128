"""The demo over a small catalog: what it tells, and what it counts."""

import json
from pathlib import Path

from rich.console import Console

from gateway.chat.messages import AssistantMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from gateway.chat.prompt import Prompt
from gateway.chat.tokens import TokenCounter
from gateway.demo.catalog import is_indexed, note_indexed
from gateway.demo.requests import DEMO_REQUESTS
from gateway.demo.run import DemoRun, RequestOutcome
from gateway.demo.savings import CatalogTokens, Savings, count_catalog, savings_of, without_searches
from gateway.demo.telling import SilentListener, TerminalListener, document, layout_line, model_line, savings_table
from gateway.settings import GatewaySettings
from gateway.tools.client_tool import ClientToolFactory
from indexer import ToolDefinition, ToolExecutor, ToolIndex, model_alias
from tests.gateway.serving import memory_index

TOOLS = [
    ToolDefinition(
        name=name,
        namespace="cloud",
        description=description,
        input_schema={"type": "object", "properties": {"region": {"type": "string", "description": "Where."}}},
        executor=ToolExecutor(kind="simulated", config={"provider": "test"}),
    )
    for name, description in [
        ("ListBuckets", "List the storage buckets of an account."),
        ("RestartMachine", "Restart a virtual machine."),
        ("GetCosts", "What an account has spent in a month."),
        ("서버목록", "서버 목록을 조회합니다."),
    ]
]


async def filled_index() -> ToolIndex:
    index = memory_index()
    await index.register(TOOLS)
    return index


async def test_rounds_are_told_as_they_happen_with_scores_and_reasons(tmp_path: Path) -> None:
    index = await filled_index()
    out = Console(record=True, width=300, force_terminal=False)
    catalog = await count_catalog(index, TokenCounter(), home=tmp_path, progress=lambda done: None)
    [outcome] = await DemoRun(index, GatewaySettings(), catalog, TerminalListener(out, 1), home=tmp_path).run(
        ["Restart a virtual machine."]
    )
    told = out.export_text()
    assert "[1/1] Restart a virtual machine." in told
    assert "searches for: Restart a virtual machine" in told
    assert "cloud/RestartMachine" in told
    assert "words: " in told
    assert "calls cloud__RestartMachine" in told
    assert "simulated" in told
    assert outcome.model_calls == 3
    assert outcome.answer.startswith("Here is what the tools returned.")


async def test_counted_prompts_are_those_that_the_model_was_given(tmp_path: Path) -> None:
    index = await filled_index()
    listener = SilentListener()
    catalog = CatalogTokens(tools=4, total=1000)
    [outcome] = await DemoRun(index, GatewaySettings(), catalog, listener, home=tmp_path).run(["서버 목록을 보여 줘"])
    rounds = listener.requests[0]["rounds"]
    assert [entry["tools_in_sight"] for entry in rounds][0] == 1
    assert rounds[0]["searches"][0]["queries"] == ["서버 목록을 보여 줘"]
    assert sum(entry["prompt_tokens"] for entry in rounds) == outcome.savings.with_search


async def test_all_tools_are_counted_as_the_model_would_see_them_and_remembered(tmp_path: Path) -> None:
    index = await filled_index()
    counter = TokenCounter()
    heard: list[int] = []
    counted = await count_catalog(index, counter, home=tmp_path, progress=heard.append)
    ordered = sorted(TOOLS, key=lambda tool: (tool.namespace, tool.name))
    specs = [ClientToolFactory().callback_for(tool, model_alias(tool.key)).spec for tool in ordered]
    assert counted == CatalogTokens(tools=4, total=counter.count_tools(specs))
    assert heard == [4]
    assert await count_catalog(index, counter, home=tmp_path, progress=heard.append) == counted
    assert heard == [4], "the same catalog is not counted twice"
    await index.delete([TOOLS[0].key])
    changed = await count_catalog(index, counter, home=tmp_path, progress=heard.append)
    assert changed.total < counted.total


def test_with_all_tools_a_run_needs_no_searches_but_carries_the_catalog_each_time() -> None:
    counter = TokenCounter()
    question = UserMessage(content="restart it")
    search = AssistantMessage(tool_calls=(ToolCall(id="1", name="search_tools", arguments='{"queries":["restart"]}'),))
    found = ToolResponseMessage(responses=(ToolResponse(id="1", name="search_tools", content="{}"),))
    call = AssistantMessage(tool_calls=(ToolCall(id="2", name="restart", arguments="{}"),))
    done = ToolResponseMessage(responses=(ToolResponse(id="2", name="restart", content="ok"),))
    prompts = [
        Prompt(messages=(question,)),
        Prompt(messages=(question, search, found)),
        Prompt(messages=(question, search, found, call, done)),
    ]
    savings = savings_of(prompts, 10_000, counter)
    bare = [Prompt(messages=(question,)), Prompt(messages=(question, call, done))]
    assert savings.with_all_tools == sum(counter.count_prompt(prompt) for prompt in bare) + 2 * 10_000
    assert savings.with_search == sum(counter.count_prompt(prompt) for prompt in prompts)


def test_a_round_that_searches_and_calls_keeps_its_call() -> None:
    mixed = AssistantMessage(
        tool_calls=(
            ToolCall(id="1", name="search_tools", arguments="{}"),
            ToolCall(id="2", name="restart", arguments="{}"),
        )
    )
    results = ToolResponseMessage(
        responses=(
            ToolResponse(id="1", name="search_tools", content="{}"),
            ToolResponse(id="2", name="restart", content="ok"),
        )
    )
    kept = without_searches((mixed, results))
    assert isinstance(kept[0], AssistantMessage) and [call.name for call in kept[0].tool_calls] == ["restart"]
    assert isinstance(kept[1], ToolResponseMessage) and [one.name for one in kept[1].responses] == ["restart"]


def test_nothing_sent_saves_nothing() -> None:
    assert Savings(with_search=0, with_all_tools=0).saved == 0.0
    assert (Savings(with_search=1, with_all_tools=4) + Savings(with_search=1, with_all_tools=4)).saved == 0.75


async def test_a_request_that_fails_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    index = await filled_index()
    listener = SilentListener()
    unreachable = GatewaySettings(upstream_url="http://127.0.0.1:9/v1", upstream_model="m")
    catalog = CatalogTokens(tools=4, total=1000)
    outcomes = await DemoRun(index, unreachable, catalog, listener, home=tmp_path).run(["one", "two"])
    assert all(outcome.error for outcome in outcomes)
    assert [entry["request"] for entry in listener.requests] == ["one", "two"]


def test_the_demo_says_whether_its_model_is_real_and_how_tools_are_laid_out() -> None:
    assert "scripted" in model_line(GatewaySettings())
    told = model_line(GatewaySettings(upstream_url="http://me:secret@model/v1", upstream_model="m"))
    assert "real" in told and "secret" not in told
    small, large = (layout_line(TokenCounter(), CatalogTokens(tools=9, total=total)) for total in (10, 2_000_000))
    assert "TypeScript" in small
    assert "context" not in small
    assert "more than a context of a million tokens holds" in large


def test_the_table_and_the_document_add_up() -> None:
    outcomes = [
        RequestOutcome(request="a", model_calls=2, savings=Savings(with_search=100, with_all_tools=1000)),
        RequestOutcome(request="b", model_calls=3, savings=Savings(with_search=300, with_all_tools=3000)),
    ]
    total = outcomes[0].savings + outcomes[1].savings
    out = Console(record=True, width=100)
    out.print(savings_table(outcomes, total, width=100))
    shown = out.export_text()
    assert "90.00%" in shown and "4,000" in shown and "400" in shown
    text = document(SilentListener(), total, CatalogTokens(tools=1, total=9), GatewaySettings(), TokenCounter())
    assert json.loads(text)["total"] == {
        "prompt_tokens_with_all_tools": 4000,
        "prompt_tokens_with_tool_search": 400,
        "saved": 0.9,
    }


def test_eight_requests_two_of_them_in_korean() -> None:
    assert len(DEMO_REQUESTS) == 8
    korean = [request for request in DEMO_REQUESTS if any("가" <= character <= "힣" for character in request)]
    assert len(korean) == 2


def test_the_catalog_is_known_to_be_indexed_for_the_installed_packages(tmp_path: Path) -> None:
    assert not is_indexed(tmp_path)
    note_indexed(tmp_path)
    assert is_indexed(tmp_path)
    (tmp_path / "demo-catalog.json").write_text('{"botocore": "0.0"}')
    assert not is_indexed(tmp_path), "another version of the packages is another catalog"
