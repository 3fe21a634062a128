"""How the parts are put together, and what that does not import."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from gateway.app import build_app, make_services, open_services
from gateway.errors import ConfigurationError
from gateway.models.openai_compatible import OpenAICompatibleChatModel
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, StoreLockedError, ToolDefinition, ToolExecutor
from tests.gateway.serving import http_client, memory_index, services_of

HEAVY = ("fastapi", "starlette", "uvicorn", "mcp", "qdrant_client", "httpx", "pydantic", "tokenizers", "bpe_openai")

SEARCH_ONCE = f"""
import asyncio, sys
from pathlib import Path
from gateway.app import open_services
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, ToolDefinition, ToolSearchRequest

async def main():
    async with open_services(GatewaySettings(), IndexerSettings(home=Path(sys.argv[1]), encoder="hashing")) as services:
        await services.registry.register([ToolDefinition(name="refund_order", description="Refund an order.")])
        found = await services.index.search(ToolSearchRequest(queries=("refund an order",)))
        assert [tool.alias for tool in found.results] == ["refund_order"]

asyncio.run(main())
print(*(name for name in {HEAVY} if name in sys.modules))
"""


def test_a_search_imports_neither_a_web_framework_nor_a_protocol(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SEARCH_ONCE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


async def test_an_embedded_catalog_has_one_owner_and_is_let_go_at_the_end(tmp_path: Path) -> None:
    settings = IndexerSettings(home=tmp_path, encoder="hashing")
    async with open_services(GatewaySettings(), settings):
        with pytest.raises(StoreLockedError):
            async with open_services(GatewaySettings(), settings):
                pass
    async with open_services(GatewaySettings(), settings) as services:
        assert (await services.index.stats()).tools == 0


async def test_without_an_upstream_a_scripted_model_finds_and_calls_a_tool_and_reports_its_tokens() -> None:
    tool = ToolDefinition(
        name="ListBuckets",
        description="List the S3 buckets of the account.",
        executor=ToolExecutor(kind="simulated"),
    )
    async with services_of(tool) as services:
        assert isinstance(services.model, ScriptedChatModel)
        run = await services.client.call("list the S3 buckets of the account")
    assert '"simulated": true' in run.text
    assert run.response.usage is not None
    assert run.response.usage.prompt_tokens > 100


async def test_an_upstream_is_the_model_where_one_is_configured() -> None:
    services = make_services(memory_index(), GatewaySettings(upstream_url="http://127.0.0.1:1/v1"))
    assert isinstance(services.model, OpenAICompatibleChatModel)
    await services.aclose()


async def test_what_the_loop_does_is_counted_and_traced_where_that_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tool = ToolDefinition(
        name="ListBuckets",
        description="List the S3 buckets of the account.",
        executor=ToolExecutor(kind="simulated"),
    )
    async with services_of(tool, settings=GatewaySettings(trace=True)) as services, http_client(services) as client:
        assert "agent_tool" not in (await client.get("/metrics")).text
        await services.client.call("list the S3 buckets of the account")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'agent_tool_calls_total{tool="ListBuckets"} 1' in answer.text
    assert "agent_tool_loop_iterations_total 3" in answer.text
    assert "-> ListBuckets(" in capsys.readouterr().err


async def test_a_damaged_list_of_sources_does_not_end_a_run_that_finds_one_of_their_tools(tmp_path: Path) -> None:
    (tmp_path / "sources.json").write_text("[]")
    tool = ToolDefinition(name="refund_order", executor=ToolExecutor(kind="mcp", config={"source": "shop"}))
    model = ScriptedChatModel(wish("search_tools", queries=["refund_order"]), wish("refund_order"), "It is down.")
    services = make_services(memory_index(), GatewaySettings(), home=tmp_path, model=model)
    await services.registry.register([tool])
    async with http_client(services) as client:
        asked = {"messages": [{"role": "user", "content": "Refund my order"}]}
        answer = await client.post("/v1/chat/completions", json=asked)
    await services.aclose()
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "It is down."


async def test_the_limits_of_repetition_are_settings() -> None:
    settings = GatewaySettings.from_environment({"TOOLSCOUT_MAX_BLOCKS": "1", "TOOLSCOUT_MAX_STOPS": "0"})
    assert not settings.trace
    model = ScriptedChatModel(policy=lambda _: wish("search_tools", queries=["a thing that is not there"]))
    async with services_of(settings=settings, model=model) as services:
        run = await services.client.call("go")
    assert run.context["auto_ended"] == "loop"
    assert run.context["rounds"] == 2
    with pytest.raises(ConfigurationError, match="TOOLSCOUT_TRACE='yes' is not a whole number; set it to 0..1"):
        GatewaySettings.from_environment({"TOOLSCOUT_TRACE": "yes"})


async def test_each_of_several_workers_counts_under_a_label_of_its_own() -> None:
    """A scraper reaches now one of them, now another: without the label a counter would go up and down."""
    async with services_of(model=ScriptedChatModel("hi")) as services:
        await services.client.call("go")
        app = build_app(services, pid=os.getpid() + 1)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            text = (await client.get("/metrics")).text
    values = [line for line in text.splitlines() if not line.startswith("#")]
    assert values and all(f'worker="{os.getpid()}"}} ' in line for line in values)
    assert f'agent_tool_loop_iterations_total{{worker="{os.getpid()}"}} 1' in values
