"""Opening a catalog from settings, on disk as a user has it."""

import logging
from pathlib import Path

import numpy as np
import pytest

from indexer.embedders.hashing import HashingEmbedder
from indexer.errors import StoreLockedError, StoreUnavailableError, UnknownEncoderError
from indexer.index import ToolIndex
from indexer.opening import open_index
from indexer.search import SearchScope, ToolSearchRequest
from indexer.settings import IndexerSettings, QdrantSettings
from indexer.stores.edge import EdgeToolStore
from tests.indexer.catalogs import BROKEN, SHOP, CountingEmbedder, tool


@pytest.fixture
def settings(tmp_path: Path) -> IndexerSettings:
    return IndexerSettings(home=tmp_path / "home", encoder="hashing")


async def answers(index: ToolIndex) -> list[tuple[str, float]]:
    request = ToolSearchRequest(queries=("money back for an order", "weather"), max_results=10)
    return [(hit.alias, hit.score) for hit in (await index.search(request)).results]


async def test_a_reopened_catalog_is_the_same_and_embeds_nothing(settings: IndexerSettings) -> None:
    first = await open_index(settings, embedder=CountingEmbedder())
    await first.register([*SHOP, BROKEN])
    await first.delete([SHOP[1].key])
    listed, found = await first.list_tools(SearchScope()), await answers(first)
    await first.aclose()

    embedder = CountingEmbedder()
    second = await open_index(settings, embedder=embedder)
    assert await second.list_tools(SearchScope()) == listed
    assert await answers(second) == found
    stats = await second.stats()
    assert (stats.tools, stats.quarantined, stats.catalog_revision, stats.store) == (4, 1, 7, "edge")
    report = await second.register([SHOP[0], BROKEN])
    assert (report.unchanged, report.catalog_revision) == (1, 7)
    assert embedder.documents == 0
    await second.aclose()


async def test_the_snapshot_can_be_thrown_away(settings: IndexerSettings) -> None:
    first = await open_index(settings)
    await first.register(SHOP)
    found = await answers(first)
    await first.aclose()
    for path in (settings.home / "snapshots").iterdir():
        path.unlink()
    second = await open_index(settings)
    assert await answers(second) == found
    await second.aclose()


async def test_a_catalog_in_use_is_refused_in_words(settings: IndexerSettings) -> None:
    first = await open_index(settings)
    with pytest.raises(StoreLockedError, match="in use by process"):
        await open_index(settings)
    await first.aclose()


async def test_an_unknown_encoder_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownEncoderError):
        await open_index(IndexerSettings(home=tmp_path / "home", encoder="nobody"))
    assert not (tmp_path / "home").exists()


async def test_a_server_that_is_away_is_reported(tmp_path: Path) -> None:
    away = IndexerSettings(
        home=tmp_path, encoder="hashing", qdrant=QdrantSettings(url="http://127.0.0.1:9", timeout_seconds=1)
    )
    with pytest.raises(StoreUnavailableError, match="TOOLSCOUT_QDRANT_URL"):
        await open_index(away)


async def test_a_failing_encoder_lets_go_of_the_store(settings: IndexerSettings) -> None:
    first = await open_index(settings, embedder=CountingEmbedder("old"))
    await first.register(SHOP)
    await first.aclose()
    broken = CountingEmbedder("new")
    broken.failing = True
    with pytest.raises(Exception, match="out of order"):
        await open_index(settings, embedder=broken)
    again = await open_index(settings, embedder=CountingEmbedder("old"))
    assert (await again.stats()).tools == 5
    await again.aclose()


async def test_an_encoder_of_another_width_moves_the_catalog(
    settings: IndexerSettings, caplog: pytest.LogCaptureFixture
) -> None:
    first = await open_index(settings, embedder=HashingEmbedder(64))
    await first.register([*SHOP, BROKEN])
    await first.delete([SHOP[1].key])
    await first.aclose()
    with caplog.at_level(logging.WARNING, logger="indexer"):
        second = await open_index(settings, embedder=HashingEmbedder(96))
    assert "64 dimensions" in caplog.text
    stats = await second.stats()
    assert (stats.tools, stats.quarantined, stats.dimensions) == (4, 1, 96)
    assert (await answers(second))[0][0] == "shop__refund_order"
    await second.aclose()
    assert sorted(path.name for path in settings.home.iterdir()) == ["snapshots", "store"]
    third = await open_index(settings, embedder=HashingEmbedder(96))
    assert (await third.stats()).catalog_revision == stats.catalog_revision
    await third.aclose()


async def test_a_move_that_was_cut_off_is_begun_again(settings: IndexerSettings) -> None:
    first = await open_index(settings, embedder=HashingEmbedder(64))
    await first.register(SHOP)
    await first.aclose()
    (settings.home / "store").rename(settings.home / "store.old")
    EdgeToolStore(settings.home / "store.new", 96).close()
    second = await open_index(settings, embedder=HashingEmbedder(96))
    assert (await second.stats()).tools == 5
    await second.aclose()


async def test_tools_on_disk_have_the_vectors_the_encoder_gave(settings: IndexerSettings) -> None:
    index = await open_index(settings)
    await index.register([tool("one", "The only tool."), *SHOP])
    await index.aclose()
    store = EdgeToolStore(settings.home / "store", 256)
    found = [stored for batch in store.scan() for stored in batch]
    store.close()
    assert [stored.revision for stored in found] == [1, 2, 3, 4, 5, 6]
    for stored in found:
        assert np.linalg.norm(np.asarray(stored.vector)) == pytest.approx(1.0, abs=1e-5)


async def test_what_is_weak_is_measured_once_and_kept_in_the_snapshot(settings: IndexerSettings) -> None:
    words = ("invoice", "ticket", "calendar", "bucket", "mailbox", "branch", "player", "recipe")
    tools = [tool(f"{verb}_{noun}", f"{verb} one {noun} of a user") for noun in words for verb in ("create", "delete")]
    request = ToolSearchRequest(queries=("peel the onions for grandmother and stir the soup",), max_results=1)
    first = await open_index(settings)
    await first.register(tools)
    weak = await first.search(request)
    await first.aclose()
    second = await open_index(settings)

    assert all("weak match" in hit.reasons for hit in weak.results)
    assert (await second.search(request)).results == weak.results
    await second.aclose()
