"""A tool of an MCP server, from the index run that finds it to the chat that calls it."""

import json
import sys
from pathlib import Path

import anyio
import httpx

from gateway.app import build_app, make_services
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.registry.remembered_sources import remember_source
from gateway.settings import GatewaySettings
from indexer.sources.entries import SourceOptions
from indexer.sources.mcp import McpSource
from tests.gateway.serving import memory_index, served

SERVER = Path(__file__).parents[1] / "gateway" / "mortal_mcp_server.py"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Which process are you?"}]}


async def test_a_tool_of_an_mcp_server_runs_in_the_loop_and_again_after_its_server_has_died(tmp_path: Path) -> None:
    source = McpSource(f"{sys.executable} {SERVER}", SourceOptions(namespace="mortal"))
    script = ScriptedChatModel(
        wish("search_tools", queries=["mortal__pid", "mortal__die"]),
        wish("mortal__die"),
        wish("mortal__pid"),
        "That is all.",
    )
    services = make_services(memory_index(), GatewaySettings(), home=tmp_path, model=script)
    try:
        report = await services.registry.register(list(source.entries()))
        assert report.added == 3
        remember_source(tmp_path, source.name, source.spec)
        async with served(build_app(services)) as url, httpx.AsyncClient(timeout=60) as client:
            with anyio.fail_after(60):
                answer = await client.post(f"{url}/v1/chat/completions", json=BODY)
    finally:
        await services.aclose()
    assert answer.json()["choices"][0]["message"]["content"] == "That is all."
    assert answer.json()["x_toolscout"]["rounds"] == 4
    results = [message["content"] for message in map(json.loads, _tool_results(script))]
    assert "lost while the tool ran" in results[-2]
    assert results[-1].isdigit()


def _tool_results(script: ScriptedChatModel) -> list[str]:
    from gateway.models.wire import prompt_to_wire

    messages = prompt_to_wire(script.prompts[-1])["messages"]
    return [json.dumps(message) for message in messages if message["role"] == "tool"]
