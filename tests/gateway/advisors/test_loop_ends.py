"""Runs that cannot run away: replays of accidents, limits, and what is left at the end."""

from typing import Any

import pytest

from gateway.advisors.base import BaseAdvisor
from gateway.advisors.chain import HIGHEST_PRECEDENCE
from gateway.advisors.loop_limits import LoopLimits
from gateway.advisors.loop_run import ToolLoopRun
from gateway.advisors.memory import MessageChatMemoryAdvisor
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, ChatResponse, RunFinished, Usage
from gateway.chat.memory import InMemoryChatMemory
from gateway.chat.messages import AssistantMessage, ToolCall, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.errors import AgentLoopDetectedError, ToolExecutionError
from gateway.models.scripted import ScriptedChatModel, wish, with_calls
from gateway.tools.callback import CompletionKeys
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.loop_safety import TOOL_EXECUTION, ToolExecutionMetrics
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
from tests.gateway.catalog import catalog

PATIENT = LoopLimits(max_rounds=30)
"""As many rounds as the accidents had calls."""

both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])


async def ask(client: ChatClient, *, streamed: bool, context: ToolContext | None = None) -> ChatClientResponse:
    if not streamed:
        return await client.call("go", context=context)
    events = [event async for event in client.stream("go", context=context)]
    assert isinstance(events[-1], RunFinished)
    return events[-1].response


@both
async def test_a_model_that_keeps_asking_for_what_is_collected_is_ended_after_four_blocks(streamed: bool) -> None:
    collected: list[str] = []

    @tool(completion=CompletionKeys(("site",)))
    def collect(site: str) -> str:
        collected.append(site)
        return f"data of {site}"

    sites = ["A", "B", "C", "D"]
    calls = 0

    def policy(prompt: Prompt) -> Any:
        nonlocal calls
        calls += 1
        return wish("collect", site=sites[calls % 4])

    loop = ToolCallingAdvisor(limits=PATIENT)
    response = await ask(
        ChatClient(ScriptedChatModel(policy=policy), advisors=[loop], tools=[collect]), streamed=streamed
    )
    assert sorted(collected) == sites
    assert calls == 8
    assert response.context["auto_ended"] == "loop"
    assert response.context["stop_reason"] == "loop"
    assert response.response.finish_reason == "stop"
    assert [one.content for one in response.context["collected"]] == [f"data of {site}" for site in collected]
    assert "kept repeating" in response.text and all(f"data of {site}" in response.text for site in sites)
    assert response.context[TOOL_EXECUTION]["blocked"] == 4


@both
async def test_a_model_that_retries_a_failing_fetch_is_ended_after_one_real_call(streamed: bool) -> None:
    fetched = 0

    @tool
    def fetch(url: str) -> str:
        nonlocal fetched
        fetched += 1
        raise ToolExecutionError("connection refused")

    model = ScriptedChatModel(policy=lambda _: wish("fetch", url="http://x"))
    response = await ask(
        ChatClient(model, advisors=[ToolCallingAdvisor(limits=PATIENT)], tools=[fetch]), streamed=streamed
    )
    assert fetched == 1
    assert response.context["auto_ended"] == "loop"
    assert response.context[TOOL_EXECUTION] == {
        "calls": 5, "ran": 1, "failed": 1, "empty": 0, "blocked": 4, "stopped": 0, "tools": {"fetch": 1},
    }  # fmt: skip
    assert response.context["collected"] == ()


@both
async def test_a_model_that_repeats_one_search_for_ever_is_ended(streamed: bool) -> None:
    model = ScriptedChatModel(
        policy=lambda prompt: wish("search_tools", queries=["refund" + "!" * len(prompt.messages)])
    )
    loop = ToolSearchToolCallingAdvisor(await catalog(), limits=PATIENT)
    response = await ask(ChatClient(model, advisors=[loop]), streamed=streamed)
    assert response.context["auto_ended"] == "loop"
    assert [record.repeated for record in response.context["searches"]] == [False] + [True] * 6
    assert response.context["collected"] == ()


