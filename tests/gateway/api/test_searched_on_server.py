"""A catalog past the memory budget, over HTTP and MCP: what is found is labelled as it is from a replica."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from gateway.app import make_mcp_server, make_services
from gateway.services import Services
from gateway.settings import GatewaySettings
from indexer.embedders.factory import make_embedder
from indexer.server_index import ServerToolIndex
from tests.gateway.serving import http_client
from tests.indexer.catalogs import SHOP, tool
from tests.indexer.on_server import on_server, settings_for
from tests.qdrant_stub.server import QdrantStub, StubServer
from tests.ticking import Clock

THINGS = ("invoices", "tickets", "mailboxes", "branches", "recipes", "buckets", "pages", "players", "reports", "roles",
          "sheets", "slides")  # fmt: skip
TOOLS = [*SHOP, *(tool(f"list_{thing}", f"Lists all {thing} of an account.", namespace="office") for thing in THINGS)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def index(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer], clock: Clock) -> AsyncGenerator[ServerToolIndex]:
    settings = settings_for(qdrant[1], tmp_path)
    async with on_server(settings, embedder=make_embedder("static"), clock=clock) as (index, _):
        yield index


@pytest.fixture
async def services(index: ServerToolIndex) -> Services:
    return make_services(index, GatewaySettings())


async def test_an_answer_says_what_is_weak_what_is_being_measured_and_how_old_it_is(
    index: ServerToolIndex, services: Services, qdrant: tuple[QdrantStub, StubServer], clock: Clock
) -> None:
    async with http_client(services) as client:

        async def search(query: str) -> dict[str, Any]:
            return (await client.post("/v1/search", json={"query": query, "max_results": 1})).json()

        await services.registry.register(TOOLS)
        assert (await search("list invoices"))["calibrating"] is True
        await index.measured()
        served, foreign = await search("list invoices of the account"), await search("iron the shirts for tomorrow")
        assert (served["calibrating"], served["stale"], served["stale_seconds"]) == (False, False, 0)
        (found,) = served["results"]
        assert found["alias"] == "office__list_invoices"
        assert "weak match" not in found["reasons"]
        assert all("weak match" in one["reasons"] for one in foreign["results"])
        sure = await client.post("/v1/search", json={"query": "iron the shirts for tomorrow", "min_confidence": 0.5})
        assert sure.json()["results"] == []
        assert sure.json()["empty"]["reason"] == "no_match"
        clock.now += 90
        old = await search("list invoices")
        assert (old["stale"], old["stale_seconds"]) == (True, 90)
        qdrant[1].stop()
        away = await client.post("/v1/search", json={"query": "list invoices"})
        assert (away.status_code, away.json()["type"]) == (503, "urn:toolscout:problem:catalog-unavailable")


async def test_a_model_finds_the_same_over_mcp(index: ServerToolIndex, services: Services) -> None:
    await services.registry.register(TOOLS)
    await index.measured()
    async with Client(make_mcp_server(services)) as client:
        answer = await client.call_tool("search_tools", {"queries": ["give a customer the money back"]})
        assert "refund_order" in str(answer.content)
        assert not answer.is_error
