"""Moving a catalog to another encoder and back, on a server that gateways go on using, and embedded."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio.from_thread
import anyio.to_thread
import numpy as np
import pytest

from indexer.embedded_moving import KEPT_DIRECTORY
from indexer.embedders.base import Vectors
from indexer.errors import (
    CatalogMovedError,
    EmbeddingError,
    EncoderMismatchError,
    StoreLockedError,
    StoreMissingError,
    StoreUnavailableError,
)
from indexer.index import ToolIndex
from indexer.migration import MoveReport
from indexer.moving import move_back, move_catalog
from indexer.opening import Timers, open_index
from indexer.search import SearchScope, ToolSearchRequest
from indexer.settings import IndexerSettings, QdrantSettings
from indexer.stores.edge import EdgeToolStore
from tests.indexer.catalogs import BROKEN, SHOP, CountingEmbedder, tool
from tests.qdrant_stub.server import QdrantStub, StubServer
from tests.ticking import Ticks

OLD, NEW = "old", "new"
WIDTHS = {OLD: 64, NEW: 48, "third": 32}


def embedder(encoder: str) -> CountingEmbedder:
    return CountingEmbedder(encoder, WIDTHS[encoder])


@pytest.fixture
def on_server(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]) -> IndexerSettings:
    return IndexerSettings(home=tmp_path, encoder=OLD, qdrant=QdrantSettings(url=qdrant[1].url, timeout_seconds=20))


@pytest.fixture
def at_home(tmp_path: Path) -> IndexerSettings:
    return IndexerSettings(home=tmp_path, encoder=OLD)


@pytest.fixture(params=["on_server", "at_home"])
def settings(request: pytest.FixtureRequest) -> IndexerSettings:
    return request.getfixturevalue(request.param)


@asynccontextmanager
async def gateway(settings: IndexerSettings, encoder: str) -> AsyncGenerator[tuple[ToolIndex, Ticks]]:
    ticks = Ticks()
    index = await open_index(replace(settings, encoder=encoder), embedder=embedder(encoder), timers=Timers(tick=ticks))
    try:
        yield index, ticks
    finally:
        await index.aclose()


async def move(
    settings: IndexerSettings,
    encoder: str,
    *,
    with_embedder: CountingEmbedder | None = None,
    keep_old: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MoveReport:
    used = with_embedder or embedder(encoder)
    return await anyio.to_thread.run_sync(
        lambda: move_catalog(settings, encoder, keep_old=keep_old, progress=progress, embedder=used)
    )


async def back(settings: IndexerSettings, with_embedder: CountingEmbedder) -> MoveReport:
    return await anyio.to_thread.run_sync(
        lambda: move_back(settings, progress=lambda done, total: None, embedder=with_embedder)
    )


async def contents(index: ToolIndex) -> dict[str, int]:
    """Every tool and its revision."""
    tools = await index.list_tools(SearchScope(), limit=1000)
    held = await index.list_tools(SearchScope(), limit=1000, quarantined=True)
    return {stored.definition.name: stored.revision for stored in (*tools, *held)}


async def finds(index: ToolIndex, query: str) -> str:
    found = await index.search(ToolSearchRequest(queries=(query,)))
    return found.results[0].definition.name if found.results else ""


async def test_a_moved_catalog_is_the_same_with_other_vectors(settings: IndexerSettings) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register([*SHOP, BROKEN])
        await index.delete([SHOP[1].key])
        before = await contents(index)
    heard: list[tuple[int, int]] = []
    report = await move(settings, NEW, progress=lambda done, total: heard.append((done, total)))
    assert (report.embedded, report.reused) == (4, 0)
    assert report.before.startswith("old/")
    assert report.after.startswith("new/")
    assert report.kept
    assert heard[-1] == (4, 4)
    async with gateway(settings, NEW) as (index, _):
        assert await contents(index) == before
        assert await finds(index, "money of an order back") == "refund_order"
        stats = await index.stats()
        assert (stats.dimensions, stats.catalog_revision) == (48, max(before.values()))
        await index.register([tool("after")])
        assert (await contents(index))["after"] > max(before.values())


async def test_a_move_back_brings_along_what_came_since_and_embeds_nothing_else(settings: IndexerSettings) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register(SHOP)
    await move(settings, NEW)
    async with gateway(settings, NEW) as (index, _):
        await index.register([tool("since"), replace(SHOP[0], description="Changed since.")])
        await index.delete([SHOP[2].key])
        before = await contents(index)
    old = embedder(OLD)
    report = await back(replace(settings, encoder=NEW), old)
    assert (report.embedded, old.documents) == (2, 2)
    assert report.reused == 3
    async with gateway(settings, OLD) as (index, _):
        assert (await contents(index)).keys() == before.keys()
        stored = await index.get(SHOP[0].key)
        assert stored is not None
        assert stored.definition.description == "Changed since."
    new = embedder(NEW)
    forward = await move(settings, NEW, with_embedder=new)
    assert forward.embedded == (0 if settings.qdrant.url else 5)
    async with gateway(settings, NEW) as (index, _):
        assert (await contents(index)).keys() == before.keys()


async def test_moving_to_the_encoder_it_has_does_nothing(settings: IndexerSettings) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register(SHOP)
    report = await move(settings, OLD)
    assert "nothing was done" in report.note
    assert report.embedded == 0


async def test_without_a_catalog_there_is_nothing_to_move(settings: IndexerSettings) -> None:
    with pytest.raises(StoreMissingError, match="TOOLSCOUT_ENCODER"):
        await move(settings, NEW)


async def test_without_a_move_there_is_nothing_to_go_back_to(settings: IndexerSettings) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register(SHOP)
    with pytest.raises(StoreMissingError):
        await back(settings, embedder(OLD))


async def test_the_old_catalog_goes_if_it_is_not_to_be_kept(
    settings: IndexerSettings, request: pytest.FixtureRequest
) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register(SHOP)
    report = await move(settings, NEW, keep_old=False)
    assert report.kept == ""
    if settings.qdrant.url:
        stub: QdrantStub = request.getfixturevalue("qdrant")[0]
        assert (list(stub.collections), stub.aliases) == (["toolscout-2"], {"toolscout": "toolscout-2"})
    else:
        assert not (settings.home / KEPT_DIRECTORY).exists()
    with pytest.raises(StoreMissingError):
        await back(replace(settings, encoder=NEW), embedder(OLD))


async def test_a_failing_encoder_leaves_the_catalog_as_it_was(settings: IndexerSettings) -> None:
    async with gateway(settings, OLD) as (index, _):
        await index.register(SHOP)
    broken = embedder(NEW)
    broken.failing = True
    with pytest.raises(EmbeddingError):
        await move(settings, NEW, with_embedder=broken)
    async with gateway(settings, OLD) as (index, _):
        await index.register([tool("later")])
        assert len(await contents(index)) == 6


# On a server.


async def test_a_gateway_that_runs_on_keeps_searching_and_says_what_to_do(on_server: IndexerSettings) -> None:
    async with gateway(on_server, OLD) as (running, ticks):
        await running.register(SHOP)
        await move(on_server, NEW)
        await ticks.tick()
        assert await finds(running, "money of an order back") == "refund_order"
        assert "TOOLSCOUT_ENCODER=new" in (await running.stats()).problem
        with pytest.raises(CatalogMovedError, match="TOOLSCOUT_ENCODER=new"):
            await running.register([tool("lost")])
        async with gateway(on_server, NEW) as (fresh, _):
            assert "lost" not in await contents(fresh)


async def test_a_gateway_of_the_new_encoder_cannot_start_before_the_move(on_server: IndexerSettings) -> None:
    async with gateway(on_server, OLD) as (running, _):
        await running.register(SHOP)
        with pytest.raises(EncoderMismatchError, match=r"migrate --encoder new"):
            async with gateway(on_server, NEW):
                pass


async def test_what_is_registered_during_the_move_is_in_the_moved_catalog(on_server: IndexerSettings) -> None:
    async with gateway(on_server, OLD) as (running, _):
        await running.register(SHOP)
        slow = InterruptedEmbedder(NEW, lambda: anyio.from_thread.run(during))

        async def during() -> None:
            await running.register([tool("meanwhile"), replace(SHOP[0], description="Changed meanwhile.")])
            await running.delete([SHOP[3].key])

        await move(on_server, NEW, with_embedder=slow)
    async with gateway(on_server, NEW) as (fresh, _):
        found = await contents(fresh)
        assert set(found) == {"refund_order", "cancel_order", "get_weather", "날씨_조회", "meanwhile"}
        stored = await fresh.get(SHOP[0].key)
        assert stored is not None
        assert stored.definition.description == "Changed meanwhile."


async def test_a_running_gateway_of_the_same_encoder_follows_a_move_back(on_server: IndexerSettings) -> None:
    async with gateway(on_server, OLD) as (running, ticks):
        await running.register(SHOP)
        await move(on_server, NEW)
        await ticks.tick()
        async with gateway(on_server, NEW) as (fresh, _):
            await fresh.register([tool("since")])
        await back(replace(on_server, encoder=NEW), embedder(OLD))
        await ticks.tick()
        assert "since" in await contents(running)
        assert (await running.stats()).problem == ""
        await running.register([tool("again")])
        assert "again" in await contents(running)


async def test_a_move_that_was_cut_off_goes_on_where_it_was(
    on_server: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with gateway(on_server, OLD) as (running, _):
        await running.register([tool(f"tool_{number}") for number in range(300)])
    dying = InterruptedEmbedder(NEW, fail, after=2)
    with pytest.raises(EmbeddingError):
        await move(on_server, NEW, with_embedder=dying)
    again = embedder(NEW)
    report = await move(on_server, NEW, with_embedder=again)
    assert report.target == "toolscout-2"
    assert report.reused == 256
    assert again.documents == 44
    assert set(qdrant[0].collections) == {"toolscout-1", "toolscout-2"}


async def test_a_catalog_that_a_dead_mover_left_sealed_takes_changes_after_the_next_move(
    on_server: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with gateway(on_server, OLD) as (running, _):
        await running.register(SHOP)
        seal(qdrant[0], "toolscout-1", NEW)
        with pytest.raises(StoreUnavailableError, match="being moved"):
            await running.register([tool("no")])
        await move(on_server, NEW)
    async with gateway(on_server, NEW) as (fresh, _):
        await fresh.register([tool("yes")])


async def test_a_collection_of_the_time_before_aliases_is_moved_behind_one(
    on_server: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    stub = qdrant[0]
    async with gateway(on_server, OLD) as (index, _):
        await index.register(SHOP)
    stub.collections["toolscout"] = stub.collections.pop("toolscout-1")
    stub.aliases.clear()
    async with gateway(on_server, OLD) as (index, _):
        assert len(await contents(index)) == 5
    report = await move(on_server, NEW)
    assert "could not be kept" in report.note
    assert (list(stub.collections), stub.aliases) == (["toolscout-1"], {"toolscout": "toolscout-1"})
    async with gateway(on_server, NEW) as (index, _):
        assert len(await contents(index)) == 5


# Embedded.


async def test_a_catalog_in_use_is_not_moved(at_home: IndexerSettings) -> None:
    async with gateway(at_home, OLD) as (index, _):
        await index.register(SHOP)
        with pytest.raises(StoreLockedError):
            await move(at_home, NEW)


@pytest.mark.parametrize("moved_to", ["store.before", "store.aside"])
async def test_a_process_killed_between_the_renames_loses_nothing(at_home: IndexerSettings, moved_to: str) -> None:
    async with gateway(at_home, OLD) as (index, _):
        await index.register(SHOP)
    (at_home.home / "store").rename(at_home.home / moved_to)
    EdgeToolStore(at_home.home / "store.new", 48).close()
    async with gateway(at_home, OLD) as (index, _):
        assert len(await contents(index)) == 5


async def test_vectors_of_a_moved_embedded_catalog_are_those_of_the_encoder(at_home: IndexerSettings) -> None:
    async with gateway(at_home, OLD) as (index, _):
        await index.register(SHOP)
    await move(at_home, NEW)
    store = EdgeToolStore(at_home.home / "store", 48)
    for batch in store.scan():
        for stored in batch:
            assert stored.encoder_id.startswith("new/")
            assert np.linalg.norm(np.asarray(stored.vector)) == pytest.approx(1.0, abs=1e-5)
    store.close()
    used = embedder(NEW)
    index = await open_index(replace(at_home, encoder=NEW), embedder=used)
    assert used.documents == 0
    await index.aclose()


class InterruptedEmbedder(CountingEmbedder):
    """Something happens after it has embedded so many batches, once."""

    def __init__(self, encoder: str, happens: Callable[[], None], after: int = 0) -> None:
        super().__init__(encoder, WIDTHS[encoder])
        self._happens = happens
        self._left = after

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self._left == 0:
            self._left = -1
            self._happens()
        self._left -= self._left > 0
        return super().embed_documents(texts)


def fail() -> None:
    raise EmbeddingError("the process dies here")


def seal(stub: QdrantStub, collection: str, encoder: str) -> None:
    """What a mover that was killed before it switched leaves behind."""
    from qdrant_client.http import models

    from indexer.stores.ledger import LEDGER_ID

    held = stub.collections[collection]
    (record,) = held.retrieve(models.PointRequest(ids=[str(LEDGER_ID)], with_payload=True))
    payload = {**record["payload"], "sealed_for": encoder, "version": record["payload"]["version"] + 1}
    held.upsert(models.PointsList(points=[models.PointStruct(id=str(LEDGER_ID), vector={}, payload=payload)]))