async def test_an_ended_run_is_remembered_as_an_answered_turn() -> None:
    @tool
    def fetch() -> str:
        raise ToolExecutionError("down")

    memory = InMemoryChatMemory()
    model = ScriptedChatModel(policy=lambda _: wish("fetch"))
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(memory)], tools=[fetch])
    await client.call("go", context=ToolContext(conversation_id="c"))
    (turn,) = await memory.turns('["default", "", "c"]')
    assert not turn.failed
    assert isinstance(turn.messages[-1], AssistantMessage) and "kept repeating" in text_of(turn.messages[-1].content)


async def test_a_blocked_call_is_told_to_the_model_in_the_tools_place() -> None:
    @tool
    def fetch() -> str:
        raise ToolExecutionError("down")

    model = ScriptedChatModel(wish("fetch"), wish("fetch"), "without it, then")
    response = await ChatClient(model, tools=[fetch]).call("go")
    told = model.prompts[2].messages[-1]
    assert isinstance(told, ToolResponseMessage)
    assert str(told.responses[0].content).startswith("BLOCKED: fetch has failed for this already")
    assert response.text == "without it, then"


async def test_a_tool_can_see_what_its_run_has_done() -> None:
    seen: list[int] = []

    @tool(repeatable=True)
    def look(context: ToolContext) -> str:
        metrics = context.values[TOOL_EXECUTION]
        assert isinstance(metrics, ToolExecutionMetrics)
        seen.append(len(metrics.executions))
        return "x"

    await ChatClient(ScriptedChatModel(wish("look"), wish("look"), "done"), tools=[look]).call("go")
    assert seen == [0, 1]


@both
@pytest.mark.parametrize(
    ("limits", "reason", "said"),
    [
        (LoopLimits(max_tokens=25), "max_tokens", "25 tokens"),
        (LoopLimits(max_seconds=0), "max_seconds", "0 seconds"),
        (LoopLimits(eligible=lambda run: "the budget of this user is spent"), "not_eligible", "budget of this user"),
    ],
)
async def test_past_a_limit_no_tool_runs_and_the_model_answers(
    limits: LoopLimits, reason: str, said: str, streamed: bool
) -> None:
    def count(prompt: Prompt, message: AssistantMessage) -> Usage:
        return Usage(prompt_tokens=20, completion_tokens=5)

    @tool
    def work() -> str:
        raise AssertionError("must not run")

    model = ScriptedChatModel(wish("work"), "stopped", count_usage=count)
    response = await ask(
        ChatClient(model, advisors=[ToolCallingAdvisor(limits=limits)], tools=[work]), streamed=streamed
    )
    assert response.text == "stopped"
    assert response.context["stop_reason"] == reason
    told = model.prompts[1].messages[-1]
    assert isinstance(told, ToolResponseMessage) and said in str(told.responses[0].content)


async def test_the_eligibility_checker_sees_the_run() -> None:
    @tool
    def work(number: int) -> int:
        return number

    def eligible(run: ToolLoopRun) -> str | None:
        return "two rounds are enough today" if run.tool_rounds == 2 else None

    model = ScriptedChatModel(*[wish("work", number=number) for number in range(3)], "stopped")
    response = await ChatClient(
        model, advisors=[ToolCallingAdvisor(limits=LoopLimits(eligible=eligible))], tools=[work]
    ).call("go")
    assert response.context["stop_reason"] == "not_eligible"
    assert response.context[TOOL_EXECUTION]["ran"] == 2


