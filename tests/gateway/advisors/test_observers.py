"""Advisors that only look: logger, traces and metrics, for call and stream."""

import logging

import pytest

from gateway.advisors.chain import Advisor
from gateway.advisors.logger import SimpleLoggerAdvisor
from gateway.advisors.metrics import (
    CALLS,
    ITERATIONS,
    OTHER,
    TOKENS,
    CountingSink,
    OpenTelemetrySink,
    ToolLabels,
    ToolLoopMetricsAdvisor,
)
from gateway.advisors.trace import ThinkTraceAdvisor, Thought, ToolCallTraceAdvisor, ToolTrace
from gateway.chat.exchange import Usage
from gateway.chat.messages import AssistantMessage, ToolCall, UserMessage
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.function import FunctionToolCallback, tool

both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def count(prompt: Prompt, message: AssistantMessage) -> Usage:
    return Usage(prompt_tokens=10 * len(prompt.messages), completion_tokens=3)


def model() -> ScriptedChatModel:
    thinking = AssistantMessage(content="4", reasoning="two times two")
    return ScriptedChatModel([wish("double", number=2), wish("made_up")], thinking, count_usage=count)


async def run(advisor: Advisor, *, streamed: bool) -> None:
    client = ChatClient(model(), advisors=[advisor], tools=[double])
    if streamed:
        async for _ in client.stream("two times two?"):
            pass
    else:
        await client.call("two times two?")


@both
async def test_the_logger_writes_a_line_in_and_a_line_out_for_each_round(
    streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="gateway.advisors.logger"):
        await run(SimpleLoggerAdvisor(), streamed=streamed)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 4
    assert "'two times two?'; tools: double" in lines[0]
    assert 'double({"number":2})' in lines[1] and "tool_calls; 10+3 tokens" in lines[1]
    assert "double: 4" in lines[2]
    assert lines[3].endswith("'4'; stop; 30+3 tokens")


async def test_the_logger_can_be_told_to_keep_texts_out(caplog: pytest.LogCaptureFixture) -> None:
    advisor = SimpleLoggerAdvisor(request_text=lambda _: "hidden", response_text=lambda _: "hidden")
    with caplog.at_level(logging.DEBUG, logger="gateway.advisors.logger"):
        await run(advisor, streamed=False)
    assert "two times two" not in caplog.text


@both
async def test_calls_and_results_are_traced_in_order(streamed: bool) -> None:
    seen: list[ToolTrace] = []
    await run(ToolCallTraceAdvisor(seen.append), streamed=streamed)
    assert [str(entry) for entry in seen[:3]] == ['-> double({"number":2})', "-> made_up({})", "<- double: 4"]
    assert str(seen[3]).startswith("<- made_up failed: Error: there is no tool")
    assert len({entry.run_id for entry in seen}) == 1 and seen[0].run_id


@both
async def test_a_result_that_is_the_answer_is_traced_too(streamed: bool) -> None:
    @tool(return_direct=True)
    def report() -> str:
        return "the report"

    lines: list[str] = []
    advisor = ToolCallTraceAdvisor(lambda trace: lines.append(str(trace)))
    client = ChatClient(ScriptedChatModel(wish("report")), advisors=[advisor], tools=[report])
    if streamed:
        _ = [event async for event in client.stream("go")]
    else:
        await client.call("go")
    assert lines == ["-> report({})", "<- report: the report"]


@both
async def test_thinking_is_traced(streamed: bool) -> None:
    seen: list[Thought] = []
    await run(ThinkTraceAdvisor(seen.append), streamed=streamed)
    assert [entry.text for entry in seen] == ["two times two"]


async def test_traces_go_to_the_console_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    await run(ToolCallTraceAdvisor(), streamed=False)
    assert "-> double" in capsys.readouterr().err
    await run(ThinkTraceAdvisor(), streamed=False)
    assert capsys.readouterr().err == ".. two times two\n"


@both
async def test_rounds_calls_and_tokens_are_counted(streamed: bool) -> None:
    sink = CountingSink()
    advisor = ToolLoopMetricsAdvisor(sink, OpenTelemetrySink())
    await run(advisor, streamed=streamed)
    await run(advisor, streamed=streamed)
    assert sink.count(ITERATIONS) == 4
    assert sink.count(CALLS, tool="double") == 2
    assert sink.count(CALLS, tool=OTHER) == 2
    assert sink.count(TOKENS, kind="prompt", iteration="1") == 20
    assert sink.count(TOKENS, kind="prompt", iteration="2") == 60
    assert sink.count(TOKENS, kind="completion", iteration="2") == 6


async def test_the_number_of_tool_names_is_bounded() -> None:
    sink = CountingSink()
    tools = [named(f"tool_{number}") for number in range(5)]
    wishes = [wish(f"tool_{number}", number=1) for number in range(5)]
    advisor = ToolLoopMetricsAdvisor(sink, max_tool_names=2)
    await ChatClient(ScriptedChatModel(wishes, "done"), advisors=[advisor], tools=tools).call("x")
    assert [sink.count(CALLS, tool=name) for name in ("tool_0", "tool_1", "tool_2", OTHER)] == [1, 1, 0, 3]


def test_the_most_used_tools_have_labels_and_their_number_stays_bounded() -> None:
    labels = ToolLabels(2)
    assert [labels.of(name) for name in "aabcccc"] == ["a", "a", "b", OTHER, "c", "c", "c"]
    assert [labels.of(name) for name in "ba"] == [OTHER, "a"]
    shown = {labels.of(f"tool_{number % 7 * number}") for number in range(5000)}
    assert len(shown - {"a", "b", "c", OTHER}) <= 1


def named(name: str) -> FunctionToolCallback:
    return tool(name=name)(double)


def test_counts_are_rendered_for_prometheus() -> None:
    sink = CountingSink()
    sink.add(ITERATIONS, 2, {})
    sink.add(CALLS, 1, {"tool": 'a"b\\c\n'})
    assert sink.prometheus_text().splitlines() == [
        "# HELP agent_tool_calls_total Tool calls that models asked for, by tool.",
        "# TYPE agent_tool_calls_total counter",
        'agent_tool_calls_total{tool="a\\"b\\\\c\\n"} 1',
        "# HELP agent_tool_loop_iterations_total Model calls made by tool loops.",
        "# TYPE agent_tool_loop_iterations_total counter",
        "agent_tool_loop_iterations_total 2",
    ]
    assert CountingSink().prometheus_text() == ""


async def test_a_tools_name_with_half_a_character_does_not_keep_the_counts_from_going_out() -> None:
    """Names of a client's own tools are the client's; one such name answered every later scrape with 500."""
    sink = CountingSink()
    call = ToolCall(id="c", name="a\ud83d", arguments="{}")
    client = ChatClient(
        ScriptedChatModel(AssistantMessage(tool_calls=(call,))), advisors=[ToolLoopMetricsAdvisor(sink)]
    )
    own = ToolSpec(name="a\ud83d", description="", parameters={})
    await client.call(Prompt(messages=(UserMessage(content="go"),), tools=(own,)))
    assert sink.count(CALLS, tool="a\\ud83d") == 1
    assert 'agent_tool_calls_total{tool="a\\\\ud83d"} 1' in sink.prometheus_text().encode().decode()
