"""The tool calls of one round, run without the loop."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from gateway.chat.messages import Content, ToolCall
from gateway.chat.prompt import ToolSpec
from gateway.errors import AgentLoopDetectedError, ToolExecutionError
from gateway.tools.callback import ToolMetadata
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.loop_safety import ToolExecutionMetrics
from gateway.tools.manager import ToolCallingManager
from gateway.tools.resolver import DelegatingToolCallbackResolver, StaticToolCallbackResolver


def call(name: str, id: str = "c", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class Remote:
    """A tool that is not a Python function: its arguments are held to its schema."""

    spec = ToolSpec(
        name="remote",
        description="",
        parameters={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    )
    metadata = ToolMetadata()

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        return f"remote {arguments['id']} for {context.principal}"


async def test_results_come_in_call_order_with_their_ids() -> None:
    later = anyio.Event()

    @tool
    async def first() -> str:
        await later.wait()
        return "first"

    @tool
    async def second() -> str:
        later.set()
        return "second"

    with anyio.fail_after(5):
        message = await ToolCallingManager().execute([call("first", "a"), call("second", "b")], [first, second])
    assert [(one.id, one.content) for one in message.responses] == [("a", "first"), ("b", "second")]


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    running = most = 0

    @tool
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        running -= 1

    calls = [call("work", str(number)) for number in range(10)]
    await ToolCallingManager(max_concurrent_calls=3).execute(calls, [work])
    assert most == 3


async def test_the_context_is_handed_on_and_schemas_are_checked_for_other_tools() -> None:
    manager, context = ToolCallingManager(), ToolContext(principal="kim")
    good = await manager.execute([call("remote", id_="x", id="c")], [Remote()], context)
    assert good.responses[0].is_error
    message = await manager.execute(
        [
            ToolCall(id="1", name="remote", arguments='{"id": 4}'),
            ToolCall(id="2", name="remote", arguments='{"id": "4"}'),
        ],
        [Remote()],
        context,
    )
    assert message.responses[0].content == "remote 4 for kim"
    assert message.responses[1].is_error
    assert "id" in str(message.responses[1].content) and "do not repeat" in str(message.responses[1].content)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("{oops", "not valid JSON"), ("[1]", "one JSON object"), ("3", "one JSON object"), ('{"number": "x"}', "number:")],
)
async def test_bad_arguments_are_explained_to_the_model(arguments: str, said: str) -> None:
    message = await ToolCallingManager().execute([ToolCall(id="c", name="double", arguments=arguments)], [double])
    response = message.responses[0]
    assert response.is_error
    assert str(response.content).startswith("Error: ")
    assert said in str(response.content)
    assert "again" in str(response.content)


async def test_no_arguments_at_all_are_an_empty_object() -> None:
    @tool
    def ping() -> str:
        return "pong"

    message = await ToolCallingManager().execute([ToolCall(id="c", name="ping", arguments="")], [ping])
    assert message.responses[0].content == "pong"


async def test_an_unknown_name_is_answered_with_the_closest_visible_names_only() -> None:
    message = await ToolCallingManager().execute([call("doubel"), call("zzz")], [double, Remote()])
    assert "double" in str(message.responses[0].content)
    assert "remote" not in str(message.responses[0].content)
    assert "closest" not in str(message.responses[1].content)
    assert all(response.is_error for response in message.responses)


async def test_a_tools_own_error_says_what_to_do_next() -> None:
    @tool
    def fails() -> str:
        raise ToolExecutionError("The bucket does not exist.")

    @tool
    def knows_better() -> str:
        raise ToolExecutionError("Busy. Call it again in a minute")

    message = await ToolCallingManager().execute([call("fails"), call("knows_better")], [fails, knows_better])
    assert message.responses[0].content == (
        "Error: The bucket does not exist. Do not call this tool again with the same arguments: change them, or skip "
        "it and go on."
    )
    assert message.responses[1].content == "Error: Busy. Call it again in a minute"


async def test_an_unforeseen_failure_is_told_to_the_model_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def broken() -> str:
        raise ZeroDivisionError("by zero")

    @tool
    def timed_out_inside() -> str:
        raise TimeoutError("the database was slow")

    with caplog.at_level(logging.ERROR):
        message = await ToolCallingManager().execute(
            [call("broken"), call("timed_out_inside")], [broken, timed_out_inside]
        )
    assert "ZeroDivisionError: by zero" in str(message.responses[0].content)
    assert "the database was slow" in str(message.responses[1].content)
    assert "tool broken failed" in caplog.text


async def test_a_tool_that_takes_too_long_is_stopped_and_the_others_are_not() -> None:
    stopped = False

    @tool
    async def slow() -> None:
        nonlocal stopped
        try:
            await anyio.sleep_forever()
        finally:
            stopped = True

    message = await ToolCallingManager(tool_timeout_seconds=0.05).execute(
        [call("slow", "a"), call("double", "b", number=2)], [slow, double]
    )
    assert stopped
    assert "did not finish within 0.05 seconds" in str(message.responses[0].content)
    assert message.responses[1].content == "4"


@pytest.mark.parametrize("others", [0, 2])
async def test_a_guards_stop_passes_the_manager(others: int) -> None:
    @tool
    def guarded() -> str:
        raise AgentLoopDetectedError("enough")

    calls = [call("guarded"), *(call("double", number=1) for _ in range(others))]
    with pytest.raises(AgentLoopDetectedError, match="enough"):
        await ToolCallingManager().execute(calls, [guarded, double])


async def test_resolvers_ask_one_another_in_turn() -> None:
    resolver = DelegatingToolCallbackResolver(
        StaticToolCallbackResolver([Remote()]), StaticToolCallbackResolver([double])
    )
    assert await resolver.resolve("double", ToolContext()) is double
    assert await resolver.resolve("nobody", ToolContext()) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("[" * 100_000, "nested deeper than 256 levels"),
        ('{"id": ' + '{"a": ' * 600 + "1" + "}" * 600 + "}", "nested deeper than 256 levels"),
        ('{"id": 1e999}', "1e999 is too large for a number"),
        ('{"id": NaN}', "NaN is no JSON number"),
        ('{"id": "\\ud83d"}', "half of a character"),
        ('{"id": "\ud83d"}', "half of a character"),
    ],
)
async def test_arguments_that_no_tool_could_take_are_answered_and_end_nothing(arguments: str, said: str) -> None:
    broken = ToolCall(id="a", name="remote", arguments=arguments)
    guard = ToolExecutionMetrics()
    message = await ToolCallingManager().execute(
        [broken, ToolCall(id="b", name="remote", arguments="{}")], [Remote()], guard=guard
    )
    assert said in str(message.responses[0].content)
    assert message.responses[0].is_error
    assert message.responses[1].id == "b"


async def test_a_whole_character_written_as_two_escapes_is_taken() -> None:
    @tool
    async def say(text: str) -> str:
        return text

    message = await ToolCallingManager().execute(
        [ToolCall(id="a", name="say", arguments='{"text": "\\ud83d\\ude00"}')], [say]
    )
    assert message.responses[0].content == "\U0001f600"
