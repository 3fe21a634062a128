"""A run that is cancelled anywhere leaves nothing behind; many runs at once leave each other alone."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from gateway.advisors.logger import SimpleLoggerAdvisor
from gateway.advisors.memory import MessageChatMemoryAdvisor
from gateway.advisors.metrics import CountingSink, ToolLoopMetricsAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import TextDelta
from gateway.chat.memory import InMemoryChatMemory
from gateway.chat.messages import ToolCall
from gateway.client import ChatClient
from gateway.models.openai_compatible import OpenAICompatibleChatModel
from gateway.models.planner import Planner
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.client_tool import ClientToolFactory, definitions_of
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.manager import ToolCallingManager
from tests.gateway.catalog import catalog

KIM = ToolContext(conversation_id="c")


class Upstream:
    """An endpoint that asks for a tool twice and then answers, one byte-chunk at a time; counts what is open."""

    def __init__(self, tool_name: str) -> None:
        self.open = 0
        self._tool_name = tool_name

    def __call__(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        rounds = sum(message["role"] == "tool" for message in asked["messages"])
        function = {"name": self._tool_name, "arguments": json.dumps({"number": rounds})}
        call = {"index": 0, "id": f"c{rounds}", "type": "function", "function": function}
        said: dict[str, Any] = {"tool_calls": [call]} if rounds < 2 else {"content": "done"}
        end = {"index": 0, "finish_reason": "tool_calls" if rounds < 2 else "stop"}
        if not asked.get("stream"):
            whole = json.dumps({"choices": [{**end, "message": {"role": "assistant", **said}}]})
            pieces = [whole[:30], whole[30:]]
        else:
            chunks: list[dict[str, Any]] = [{"index": 0, "delta": said}, {**end, "delta": {}}]
            pieces = [*(f"data: {json.dumps({'choices': [chunk]})}\n\n" for chunk in chunks), "data: [DONE]\n\n"]
        kind = "text/event-stream" if asked.get("stream") else "application/json"
        return httpx.Response(200, stream=_Body(self, pieces), headers={"content-type": kind})


class _Body(httpx.AsyncByteStream):
    def __init__(self, upstream: Upstream, chunks: list[str]) -> None:
        self._upstream = upstream
        self._chunks = chunks
        upstream.open += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            await anyio.lowlevel.checkpoint()
            yield chunk.encode()

    async def aclose(self) -> None:
        self._upstream.open -= 1


@pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])
async def test_cancelling_at_any_step_leaves_no_task_no_tool_and_no_connection(streamed: bool) -> None:
    running = 0

    @tool
    async def work(number: int) -> str:
        nonlocal running
        running += 1
        try:
            await anyio.lowlevel.checkpoint()
        finally:
            running -= 1
        return f"worked {number}"

    upstream = Upstream("work")
    async with httpx.AsyncClient(transport=httpx.MockTransport(upstream)) as http:
        client = ChatClient(
            OpenAICompatibleChatModel("http://up/v1", client=http),
            advisors=[
                ToolSearchToolCallingAdvisor(await catalog()),
                MessageChatMemoryAdvisor(InMemoryChatMemory()),
                SimpleLoggerAdvisor(),
            ],
            tools=[work],
        )

        async def run() -> str:
            if not streamed:
                return (await client.call("go", context=KIM)).text
            text = ""
            async for event in client.stream("go", context=KIM):
                if isinstance(event, TextDelta):
                    text += event.text
            return text

        others = asyncio.all_tasks()
        steps, finished = 0, False
        task = asyncio.create_task(run())
        with anyio.fail_after(60):
            while not finished:
                task = asyncio.create_task(run()) if steps else task
                for _ in range(steps):
                    await asyncio.sleep(0)
                finished = task.done()
                task.cancel()
                await asyncio.wait({task})
                for _ in range(5):  # httpx leaves its inner generators to the event loop to close
                    await asyncio.sleep(0)
                assert (running, upstream.open) == (0, 0)
                assert asyncio.all_tasks() == others
                assert finished or task.cancelled()
                steps += 1
        assert task.result() == "done"
        assert steps >= 10


@pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])
async def test_cancelling_while_a_function_runs_in_its_thread_leaves_no_thread_that_runs_it(streamed: bool) -> None:
    begun, finished = threading.Event(), threading.Event()

    @tool
    def work(context: ToolContext) -> str:
        begun.set()
        assert context.cancellation.wait(30)
        finished.set()
        return "too late"

    model = ScriptedChatModel([wish("work"), wish("work")], "never said")
    client = ChatClient(model, tools=[work])

    async def run() -> None:
        if not streamed:
            await client.call("go")
            return
        async for _ in client.stream("go"):
            pass

    others = asyncio.all_tasks()
    task = asyncio.create_task(run())
    with anyio.fail_after(30):
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()
    assert finished.is_set()
    assert asyncio.all_tasks() == others
    assert len(model.prompts) == 1


async def test_a_function_past_its_timeout_is_told_and_the_model_hears_of_it() -> None:
    told = threading.Event()

    @tool
    def slow(context: ToolContext) -> str:
        if context.cancellation.wait(30):
            told.set()
        return "too late"

    manager = ToolCallingManager(tool_timeout_seconds=0.01)
    call = ToolCall(id="c", name="slow", arguments="{}")
    (response,) = (await manager.execute([call], [slow])).responses
    assert response.is_error
    assert "did not finish within 0.01 seconds" in str(response.content)
    assert await asyncio.to_thread(told.wait, 10)


@tool
def echo(word: str, context: ToolContext) -> str:
    """Echo a word back."""
    return f"{context.principal} said {word}"


async def test_two_hundred_runs_through_one_client_do_not_cross() -> None:
    memory, sink = InMemoryChatMemory(), CountingSink()
    client = ChatClient(
        ScriptedChatModel(policy=Planner()),
        advisors=[
            ToolSearchToolCallingAdvisor(await catalog(definitions_of([echo])), ClientToolFactory([echo])),
            MessageChatMemoryAdvisor(memory),
            ToolLoopMetricsAdvisor(sink),
            SimpleLoggerAdvisor(),
        ],
    )
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        context = ToolContext(principal=f"user-{number}", conversation_id="same for all")
        answers[number] = (await client.call(f'Please echo the word "w{number}" back', context=context)).text

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(ask, number)
    assert all(f"user-{number} said w{number}" in answers[number] for number in range(200))
    assert sink.count("agent.tool.loop.iterations") == 600
    for number in range(200):
        (turn,) = await memory.turns(json.dumps(["default", f"user-{number}", "same for all"]))
        assert f"w{number}" in str(turn.messages[0]) and f"w{number}" in str(turn.messages[1])
