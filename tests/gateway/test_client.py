"""The client: what it accepts, and what it hands to the chain."""

import subprocess
import sys

import pytest

import gateway
import gateway.client
from gateway import (
    ChatClient,
    ChatClientRequest,
    ChatOptions,
    Prompt,
    RunFinished,
    ScriptedChatModel,
    StaticToolCallbackResolver,
    ToolCallingAdvisor,
    ToolCallingChatOptions,
    ToolContext,
    ToolSpec,
    UserMessage,
    tool,
)
from gateway.errors import ConfigurationError
from gateway.models.scripted import Reply, wish, with_calls
from gateway.models.wire_stream import ChunkAssembler, ChunkWriter, shown_answer
from gateway.tools.options import TOOL_OPTIONS


@tool
def whoami(context: ToolContext) -> str:
    """Who is asking."""
    return f"{context.tenant}/{context.principal}"


@pytest.mark.parametrize(
    "asked",
    [
        "hi",
        [UserMessage(content="hi")],
        Prompt(messages=(UserMessage(content="hi"),)),
        ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="hi"),))),
    ],
    ids=["text", "messages", "prompt", "request"],
)
async def test_a_client_can_be_asked_in_four_forms(asked: gateway.client.Asked) -> None:
    model = ScriptedChatModel("hello", "hello")
    client = ChatClient(model)
    assert (await client.call(asked)).text == "hello"
    events = [event async for event in client.stream(asked)]
    assert isinstance(events[-1], RunFinished) and events[-1].response.text == "hello"
    assert all(prompt.messages == (UserMessage(content="hi"),) for prompt in model.prompts)


async def test_default_options_apply_where_the_question_brings_none() -> None:
    model = ScriptedChatModel("a", "b")
    client = ChatClient(model, options=ChatOptions(model="m", extra={"temperature": 0}))
    await client.call("hi")
    await client.call(Prompt(messages=(UserMessage(content="hi"),), options=ChatOptions(model="other")))
    assert [prompt.options.model for prompt in model.prompts] == ["m", "other"]


async def test_tools_of_the_client_and_of_the_request_are_both_shown_and_may_be_plain_functions() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ScriptedChatModel(wish("add", a=1, b=2), "3")
    await ChatClient(model, tools=[whoami]).call("hi", tools=[add])
    assert [spec.name for spec in model.prompts[0].tools] == ["whoami", "add"]
    assert "3" in str(model.prompts[1].messages[-1])


async def test_tools_can_be_asked_for_by_name() -> None:
    loop = ToolCallingAdvisor(resolver=StaticToolCallbackResolver([whoami]))
    model = ScriptedChatModel(wish("whoami"), "you")
    await ChatClient(model, advisors=[loop]).call("hi", tools=["whoami"])
    assert [spec.name for spec in model.prompts[0].tools] == ["whoami"]
    with pytest.raises(ConfigurationError, match="'nobody'"):
        await ChatClient(model, advisors=[loop]).call("hi", tools=["nobody"])
    with pytest.raises(ConfigurationError, match="'whoami'"):
        await ChatClient(model).call("hi", tools=["whoami"])


async def test_the_context_of_the_call_wins_over_the_requests_and_that_over_the_clients() -> None:
    async def answer(client: ChatClient, asked: ChatClientRequest | str, context: ToolContext | None = None) -> str:
        response = await client.call(asked, context=context)
        return str(response.context["new_messages"][1].responses[0].content)

    def client() -> ChatClient:
        return ChatClient(
            ScriptedChatModel(wish("whoami"), "x"), tools=[whoami], context=ToolContext(principal="client")
        )

    options = ToolCallingChatOptions(context=ToolContext(principal="request"))
    request = ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="hi"),)), context={TOOL_OPTIONS: options})
    assert await answer(client(), "hi") == "default/client"
    assert await answer(client(), request) == "default/request"
    assert await answer(client(), request, ToolContext(tenant="acme", principal="call")) == "acme/call"


async def test_what_advisors_are_told_in_the_context_comes_back_with_the_response() -> None:
    request = ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="hi"),)), context={"trace": 7})
    assert (await ChatClient(ScriptedChatModel("x")).call(request)).context["trace"] == 7


def test_every_public_name_can_be_imported() -> None:
    for name in gateway.__all__:
        assert getattr(gateway, name) is not None
    assert set(gateway.__all__) <= set(dir(gateway))
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(gateway, "no_such_name")  # noqa: B009 - a checker would refuse the attribute


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, gateway\n"
        "before = [name for name in ('numpy', 'pydantic', 'httpx', 'fastapi', 'mcp') if name in sys.modules]\n"
        "from gateway import ChatClient, ToolSearchToolCallingAdvisor, ScriptedChatModel\n"
        "after = [name for name in ('pydantic', 'httpx', 'fastapi', 'mcp') if name in sys.modules]\n"
        "print(before, after)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[] []"


@pytest.mark.parametrize(
    "script",
    [
        ["just this"],
        [with_calls("Let me see.", wish("whoami")), "It is you."],
        [with_calls("Let me see.", wish("whoami")), wish("whoami"), "It is you."],
        [with_calls("Let me see.", wish("whoami")), ""],
        [wish("whoami"), "It is you."],
        [with_calls("Let me see.", wish("open_file"))],
        [with_calls("One.", wish("whoami")), with_calls("Two.", wish("open_file"))],
        [with_calls(f"{number}.", wish("whoami")) for number in range(7)],
        [wish("whoami")] * 7,
    ],
)
async def test_a_client_sees_the_same_answer_streamed_or_not(script: list[Reply]) -> None:
    theirs = ToolSpec(name="open_file", description="", parameters={"type": "object"})
    prompt = Prompt(messages=(UserMessage(content="who am I?"),), tools=(theirs,))
    whole = shown_answer(await ChatClient(ScriptedChatModel(*script), tools=[whoami]).call(prompt))
    writer, assembler = ChunkWriter(id="x", model="m", created=1), ChunkAssembler()
    async for event in ChatClient(ScriptedChatModel(*script), tools=[whoami]).stream(prompt):
        for chunk in writer.chunks(event):
            assembler.feed(chunk)
    streamed = assembler.finish(done=True)
    assert streamed.message == whole.message
    assert streamed.finish_reason == whole.finish_reason
