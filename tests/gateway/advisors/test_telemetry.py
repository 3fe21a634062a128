"""Spans around model and tool calls."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.advisors.telemetry import ChatSpanAdvisor
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import Usage
from gateway.chat.messages import AssistantMessage, ToolCall, UserMessage
from gateway.chat.prompt import ChatOptions, Prompt
from gateway.client import ChatClient
from gateway.errors import ModelError
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.function import tool
from gateway.tools.manager import ToolCallingManager
from gateway.tools.telemetry import ToolSpans
from tests.gateway.catalog import catalog

both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])


class Recorder:
    """As much of a tracer as is used here; keeps ended spans."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, dict[str, Any]]] = []

    def start_span(self, name: str, *, kind: Any = None, attributes: dict[str, Any]) -> "Recorded":
        return Recorded(self, name, dict(attributes))

    @contextmanager
    def start_as_current_span(self, name: str, *, attributes: dict[str, Any]) -> Generator["Recorded"]:
        span = self.start_span(name, attributes=attributes)
        try:
            yield span
        finally:
            span.end()


class Recorded:
    def __init__(self, recorder: Recorder, name: str, attributes: dict[str, Any]) -> None:
        self._recorder = recorder
        self._name = name
        self._attributes = attributes

    def set_attribute(self, name: str, value: Any) -> None:
        self._attributes[name] = value

    def end(self) -> None:
        self._recorder.ended.append((self._name, self._attributes))


def count(prompt: Prompt, message: AssistantMessage) -> Usage:
    return Usage(prompt_tokens=10, completion_tokens=2, details={"prompt_tokens_details": {"cached_tokens": 4}})


@tool
def fails() -> None:
    raise ValueError("no")


async def run(model: ScriptedChatModel, *, streamed: bool) -> Recorder:
    recorder: Any = Recorder()
    advisor = ToolSearchToolCallingAdvisor(
        await catalog(), manager=ToolCallingManager(around=ToolSpans(recorder)), callbacks=[fails]
    )
    client = ChatClient(model, advisors=[advisor, ChatSpanAdvisor(recorder)])
    prompt = Prompt(messages=(UserMessage(content="secret"),), options=ChatOptions(model="m"))
    try:
        if streamed:
            async for _ in client.stream(prompt):
                pass
        else:
            await client.call(prompt)
    except ModelError:
        pass
    return recorder


@both
async def test_model_calls_searches_and_tools_have_spans_with_their_figures_and_no_words(streamed: bool) -> None:
    model = ScriptedChatModel(wish("search_tools", queries=["secret"]), wish("fails"), "done", count_usage=count)
    recorder = await run(model, streamed=streamed)
    assert [name for name, _ in recorder.ended] == [
        "chat m",
        "retrieval search_tools",
        "chat m",
        "execute_tool fails",
        "chat m",
    ]
    assert recorder.ended[0][1] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.response.model": "m",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 4,
    }
    assert "error.type" not in recorder.ended[1][1]
    assert recorder.ended[3][1]["error.type"] == "tool_error"
    assert "secret" not in str(recorder.ended)


@both
async def test_a_failed_model_call_is_marked(streamed: bool) -> None:
    recorder = await run(ScriptedChatModel(ModelError("down")), streamed=streamed)
    assert [(name, attributes["error.type"]) for name, attributes in recorder.ended] == [("chat m", "ModelError")]


async def test_without_a_tracer_that_of_the_process_is_used() -> None:
    client = ChatClient(ScriptedChatModel(wish("fails"), "done"), advisors=[ChatSpanAdvisor()], tools=[fails])
    assert (await client.call("x")).text == "done"
    assert ToolSpans() is not None


@both
async def test_spans_hold_only_texts_that_can_be_sent(streamed: bool) -> None:
    """Half a character in one span would keep a whole batch of them from being exported."""
    recorder: Any = Recorder()
    half = "m\ud83d"
    broken = AssistantMessage(tool_calls=(ToolCall(id=half, name=half, arguments="{}"),))
    client = ChatClient(
        ScriptedChatModel(broken, "done"),
        advisors=[
            ChatSpanAdvisor(recorder),
            ToolCallingAdvisor(manager=ToolCallingManager(around=ToolSpans(recorder))),
        ],
    )
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(model=half))
    if streamed:
        async for _ in client.stream(prompt):
            pass
    else:
        await client.call(prompt)
    assert [name for name, _ in recorder.ended] == ["chat m\\ud83d", "execute_tool m\\ud83d", "chat m\\ud83d"]
    assert all(str(value).encode() for _, attributes in recorder.ended for value in attributes.values())
