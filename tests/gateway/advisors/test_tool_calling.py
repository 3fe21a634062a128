"""The tool loop: rounds, hooks, ownership and ends."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from typing_extensions import override

from gateway.advisors.chain import CallAdvisorChain
from gateway.advisors.loop_run import ToolLoopRun
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.chat.exchange import (
    ChatClientRequest,
    ChatClientResponse,
    RoundFinished,
    RunEvent,
    RunFinished,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
)
from gateway.chat.messages import AssistantMessage, Message, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.errors import ModelError, TruncatedStreamError
from gateway.models.scripted import Cut, ScriptedChatModel, wish, with_calls
from gateway.tools.function import FunctionToolCallback, tool

CLIENT_TOOL = ToolSpec(
    name="open_file",
    description="",
    parameters={"type": "object"},
    wire={"type": "function", "function": {"name": "open_file", "x": 1}},
)


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def count(prompt: Prompt, message: AssistantMessage) -> Usage:
    return Usage(prompt_tokens=len(prompt.messages), completion_tokens=1, details={"d": {"cached": 1}})


async def run(
    model: ScriptedChatModel, asked: str | Prompt = "go", *, streamed: bool, advisor: ToolCallingAdvisor | None = None
) -> ChatClientResponse:
    """The same request by call or by stream: what is true of one must be true of the other."""
    client = ChatClient(model, advisors=[advisor or ToolCallingAdvisor()], tools=[double])
    if not streamed:
        return await client.call(asked)
    events = [event async for event in client.stream(asked)]
    assert isinstance(events[-1], RunFinished)
    assert sum(isinstance(event, RunFinished) for event in events) == 1
    return events[-1].response


both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])


@both
async def test_tools_run_until_the_model_answers(streamed: bool) -> None:
    model = ScriptedChatModel(
        with_calls("Let me see.", wish("double", number=2), wish("double", number=5)), "4 and 10", count_usage=count
    )
    response = await run(model, streamed=streamed)
    assert response.text == "4 and 10"
    user, asked, answered = model.prompts[1].messages
    assert user == UserMessage(content="go")
    assert isinstance(asked, AssistantMessage) and asked.content == "Let me see."
    assert isinstance(answered, ToolResponseMessage)
    assert [one.content for one in answered.responses] == ["4", "10"]
    assert response.context["rounds"] == 2
    assert response.context["stop_reason"] == "answer"
    assert response.context["usage"] == Usage(prompt_tokens=4, completion_tokens=2, details={"d": {"cached": 2}})
    assert response.response.usage == response.context["usage"]
    assert [type(one) for one in response.context["new_messages"]] == [
        AssistantMessage,
        ToolResponseMessage,
        AssistantMessage,
    ]


async def test_a_stream_shows_text_as_it_comes_and_tool_rounds_as_events() -> None:
    model = ScriptedChatModel(with_calls("Let me", wish("double", number=2)), "It is 4")
    events = [event async for event in ChatClient(model, tools=[double]).stream("go")]
    assert [type(event) for event in events] == [
        TextDelta, TextDelta, RoundFinished, ToolCallStarted, ToolCallFinished,
        TextDelta, TextDelta, TextDelta, RoundFinished, RunFinished,
    ]  # fmt: skip
    finished = events[4]
    assert isinstance(finished, ToolCallFinished)
    assert finished.response.content == "4"


@both
async def test_ten_rounds_run_and_an_eleventh_wish_ends_in_an_answer(streamed: bool) -> None:
    model = ScriptedChatModel(*[wish("double", number=number) for number in range(11)], "I stopped at the limit.")
    response = await run(model, streamed=streamed)
    assert response.text == "I stopped at the limit."
    assert response.context["stop_reason"] == "max_rounds"
    assert len(model.prompts) == 12
    last = model.prompts[-1]
    assert last.options.tool_choice == "none"
    assert last.tools == model.prompts[0].tools
    refused = last.messages[-1]
    assert isinstance(refused, ToolResponseMessage)
    assert "10 rounds" in str(refused.responses[0].content)
    ran = [one for one in last.messages if isinstance(one, ToolResponseMessage) and not one.responses[0].is_error]
    assert len(ran) == 10


@both
async def test_a_model_that_wants_tools_even_then_gets_none(streamed: bool) -> None:
    model = ScriptedChatModel(policy=lambda _: wish("double", number=1))
    response = await run(model, streamed=streamed, advisor=ToolCallingAdvisor(max_rounds=2))
    assert response.response.message.tool_calls == ()
    assert response.response.finish_reason == "stop"
    assert "2 rounds" in response.text


@both
async def test_a_direct_result_is_the_answer_only_if_every_tool_of_the_round_says_so(streamed: bool) -> None:
    @tool(return_direct=True)
    def receipt(order: str) -> str:
        return f"receipt {order}"

    client_model = ScriptedChatModel([wish("receipt", order="1"), wish("double", number=1)], "both")
    advisor = ToolCallingAdvisor(callbacks=[receipt])
    assert (await run(client_model, streamed=streamed, advisor=advisor)).text == "both"

    model = ScriptedChatModel([wish("receipt", order="1"), wish("receipt", order="2")])
    response = await run(model, streamed=streamed, advisor=advisor)
    assert response.text == "receipt 1\nreceipt 2"
    assert response.context["stop_reason"] == "return_direct"
    assert len(model.prompts) == 1

    failing = ScriptedChatModel(wish("receipt", number="1"), "sorry")
    assert (await run(failing, streamed=streamed, advisor=advisor)).text == "sorry"


@both
async def test_the_callers_tools_come_first_untouched_and_their_calls_are_returned(streamed: bool) -> None:
    model = ScriptedChatModel(with_calls("Opening.", wish("open_file", path="a")))
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(CLIENT_TOOL,))
    response = await run(model, prompt, streamed=streamed)
    assert [spec.name for spec in model.prompts[0].tools] == ["open_file", "double"]
    assert model.prompts[0].tools[0] is CLIENT_TOOL
    assert [call.name for call in response.response.message.tool_calls] == ["open_file"]
    assert response.text == "Opening."
    assert response.response.finish_reason == "tool_calls"
    assert response.context["stop_reason"] == "client_tools"
    assert response.context["returned_tools"] == ()


@both
async def test_of_a_mixed_round_nothing_runs_and_only_the_callers_calls_are_returned(streamed: bool) -> None:
    ran: list[int] = []

    @tool
    def note(number: int) -> None:
        ran.append(number)

    model = ScriptedChatModel([wish("note", number=1), wish("open_file", path="a"), wish("no_such_tool")])
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(CLIENT_TOOL,))
    response = await run(model, prompt, streamed=streamed, advisor=ToolCallingAdvisor(callbacks=[note]))
    assert [call.name for call in response.response.message.tool_calls] == ["open_file"]
    assert ran == []


@both
async def test_a_callers_tool_wins_over_one_of_ours_with_its_name(streamed: bool) -> None:
    theirs = ToolSpec(name="double", description="theirs", parameters={"type": "object"})
    model = ScriptedChatModel(wish("double", number=1))
    response = await run(model, Prompt(messages=(UserMessage(content="go"),), tools=(theirs,)), streamed=streamed)
    assert model.prompts[0].tools == (theirs,)
    assert response.context["stop_reason"] == "client_tools"


@both
@pytest.mark.parametrize(
    ("choice", "then"),
    [
        ("required", "auto"),
        ("auto", "auto"),
        (None, None),
        ({"type": "function", "function": {"name": "double"}}, "auto"),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
        ),
    ],
)
async def test_a_forced_choice_is_met_by_the_first_tool_that_runs(choice: Any, then: Any, streamed: bool) -> None:
    model = ScriptedChatModel(wish("double", number=1), "2")
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice=choice))
    await run(model, prompt, streamed=streamed)
    assert [one.options.tool_choice for one in model.prompts] == [choice, then]


class Recorder(ToolCallingAdvisor):
    """Notes its hooks in the order in which they ran."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.hooks: list[str] = []

    @override
    async def initialize_loop(self, request: ChatClientRequest) -> ToolLoopRun:
        self.hooks.append("initialize")
        return await super().initialize_loop(request)

    @override
    async def before_call(self, run: ToolLoopRun, request: ChatClientRequest) -> ChatClientRequest:
        self.hooks.append("before")
        return await super().before_call(run, request)

    @override
    async def after_call(self, run: ToolLoopRun, response: ChatClientResponse) -> ChatClientResponse:
        self.hooks.append("after")
        return await super().after_call(run, response)

    @override
    async def next_instructions(
        self, run: ToolLoopRun, message: AssistantMessage, results: ToolResponseMessage
    ) -> Sequence[Message]:
        self.hooks.append("next")
        return await super().next_instructions(run, message, results)

    @override
    async def finalize_loop(self, run: ToolLoopRun, response: ChatClientResponse | None) -> ChatClientResponse | None:
        await anyio.lowlevel.checkpoint()
        self.hooks.append("failed" if response is None else "final")
        return response


