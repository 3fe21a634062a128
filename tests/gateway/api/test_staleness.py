"""A gateway whose Qdrant server goes away: what its HTTP interface says, and that it recovers by itself."""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from gateway.app import make_services
from gateway.settings import GatewaySettings
from indexer.errors import CatalogMovedError
from indexer.opening import Timers, open_index
from indexer.settings import IndexerSettings, QdrantSettings
from tests.gateway.api.conftest import REFUND
from tests.gateway.serving import http_client
from tests.indexer.catalogs import CountingEmbedder
from tests.qdrant_stub.server import QdrantStub, StubServer
from tests.ticking import Clock, Ticks

MAIL = {"name": "send_mail", "namespace": "mail", "description": "Send an e-mail to a person."}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
async def client(
    tmp_path: Path, qdrant: tuple[QdrantStub, StubServer], clock: Clock, ticks: Ticks
) -> AsyncGenerator[httpx.AsyncClient]:
    settings = IndexerSettings(home=tmp_path, qdrant=QdrantSettings(url=qdrant[1].url, timeout_seconds=20))
    index = await open_index(
        settings, embedder=CountingEmbedder(), timers=Timers(tick=ticks, monotonic=clock, sleep=clock.sleep)
    )
    services = make_services(index, GatewaySettings())
    await services.registry.register([REFUND])
    async with http_client(services) as client:
        yield client
    await services.aclose()


async def gauges(client: httpx.AsyncClient) -> dict[str, float]:
    lines = (await client.get("/metrics")).text.splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("toolscout_")}


async def test_an_outage_is_told_everywhere_and_ends_by_itself(
    client: httpx.AsyncClient, qdrant: tuple[QdrantStub, StubServer], clock: Clock, ticks: Ticks
) -> None:
    await ticks.tick()
    answer = (await client.post("/v1/search", json={"query": "refund"})).json()
    assert (answer["stale"], answer["stale_seconds"], answer["catalog_revision"]) == (False, 0, 1)
    before = await gauges(client)
    assert (before["toolscout_catalog_tools"], before["toolscout_catalog_revision"]) == (1, 1)
    assert (before["toolscout_catalog_stale"], before["toolscout_store_silence_seconds"]) == (0, 0)

    qdrant[1].stop()
    clock.now += 90.0
    await ticks.tick()
    answer = (await client.post("/v1/search", json={"query": "refund"})).json()
    assert [result["name"] for result in answer["results"]] == ["refund_order"]
    assert (answer["stale"], answer["stale_seconds"]) == (True, 90)
    ready = await client.get("/readyz")
    assert ready.status_code == 200
    assert (ready.json()["stale"], ready.json()["silence_seconds"]) == (True, 90)
    assert "cannot be reached" in ready.json()["problem"]
    stats = (await client.get("/v1/stats")).json()
    assert (stats["stale"], stats["silence_seconds"]) == (True, 90)
    during = await gauges(client)
    assert (during["toolscout_catalog_stale"], during["toolscout_store_silence_seconds"]) == (1, 90)

    refused = await client.post("/v1/tools", json=MAIL)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["type"] == "urn:toolscout:problem:catalog-unavailable"
    assert (await client.delete("/v1/tools/shop/refund_order")).status_code == 503

    qdrant[1].start()
    await ticks.tick()
    answer = (await client.post("/v1/search", json={"query": "refund"})).json()
    assert not answer["stale"]
    assert (await client.post("/v1/tools", json=MAIL)).status_code == 201
    assert (await client.get("/readyz")).json()["problem"] == ""


async def test_the_wait_that_the_server_asked_for_is_passed_on(
    client: httpx.AsyncClient, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    qdrant[0].faults.append((429, {"retry-after": "77"}))
    refused = await client.post("/v1/tools", json=MAIL)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "77")


async def test_a_catalog_that_moved_to_another_encoder_says_what_to_do(
    client: httpx.AsyncClient, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    from gateway.api.errors import problem_of

    problem = problem_of(CatalogMovedError("Restart it with TOOLSCOUT_ENCODER=new."))
    assert (problem.status, problem.kind) == (503, "catalog-moved")
    assert "TOOLSCOUT_ENCODER=new" in problem.detail
    assert problem.headers["retry-after"] == "60"
