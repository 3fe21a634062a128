"""Memory outside and inside the tool loop."""

from typing import Any

import anyio
import pytest

from gateway.advisors.chain import HIGHEST_PRECEDENCE, Advisor, CallAdvisorChain
from gateway.advisors.chat_model import ChatModelCallAdvisor
from gateway.advisors.memory import MessageChatMemoryAdvisor
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunFinished
from gateway.chat.memory import InMemoryChatMemory, Turn
from gateway.chat.messages import AssistantMessage, SystemMessage, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import Prompt
from gateway.client import ChatClient
from gateway.errors import ConfigurationError, ModelError
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
from tests.gateway.catalog import catalog

KIM = ToolContext(tenant="acme", principal="kim", conversation_id="c1")
INSIDE = HIGHEST_PRECEDENCE + 400
OUTSIDE = HIGHEST_PRECEDENCE + 200

both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])
either_place = pytest.mark.parametrize("order", [OUTSIDE, INSIDE], ids=["outside", "inside"])


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def ask(
    client: ChatClient, asked: Any, *, streamed: bool = False, context: ToolContext = KIM
) -> ChatClientResponse:
    if not streamed:
        return await client.call(asked, context=context)
    events = [event async for event in client.stream(asked, context=context)]
    assert isinstance(events[-1], RunFinished)
    return events[-1].response


async def turns_of(memory: InMemoryChatMemory) -> list[Turn]:
    return list(await memory.turns('["acme", "kim", "c1"]'))


@both
async def test_outside_the_loop_a_turn_is_the_question_and_the_answer(streamed: bool) -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel(wish("double", number=1), wish("double", number=2), "done", "again")
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(memory)], tools=[double])
    await ask(client, "first", streamed=streamed)
    (turn,) = await turns_of(memory)
    assert turn.messages == (UserMessage(content="first"), AssistantMessage(content="done"))

    await ask(client, [SystemMessage(content="be kind"), UserMessage(content="second")], streamed=streamed)
    assert model.prompts[-1].messages == (
        SystemMessage(content="be kind"),
        UserMessage(content="first"),
        AssistantMessage(content="done"),
        UserMessage(content="second"),
    )


@both
async def test_inside_the_loop_every_round_is_kept_and_shown_once(streamed: bool) -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel(wish("double", number=1), wish("double", number=2), "done", "again")
    advisor = MessageChatMemoryAdvisor(memory, order=INSIDE)
    client = ChatClient(model, advisors=[advisor], tools=[double])
    system = SystemMessage(content="be kind")
    await ask(client, [system, UserMessage(content="first")], streamed=streamed)
    kinds = [
        UserMessage,
        AssistantMessage,
        ToolResponseMessage,
        AssistantMessage,
        ToolResponseMessage,
        AssistantMessage,
    ]
    (turn,) = await turns_of(memory)
    assert [type(one) for one in turn.messages] == kinds
    assert [type(one) for one in model.prompts[2].messages] == [SystemMessage, *kinds[:-1]]

    await ask(client, "second", streamed=streamed)
    assert [type(one) for one in model.prompts[3].messages] == [*kinds, UserMessage]


@both
@either_place
async def test_discovered_tools_do_not_vanish_in_the_next_turn(order: int, streamed: bool) -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel(
        wish("search_tools", queries=["refund an order"]), "found", wish("search_tools", queries=["e-mail"]), "x", "y"
    )
    advisors: list[Advisor] = [
        MessageChatMemoryAdvisor(memory, order=order),
        ToolSearchToolCallingAdvisor(await catalog(), max_results=1),
    ]
    client = ChatClient(model, advisors=advisors)
    for question in ("first", "second", "third"):
        await ask(client, question, streamed=streamed, context=ToolContext(conversation_id="c1"))
    shown = [[spec.name for spec in prompt.tools] for prompt in model.prompts]
    assert shown == [
        ["search_tools"],
        ["search_tools", "refund_order"],
        ["search_tools", "refund_order"],
        ["search_tools", "refund_order", "send_email"],
        ["search_tools", "refund_order", "send_email"],
    ]


