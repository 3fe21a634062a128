"""Indexes over one Qdrant server, spoken to over HTTP: news, silence, recovery, and a start while it is away."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.errors import EncoderMismatchError, StoreUnavailableError
from indexer.index import ToolIndex
from indexer.opening import Timers, open_index
from indexer.search import SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.settings import IndexerSettings, QdrantSettings
from tests.indexer.catalogs import SHOP, CountingEmbedder, tool
from tests.qdrant_stub.server import QdrantStub, StubServer
from tests.ticking import Clock, Ticks


@pytest.fixture
def settings(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]) -> IndexerSettings:
    server = QdrantSettings(url=qdrant[1].url, timeout_seconds=20)
    return IndexerSettings(home=tmp_path / "home", encoder="counting", qdrant=server)


@asynccontextmanager
async def opened(
    settings: IndexerSettings, *, home: str = "", clock: Clock | None = None, encoder: str = "counting"
) -> AsyncGenerator[tuple[ToolIndex, Ticks]]:
    """An index of one gateway; `home`: a home of its own."""
    ticks, clock = Ticks(), clock or Clock()
    settings = replace(settings, home=settings.home / home, encoder=encoder)
    index = await open_index(
        settings, embedder=CountingEmbedder(encoder), timers=Timers(tick=ticks, monotonic=clock, sleep=clock.sleep)
    )
    try:
        yield index, ticks
    finally:
        await index.aclose()


async def search(index: ToolIndex, query: str = "select:refund_order") -> ToolSearchResponse:
    return await index.search(ToolSearchRequest(queries=(query,)))


async def names(index: ToolIndex) -> list[str]:
    return sorted(stored.definition.name for stored in await index.list_tools(SearchScope()))


async def test_a_gateway_finds_what_another_one_registered_after_its_next_question(settings: IndexerSettings) -> None:
    async with opened(settings, home="one") as (one, _), opened(settings, home="two") as (two, ticks):
        await one.register(SHOP)
        assert (await search(one)).results
        assert not (await search(two)).results
        await ticks.tick()
        assert [hit.definition for hit in (await search(two)).results] == [SHOP[0]]
        await one.delete([SHOP[0].key])
        await ticks.tick()
        assert not (await search(two)).results
        assert (await two.stats()).catalog_revision == (await one.stats()).catalog_revision == 6


async def test_an_idle_question_is_one_request(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, ticks):
        await index.register(SHOP)
        await ticks.tick()
        qdrant[0].requests.clear()
        await ticks.tick()
        assert qdrant[0].requests == ["POST /collections/([^/]+)/points"]  # the ledger


async def test_searches_go_on_and_say_so_while_the_server_is_away(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer], caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with opened(settings, clock=clock) as (index, ticks):
        await index.register(SHOP)
        qdrant[1].stop()
        with caplog.at_level(logging.WARNING, logger="indexer"):
            await ticks.tick()
            clock.now += 4.0
            await ticks.tick()
        assert caplog.text.count("cannot be followed") == 1
        assert not (await search(index)).stale  # not for long enough yet
        clock.now += 20.0
        found = await search(index)
        assert (found.stale, found.stale_seconds) == (True, 24.0)
        assert found.results
        stats = await index.stats()
        assert (stats.stale, stats.silence_seconds) == (True, 24.0)
        assert "Qdrant cannot be reached" in stats.problem
        with pytest.raises(StoreUnavailableError):
            await index.register([tool("new")])
        with pytest.raises(StoreUnavailableError):
            await index.delete([SHOP[0].key])
        assert (await search(index)).results

        qdrant[1].start()
        await ticks.tick()
        found = await search(index)
        assert (found.stale, found.stale_seconds) == (False, 0.0)
        assert (await index.stats()).problem == ""
        await index.register([tool("new")])
        assert "new" in await names(index)


async def test_a_gateway_that_starts_while_the_server_is_away_searches_what_it_knew(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, _):
        await index.register(SHOP)
    async with opened(settings, home="other") as (other, _):
        await other.register([tool("later")])
        qdrant[1].stop()
        clock = Clock()
        async with opened(settings, clock=clock) as (index, ticks):
            assert sorted(await names(index)) == sorted(shop.name for shop in SHOP)
            clock.now += 60.0
            assert (await search(index)).stale
            with pytest.raises(StoreUnavailableError):
                await index.register([tool("new")])
            await ticks.tick()
            qdrant[1].start()
            await ticks.tick()
            assert not (await search(index)).stale
            assert "later" in await names(index)
            await index.register([tool("new")])
            assert {"later", "new"} <= set(await names(index))


async def test_a_gateway_that_knows_nothing_cannot_start_while_the_server_is_away(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    qdrant[1].stop()
    with pytest.raises(StoreUnavailableError, match="TOOLSCOUT_QDRANT_URL"):
        async with opened(settings):
            pass


async def test_a_snapshot_of_a_collection_that_was_made_anew_is_not_believed(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, _):
        await index.register(SHOP)
    qdrant[0].drop("toolscout-1")
    async with opened(settings, home="other") as (other, _):
        await other.register([tool(f"other_{number}") for number in range(7)])
    async with opened(settings) as (index, _):
        assert await names(index) == [f"other_{number}" for number in range(7)]


async def test_a_collection_that_was_made_anew_replaces_what_a_running_gateway_knew(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, ticks):
        await index.register(SHOP)
        qdrant[0].drop("toolscout-1")
        async with opened(settings, home="other") as (other, _):
            await other.register([tool("only")])
        await ticks.tick()
        assert await names(index) == ["only"]


async def test_a_start_reads_only_what_came_after_its_snapshot(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, ticks):
        await index.register([*SHOP, *(tool(f"tool_{number}") for number in range(300))])
        await ticks.tick()
    async with opened(settings, home="other") as (other, _):
        await other.register([tool("later")])
    read: list[int] = []
    collection = qdrant[0].collections["toolscout-1"]
    scroll = collection.scroll

    def counted(body: object) -> dict[str, list[object]]:
        answer = scroll(body)  # pyright: ignore[reportArgumentType]
        read.append(len(answer["points"]))
        return answer

    collection.scroll = counted  # pyright: ignore[reportAttributeAccessIssue]
    async with opened(settings) as (index, _):
        assert (await index.stats()).tools == len(SHOP) + 301
    assert sum(read) == 1


async def test_an_index_of_another_encoder_is_refused_by_name(settings: IndexerSettings) -> None:
    async with opened(settings) as (index, _):
        await index.register(SHOP)
    with pytest.raises(EncoderMismatchError, match=r"TOOLSCOUT_ENCODER=counting.*toolscout migrate --encoder other"):
        async with opened(settings, home="other", encoder="other"):
            pass


async def test_a_busy_server_is_asked_again_within_the_timeout(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with opened(settings) as (index, _):
        qdrant[0].faults += [(503, {}), (429, {"retry-after": "0"}), (500, {})]
        report = await index.register(SHOP)
        assert report.added == len(SHOP)
        qdrant[0].faults += [(429, {"retry-after": "70"})]
        with pytest.raises(StoreUnavailableError) as refused:
            await index.register([tool("new")])
        assert refused.value.retry_after_seconds == 70
        assert (await index.register([tool("new")])).added == 1


async def test_closing_ends_the_following(settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]) -> None:
    async with opened(settings) as (index, ticks):
        await ticks.tick()
    qdrant[0].requests.clear()
    await index.aclose()
    assert qdrant[0].requests == []