@both
async def test_the_hooks_run_in_order_and_the_same_for_call_and_stream(streamed: bool) -> None:
    recorder = Recorder()
    await run(ScriptedChatModel(wish("double", number=1), "2"), streamed=streamed, advisor=recorder)
    assert recorder.hooks == ["initialize", "before", "after", "next", "before", "after", "final"]


@both
async def test_the_loop_is_finalized_when_the_model_fails(streamed: bool) -> None:
    recorder = Recorder()
    with pytest.raises(ModelError, match="down"):
        await run(ScriptedChatModel(ModelError("down")), streamed=streamed, advisor=recorder)
    assert recorder.hooks[-1] == "failed"


@both
async def test_cancelling_a_run_stops_its_tools_and_finalizes_it(streamed: bool) -> None:
    started, stopped = anyio.Event(), anyio.Event()

    @tool
    async def wait() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    recorder = Recorder(callbacks=[wait])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def go() -> None:
                await run(ScriptedChatModel([wish("wait"), wish("wait")]), streamed=streamed, advisor=recorder)

            group.start_soon(go)
            await started.wait()
            group.cancel_scope.cancel()
    assert stopped.is_set()
    assert recorder.hooks[-1] == "failed"


async def test_leaving_a_stream_early_closes_what_is_behind_it() -> None:
    closed = anyio.Event()

    class Endless(ScriptedChatModel):
        @override
        async def stream(self, prompt: Prompt) -> AsyncIterator[Any]:
            try:
                while True:
                    yield TextDelta(text="more ")
            finally:
                closed.set()

    recorder = Recorder()
    stream = ChatClient(Endless(), advisors=[recorder]).stream("go")
    async for _ in stream:
        break
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - a generator
    assert closed.is_set()
    assert recorder.hooks[-1] == "failed"


