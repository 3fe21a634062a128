"""The chat route before clients that are not what they should be."""

import json
from typing import Any

import httpx
import pytest


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
