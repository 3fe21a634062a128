"""The chat route before clients that are not what they should be."""

import json
from typing import Any

import httpx
import pytest

from gateway.errors import ModelHTTPError
from gateway.models.scripted import ScriptedChatModel
from tests.gateway.serving import http_client, services_of


def searched(content: str) -> list[dict[str, Any]]:
    """A conversation in which the search tool has answered with this."""
    function = {"name": "search_tools", "arguments": "{}"}
    return [
        {"role": "user", "content": "Refund order A-1."},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call_1", "content": content},
    ]


@pytest.mark.parametrize("content", ["[" * 100_000, "[" * 600 + "]" * 600, '{"tools": [7, {"name": 7}]}', "NaN"])
async def test_a_search_result_that_the_client_made_up_is_no_error(client: httpx.AsyncClient, content: str) -> None:
    answer = await client.post("/v1/chat/completions", json={"messages": searched(content)})
    assert answer.status_code == 200


@pytest.mark.parametrize("levels", [300, 700, 900, 1000, 100_000])
async def test_a_body_nested_too_deeply_is_the_clients_fault(client: httpx.AsyncClient, levels: int) -> None:
    nested = "[" * levels + "]" * levels
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "metadata": "?"}).replace('"?"', nested)
    answer = await client.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert "nested deeper than 256 levels" in answer.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstreams_header_that_http_cannot_carry_is_left_out(stream: bool) -> None:
    refusal = ModelHTTPError(429, b"slow down", {"retry-after": "3", "x-request-id": "\u65e5"})
    async with services_of(model=ScriptedChatModel(refusal)) as services, http_client(services) as client:
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": stream}
        answer = await client.post("/v1/chat/completions", json=body)
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, b"slow down", "3")
    assert "x-request-id" not in answer.headers


@pytest.mark.parametrize("body", ["[]", "7", "null", '"hi"'])
async def test_a_body_that_is_no_object_is_a_bad_request_as_openai_has_it(client: httpx.AsyncClient, body: str) -> None:
    answer = await client.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert "the body must be an object" in answer.json()["error"]["message"]