async def test_a_cut_stream_is_an_error_and_runs_no_tool() -> None:
    ran: list[int] = []

    @tool
    def note(number: int) -> None:
        ran.append(number)

    model = ScriptedChatModel(wish("note", number=1), Cut(text="and then", after=1))
    seen: list[RunEvent] = []
    with pytest.raises(TruncatedStreamError):
        async for event in ChatClient(model, tools=[note]).stream("go"):
            seen.append(event)  # noqa: PERF401 - a comprehension would lose what came before the failure
    assert ran == [1]
    assert not any(isinstance(event, RunFinished) for event in seen)


async def test_an_advisor_inside_the_loop_sees_every_round_and_one_outside_the_turn() -> None:
    class Counter:
        name = "counter"

        def __init__(self, order: int) -> None:
            self.order = order
            self.calls = 0

        async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
            self.calls += 1
            return await chain.next_call(request)

    loop = ToolCallingAdvisor()
    outside, inside = Counter(loop.order - 1), Counter(loop.order + 1)
    model = ScriptedChatModel(wish("double", number=1), wish("double", number=2), "done")
    await ChatClient(model, advisors=[inside, loop, outside], tools=[double]).call("go")
    assert (outside.calls, inside.calls) == (1, 3)


async def test_fifty_runs_at_once_do_not_cross() -> None:
    def policy(prompt: Prompt) -> Any:
        user = prompt.messages[0]
        assert isinstance(user, UserMessage)
        question = text_of(user.content)
        results = [one for one in prompt.messages if isinstance(one, ToolResponseMessage)]
        if len(results) < 3:
            return [wish("double", number=int(question)), wish("double", number=1000 + len(results))]
        return json.dumps([[one.content for one in result.responses] for result in results])

    client = ChatClient(ScriptedChatModel(policy=policy), tools=[double])
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        if number % 2:
            answers[number] = (await client.call(str(number))).text
        else:
            async for event in client.stream(str(number)):
                if isinstance(event, RunFinished):
                    answers[number] = event.response.text

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(ask, number)
    assert answers == {
        number: json.dumps([[str(2 * number), str(2000 + 2 * place)] for place in range(3)]) for number in range(50)
    }


def test_a_plain_function_is_a_tool_of_the_client() -> None:
    assert isinstance(double, FunctionToolCallback)
