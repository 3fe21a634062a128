"""What a `ToolIndex` promises, over each store it may stand on."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from indexer.embedders.hashing import HashingEmbedder
from indexer.following import SharedLog
from indexer.index import ToolIndex
from indexer.registering import encoder_id_of
from indexer.search import SearchScope, ToolSearchRequest
from indexer.server_index import ServerToolIndex
from indexer.server_writing import ServerCatalogWriter
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import connect_async
from indexer.validation import judge
from indexer.vector_index import VectorToolIndex
from indexer.writing import CatalogWriter
from tests.contracts.stores import DIMENSIONS, HOUSES, StoreHouse, server_house, server_url, stub_house
from tests.indexer.catalogs import BROKEN, SHOP


def over_replica(make_house: Callable[[Path], StoreHouse], folder: Path) -> Callable[[], ToolIndex]:
    house = make_house(folder)

    def open_again() -> ToolIndex:
        embedder = HashingEmbedder(DIMENSIONS)
        writer = CatalogWriter(
            house.open(), embedder, judge, store_id=house.name, snapshot_path=folder / "index.replica"
        )
        return VectorToolIndex(writer, embedder, store_kind=house.name)

    return open_again


def on_server(make_house: Callable[[Path], StoreHouse], folder: Path) -> Callable[[], ToolIndex]:
    house = make_house(folder)

    def open_again() -> ToolIndex:
        embedder = HashingEmbedder(DIMENSIONS)
        store = house.open()
        assert isinstance(store, QdrantToolStore)
        log = SharedLog(store, encoder_id=encoder_id_of(embedder))
        writer = ServerCatalogWriter(store, log, embedder, judge)
        return ServerToolIndex(writer, connect_async(server_url(house), timeout_seconds=10), embedder)

    return open_again


KINDS = (*((over_replica, house) for house in HOUSES), (on_server, stub_house), (on_server, server_house))


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0].__name__}-{kind[1].__name__}")
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ToolIndex]:
    """Opens an index over the same data, again and again."""
    kind, house = request.param
    return kind(house, tmp_path)


@pytest.fixture
async def index(open_index: Callable[[], ToolIndex]) -> AsyncIterator[ToolIndex]:
    opened = open_index()
    await opened.register([*SHOP, BROKEN])
    yield opened
    await opened.aclose()


async def names(index: ToolIndex, query: str, scope: SearchScope | None = None) -> list[str]:
    response = await index.search(ToolSearchRequest(queries=(query,), scope=scope or SearchScope()))
    return [hit.definition.name for hit in response.results]


async def test_what_was_registered_is_found_listed_resolved_and_counted(index: ToolIndex) -> None:
    assert (await names(index, "money of an order back"))[0] == "refund_order"
    assert (await names(index, "select:send_mail")) == ["send_mail"]
    listed = await index.list_tools(SearchScope())
    assert sorted(found.definition.key for found in listed) == sorted(definition.key for definition in SHOP)
    assert (await index.resolve(["shop__refund_order"], SearchScope())) == {"shop__refund_order": SHOP[0]}
    assert await index.namespaces(SearchScope()) == {"mail": 1, "shop": 2, "weather": 2}
    assert await index.pinned(SearchScope()) == [SHOP[3]]
    stats = await index.stats()
    assert (stats.tools, stats.quarantined, stats.catalog_revision) == (5, 1, 6)


async def test_registering_again_changes_nothing(index: ToolIndex) -> None:
    report = await index.register([*SHOP, BROKEN])
    assert (report.added, report.changed, report.unchanged, len(report.quarantined)) == (0, 0, 5, 1)
    assert report.catalog_revision == 6


async def test_a_scope_is_kept_by_every_reading_method(index: ToolIndex) -> None:
    shop = SearchScope(namespaces=frozenset({"shop"}))
    assert set(await names(index, "order weather mail", shop)) <= {"refund_order", "cancel_order"}
    assert len(await index.list_tools(shop)) == 2
    assert await index.resolve(["mail__send_mail"], shop) == {}
    assert await index.namespaces(shop) == {"shop": 2}
    assert await index.pinned(shop) == []


async def test_everything_is_there_after_closing_and_reopening(open_index: Callable[[], ToolIndex]) -> None:
    first = open_index()
    await first.register([*SHOP, BROKEN])
    await first.delete([SHOP[1].key])
    listed = await first.list_tools(SearchScope())
    held = await first.list_tools(SearchScope(), quarantined=True)
    found = await names(first, "an order")
    await first.aclose()
    second = open_index()
    assert await second.list_tools(SearchScope()) == listed
    assert await second.list_tools(SearchScope(), quarantined=True) == held
    assert await names(second, "an order") == found
    assert await second.get(SHOP[1].key) is None
    await second.aclose()
