"""What a tool is told of whom it runs for is not told to the model's endpoint, whatever stands around the loop."""

import json
from typing import Any

import httpx
import pytest

from gateway.advisors.chain import HIGHEST_PRECEDENCE
from gateway.advisors.memory import MessageChatMemoryAdvisor
from gateway.advisors.telemetry import ChatSpanAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.memory import InMemoryChatMemory
from gateway.client import ChatClient
from gateway.errors import ToolExecutionError
from gateway.models.openai_compatible import OpenAICompatibleChatModel
from gateway.tools.augment import AugmentedToolCallbackProvider
from gateway.tools.client_tool import ClientToolFactory, definitions_of
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from indexer import DEFAULT_TENANT
from tests.gateway.catalog import catalog

SECRET = "s3cr3t"
CONTEXT = ToolContext(
    tenant=DEFAULT_TENANT,
    principal=f"user-{SECRET}",
    conversation_id=f"chat-{SECRET}",
    values={f"key-{SECRET}": {"token": SECRET}},
)
ROUNDS: list[tuple[str, dict[str, Any]]] = [
    ("search_tools", {"queries": ["list invoices"]}),
    ("list_invoices", {"why": "They asked.", "year": 2026}),
    ("list_invoices", {"why": "They asked.", "year": "soon"}),
    ("list_invoices", {"why": "They asked.", "context": {}}),
    ("fails", {}),
    ("no_such_tool", {}),
]


@pytest.mark.parametrize(
    "memory_order", [HIGHEST_PRECEDENCE + 200, HIGHEST_PRECEDENCE + 400], ids=["outside", "inside"]
)
async def test_the_context_reaches_every_tool_and_no_request_to_the_model(memory_order: int) -> None:
    from pydantic import BaseModel

    seen: list[ToolContext] = []
    sent: list[str] = []

    class Why(BaseModel):
        why: str

    @tool
    def list_invoices(year: int, context: ToolContext) -> str:
        """List invoices of a year."""
        seen.append(context)
        return f"invoices of {year}"

    @tool
    def fails(context: ToolContext) -> str:
        """Fail."""
        seen.append(context)
        raise ToolExecutionError("down")

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.url} {request.headers} {request.content.decode()}")
        done = sum(message["role"] == "tool" for message in json.loads(request.content)["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if done < len(ROUNDS):
            name, arguments = ROUNDS[done]
            function = {"name": name, "arguments": json.dumps(arguments)}
            message = {
                "role": "assistant",
                "tool_calls": [{"id": f"c{done}", "type": "function", "function": function}],
            }
        return httpx.Response(200, json={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    invoices = AugmentedToolCallbackProvider([list_invoices], Why).callbacks
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = ChatClient(
            OpenAICompatibleChatModel("http://up/v1", client=http),
            advisors=[
                ToolSearchToolCallingAdvisor(await catalog(definitions_of(invoices)), ClientToolFactory(invoices)),
                MessageChatMemoryAdvisor(InMemoryChatMemory(), order=memory_order),
                ChatSpanAdvisor(),
            ],
            tools=[fails],
        )
        assert (await client.call("Which invoices are there?", context=CONTEXT)).text == "done"
        assert (await client.call("And now?", context=CONTEXT)).text == "done"
    assert len(sent) > len(ROUNDS)
    assert [(one.principal, one.values[f"key-{SECRET}"]) for one in seen[:2]] == [
        (CONTEXT.principal, {"token": SECRET})
    ] * 2
    assert not [one for one in sent if SECRET in one]
