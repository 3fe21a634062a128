"""A catalog that is searched on its Qdrant server, over HTTP: what holds as with the replica, and what does not."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.errors import EncoderMismatchError, StoreError, StoreUnavailableError
from indexer.index import ToolIndex
from indexer.search import SearchScope, ToolSearchRequest
from indexer.server_index import ServerToolIndex
from indexer.settings import IndexerSettings
from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import BROKEN, SHOP, CountingEmbedder, tool
from tests.indexer.on_server import on_server, opened, settings_for
from tests.qdrant_stub.server import QdrantStub, StubServer

QUERY = "POST /collections/([^/]+)/points/query/batch"
COUNT = "POST /collections/([^/]+)/points/count"
FILLING = [tool(f"filler_{number}", "x" * 2000, namespace="filler") for number in range(10)]


@pytest.fixture
def settings(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]) -> IndexerSettings:
    return settings_for(qdrant[1], tmp_path)


@pytest.fixture
async def index(settings: IndexerSettings) -> AsyncGenerator[ToolIndex]:
    async with on_server(settings) as (index, _):
        await index.register([*SHOP, BROKEN, *FILLING])
        await index.measured()
        yield index


async def names(index: ToolIndex, *queries: str, **request: object) -> list[str]:
    found = await index.search(ToolSearchRequest(queries=queries, **request))  # pyright: ignore[reportArgumentType]
    return [hit.definition.name for hit in found.results]


async def test_the_budget_decides_where_is_searched(settings: IndexerSettings) -> None:
    async with opened(settings) as (small, _):
        assert isinstance(small, VectorToolIndex)
        await small.register([tool(f"tool_{number}") for number in range(200)])
    async with opened(settings) as (large, _):
        assert isinstance(large, ServerToolIndex)
    async with opened(settings, budget_mb=100) as (roomy, _):
        assert isinstance(roomy, VectorToolIndex)
    async with opened(settings, budget_mb=None) as (unlimited, _):
        assert isinstance(unlimited, VectorToolIndex)


async def test_a_search_is_one_request(index: ToolIndex, qdrant: tuple[QdrantStub, StubServer]) -> None:
    qdrant[0].requests.clear()
    found = await index.search(
        ToolSearchRequest(queries=("money of an order back", "weather in a city"), max_results=4)
    )
    assert qdrant[0].requests == [QUERY]
    assert {hit.definition.name for hit in found.results[:2]} == {"refund_order", "get_weather"}
    assert found.catalog_revision == 16


async def test_how_wide_a_scope_is_is_asked_once(index: ToolIndex, qdrant: tuple[QdrantStub, StubServer]) -> None:
    shop = SearchScope(namespaces=frozenset({"shop"}))
    qdrant[0].requests.clear()
    assert set(await names(index, "money of an order back", scope=shop)) == {"refund_order", "cancel_order"}
    assert set(await names(index, "an order that was not shipped", scope=shop)) == {"refund_order", "cancel_order"}
    assert qdrant[0].requests == [COUNT, QUERY, QUERY]


async def test_a_result_says_why_it_was_found_and_how_near_it_is(index: ToolIndex) -> None:
    found = await index.search(ToolSearchRequest(queries=("give the customer the money back",), max_results=3))
    best = found.results[0]
    assert best.alias == "shop__refund_order"
    assert best.definition == SHOP[0]
    assert 0.5 < best.score <= 0.99
    assert [hit.score for hit in found.results] == sorted((hit.score for hit in found.results), reverse=True)
    words, meaning = best.reasons
    assert words.startswith("words: ")
    assert {"customer", "money"} <= set(words.removeprefix("words: ").split(", "))
    assert float(meaning.removeprefix("meaning: ")) > 0


async def test_exact_names_come_first_whatever_ranks(index: ToolIndex) -> None:
    assert (await names(index, "select:send_mail,refund_order")) == ["send_mail", "refund_order"]
    assert (await names(index, "Send_Mail"))[0] == "send_mail"
    assert (await names(index, "shop/cancel_order"))[0] == "cancel_order"
    assert (await names(index, "weather of a city, or mail__send_mail"))[0] == "send_mail"
    found = await index.search(ToolSearchRequest(queries=("select:send_mail",)))
    assert (found.results[0].score, found.results[0].reasons) == (1.0, ("exact name",))


async def test_tools_found_before_come_last_and_the_answer_says_if_there_is_nothing_new(index: ToolIndex) -> None:
    known = frozenset({SHOP[0].key})
    found = await names(index, "money of an order back", max_results=3, already_found=known)
    assert "refund_order" not in found[:2]
    again = await index.search(ToolSearchRequest(queries=("select:refund_order",), already_found=known))
    assert again.empty_reason == "all_already_found"


async def test_a_near_duplicate_elsewhere_shares_a_place(index: ToolIndex) -> None:
    await index.register([replace(SHOP[0], namespace="mirror")])
    found = await index.search(ToolSearchRequest(queries=("give the money of an order back",), max_results=3))
    assert [hit.definition.name for hit in found.results].count("refund_order") == 1
    first = found.results[0]
    assert {first.definition.namespace, *first.also_in} == {"shop", "mirror"}


async def test_a_failing_encoder_costs_meaning_and_not_the_answer(settings: IndexerSettings, index: ToolIndex) -> None:
    broken = CountingEmbedder()
    async with on_server(settings, embedder=broken) as (index, _):
        broken.failing = True
        found = await index.search(ToolSearchRequest(queries=("cancel an order",)))
        assert found.degraded == "lexical"
        assert found.results[0].definition.name == "cancel_order"
        assert 0 < found.results[0].score <= 0.99


async def test_an_empty_answer_explains_itself(index: ToolIndex, settings: IndexerSettings) -> None:
    nowhere = await index.search(
        ToolSearchRequest(queries=("order",), scope=SearchScope(namespaces=frozenset({"none"})))
    )
    assert (nowhere.results, nowhere.empty_reason) == ((), "nothing_in_scope")
    wordless = await index.search(ToolSearchRequest(queries=("…",)))
    assert wordless.empty_reason == "no_match"
    assert "filler" in wordless.namespaces
    await index.delete([definition.key for definition in (*SHOP, BROKEN, *FILLING)])
    assert (await index.search(ToolSearchRequest(queries=("order",)))).empty_reason == "catalog_empty"


async def test_only_tools_near_the_best_are_handed_out_if_that_is_asked_for(index: ToolIndex) -> None:
    everything = await names(index, "cancel an order", max_results=20)
    near = await names(index, "cancel an order", max_results=20, worth_share=0.6)
    assert near == everything[: len(near)]
    assert 0 < len(near) < len(everything)


async def test_pages_of_tools_cross_namespaces_in_order(index: ToolIndex) -> None:
    whole = await index.list_tools(SearchScope(), limit=1000)
    assert [stored.definition.key for stored in whole] == sorted(stored.definition.key for stored in whole)
    pages = [await index.list_tools(SearchScope(), offset=start, limit=4) for start in range(0, 20, 4)]
    assert [stored for page in pages for stored in page] == whole
    held = await index.list_tools(SearchScope(), quarantined=True)
    assert [stored.definition.key for stored in held] == [BROKEN.key]
    assert held[0].reason
    assert await index.get(BROKEN.key) == held[0]


async def test_what_another_gateway_registers_is_found_at_once(settings: IndexerSettings, index: ToolIndex) -> None:
    async with on_server(settings) as (other, _):
        await other.register([tool("peel_onions", "Peel the onions for the soup.")])
        await other.delete([SHOP[1].key])
    assert (await names(index, "peel onions for a soup"))[0] == "peel_onions"
    assert await index.get(SHOP[1].key) is None


async def test_registering_again_changes_nothing(index: ToolIndex) -> None:
    report = await index.register([*SHOP, BROKEN])
    assert (report.added, report.changed, report.unchanged, len(report.quarantined)) == (0, 0, 5, 1)
    assert report.catalog_revision == 16


async def test_while_the_server_is_away_nothing_is_found_and_afterwards_everything(
    settings: IndexerSettings, index: ToolIndex, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    qdrant[1].stop()
    with pytest.raises(StoreUnavailableError):
        await names(index, "money of an order back")
    with pytest.raises(StoreUnavailableError):
        await index.register([tool("new")])
    qdrant[1].start()
    assert (await names(index, "money of an order back"))[0] == "refund_order"


async def test_another_encoder_is_refused(settings: IndexerSettings, index: ToolIndex) -> None:
    with pytest.raises(EncoderMismatchError):
        async with on_server(replace(settings, encoder="other"), embedder=CountingEmbedder("other")):
            pass


async def test_a_collection_without_words_is_refused_with_what_to_do(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer], index: ToolIndex
) -> None:
    qdrant[0].collections["toolscout-1"].config.sparse_vectors = {}
    with pytest.raises(StoreError, match="toolscout migrate"):
        async with on_server(settings):
            pass