@both
@pytest.mark.parametrize("rounds", [0, 1])
async def test_a_loop_that_an_inner_advisor_detects_never_reaches_the_caller(rounds: int, streamed: bool) -> None:
    class Impatient(BaseAdvisor):
        """Ends a run from inside the loop."""

        async def before(self, request: ChatClientRequest) -> ChatClientRequest:
            if request.context["round"] > rounds:
                raise AgentLoopDetectedError("enough")
            return request

    @tool
    def work() -> str:
        return "some work"

    memory = InMemoryChatMemory()
    inside = MessageChatMemoryAdvisor(memory, order=HIGHEST_PRECEDENCE + 400)
    model = ScriptedChatModel(with_calls("One moment.", wish("work")))
    client = ChatClient(model, advisors=[Impatient(), inside], tools=[work])
    response = await ask(client, streamed=streamed, context=ToolContext(conversation_id="c"))
    assert response.context["auto_ended"] == "loop"
    assert response.text.startswith("I stopped here")
    assert [one.content for one in response.context["collected"]] == ["some work"] * rounds
    (turn,) = await memory.turns('["default", "", "c"]')
    assert not turn.failed
    assert turn.messages[-1] == response.response.message
    assert len(turn.messages) == 2 + 2 * rounds


async def test_a_request_may_bring_a_check_of_its_own() -> None:
    @tool
    def work() -> str:
        raise AssertionError("must not run")

    options = ToolCallingChatOptions(eligible=lambda run: "this user has used up the day's calls")
    request = ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="go"),)), context={TOOL_OPTIONS: options})
    response = await ChatClient(ScriptedChatModel(wish("work"), "stopped"), tools=[work]).call(request)
    assert response.context["stop_reason"] == "not_eligible"
    assert response.text == "stopped"


CUT = ["length", "content_filter"]


def cut_answer(reason: str, *calls: ToolCall, text: str = "") -> ChatResponse:
    return ChatResponse(message=AssistantMessage(content=text, tool_calls=calls), finish_reason=reason)


@both
@pytest.mark.parametrize("reason", CUT)
async def test_a_call_in_a_message_that_was_cut_is_not_run(streamed: bool, reason: str) -> None:
    """Its arguments may lack their end, and none at all count as an empty object."""
    ran: list[str] = []

    @tool
    def delete_files(folder: str = "/") -> str:
        ran.append(folder)
        return "deleted"

    model = ScriptedChatModel(cut_answer(reason, ToolCall(id="c", name="delete_files", arguments=""), text="I will"))
    response = await ask(ChatClient(model, tools=[delete_files]), streamed=streamed)
    assert ran == []
    assert response.text == "I will"
    assert response.response.message.tool_calls == ()
    assert response.response.finish_reason == reason
    assert response.context["rounds"] == 1


@both
async def test_a_callers_call_that_was_cut_is_returned_with_the_word_that_it_was(streamed: bool) -> None:
    own = ToolSpec(name="own", description="", parameters={})
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(own,))
    call = ToolCall(id="c", name="own", arguments='{"a": ')
    client = ChatClient(ScriptedChatModel(cut_answer("length", call)))
    if streamed:
        *_, last = [event async for event in client.stream(prompt)]
        assert isinstance(last, RunFinished)
        response = last.response
    else:
        response = await client.call(prompt)
    assert response.response.message.tool_calls == (call,)
    assert response.response.finish_reason == "length"


@both
@pytest.mark.parametrize("text", ["", "Here it is."])
async def test_a_model_that_calls_although_it_may_not_runs_nothing(streamed: bool, text: str) -> None:
    ran: list[str] = []

    @tool
    def send(to: str) -> str:
        ran.append(to)
        return "sent"

    call = ToolCall(id="c", name="send", arguments='{"to": "a"}')
    client = ChatClient(
        ScriptedChatModel(AssistantMessage(content=text, tool_calls=(call,))),
        tools=[send],
        options=ChatOptions(tool_choice="none"),
    )
    response = await ask(client, streamed=streamed)
    assert ran == []
    assert response.text == (text or "I stopped here, because this request allows no tool calls.")
    assert (response.response.message.tool_calls, response.response.finish_reason) == ((), "stop")