@both
@either_place
async def test_a_failed_run_is_remembered_as_failed(order: int, streamed: bool) -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel(wish("double", number=1), ModelError("down"), "back")
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(memory, order=order)], tools=[double])
    with pytest.raises(ModelError):
        await ask(client, "first", streamed=streamed)
    (turn,) = await turns_of(memory)
    assert turn.failed
    assert turn.messages[0] == UserMessage(content="first")
    await ask(client, "second", streamed=streamed)
    told = model.prompts[-1].messages[-2]
    assert isinstance(told, AssistantMessage) and "failed" in text_of(told.content)


@either_place
async def test_a_cancelled_run_is_remembered_as_failed(order: int) -> None:
    memory, started = InMemoryChatMemory(), anyio.Event()

    @tool
    async def wait() -> None:
        started.set()
        await anyio.sleep_forever()

    advisor = MessageChatMemoryAdvisor(memory, order=order)
    client = ChatClient(ScriptedChatModel(wish("wait")), advisors=[advisor], tools=[wait])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, client, "first")
            await started.wait()
            group.cancel_scope.cancel()
    assert [turn.failed for turn in await turns_of(memory)] == [True]


@both
async def test_inside_the_loop_an_end_without_a_model_call_is_kept_too(streamed: bool) -> None:
    @tool(return_direct=True)
    def report() -> str:
        return "the report"

    memory = InMemoryChatMemory()
    model = ScriptedChatModel(wish("report"), "as reported")
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(memory, order=INSIDE)], tools=[report])
    await ask(client, "first", streamed=streamed)
    await ask(client, "second", streamed=streamed)
    shown = model.prompts[1].messages
    kinds = [UserMessage, AssistantMessage, ToolResponseMessage, AssistantMessage, UserMessage]
    assert [type(one) for one in shown] == kinds
    assert shown[3] == AssistantMessage(content="the report")
    assert [turn.failed for turn in await turns_of(memory)] == [False, False]


async def test_a_chain_put_together_by_hand_keeps_the_rounds_of_a_run_in_one_turn() -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel(wish("double", number=1), "done")
    chain = CallAdvisorChain.of(
        ToolCallingAdvisor(callbacks=[double]),
        MessageChatMemoryAdvisor(memory, order=INSIDE),
        ChatModelCallAdvisor(model),
    )
    options = ToolCallingChatOptions(context=KIM)
    prompt = Prompt(messages=(UserMessage(content="first"),))
    await chain.next_call(ChatClientRequest(prompt=prompt, context={TOOL_OPTIONS: options}))
    (turn,) = await turns_of(memory)
    assert [type(one) for one in turn.messages] == [
        UserMessage, AssistantMessage, ToolResponseMessage, AssistantMessage,
    ]  # fmt: skip


async def test_another_user_or_tenant_never_sees_a_conversation_by_its_id() -> None:
    memory = InMemoryChatMemory()
    model = ScriptedChatModel("a", "b", "c")
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(memory)])
    await ask(client, "secret")
    await ask(client, "x", context=ToolContext(tenant="acme", principal="lee", conversation_id="c1"))
    await ask(client, "x", context=ToolContext(tenant="other", principal="kim", conversation_id="c1"))
    assert [len(prompt.messages) for prompt in model.prompts] == [1, 1, 1]


async def test_a_memory_without_a_conversation_says_what_to_pass() -> None:
    client = ChatClient(ScriptedChatModel("a"), advisors=[MessageChatMemoryAdvisor(InMemoryChatMemory())])
    with pytest.raises(ConfigurationError, match="conversation_id"):
        await client.call("hi")


async def test_the_loops_own_history_can_be_switched_by_hand() -> None:
    model = ScriptedChatModel(wish("double", number=1), "done")
    loop = ToolCallingAdvisor(internal_history=False)
    await ask(
        ChatClient(model, advisors=[loop], tools=[double]), [SystemMessage(content="s"), UserMessage(content="q")]
    )
    assert [type(one) for one in model.prompts[1].messages] == [SystemMessage, ToolResponseMessage]
