"""What the index does for those above it, over a store in memory."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, ToolKey
from indexer.errors import EmbeddingError, SourceError, StoreError, StoreUnavailableError
from indexer.search import RejectedTool, SearchScope, ToolSearchRequest
from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import BROKEN, SHOP, CountingEmbedder, UnreliableStore, make_index, make_store, tool


@pytest.fixture
async def index() -> AsyncIterator[VectorToolIndex]:
    opened = make_index()
    await opened.register(SHOP)
    yield opened
    await opened.aclose()


def request(*queries: str, scope: SearchScope | None = None, k: int = 5) -> ToolSearchRequest:
    return ToolSearchRequest(queries=queries, max_results=k, scope=scope or SearchScope())


async def names(index: VectorToolIndex, *queries: str, scope: SearchScope | None = None, k: int = 5) -> list[str]:
    response = await index.search(request(*queries, scope=scope, k=k))
    return [reference.definition.name for reference in response.results]


# Registering.


async def test_a_first_registration_adds_everything(index: VectorToolIndex) -> None:
    stats = await index.stats()
    assert (stats.tools, stats.quarantined, stats.namespaces, stats.catalog_revision) == (5, 0, 3, 5)
    assert stats.store == "memory"
    assert set(stats.parts_bytes) == {"vectors", "lexical", "definitions", "columns"}
    assert all(size > 0 for size in stats.parts_bytes.values())


async def test_registering_the_same_again_embeds_nothing_and_changes_nothing() -> None:
    embedder = CountingEmbedder()
    index = make_index(embedder=embedder)
    await index.register(SHOP)
    embedder.documents = 0
    report = await index.register(SHOP)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 5)
    assert report.catalog_revision == 5
    assert embedder.documents == 0


async def test_a_changed_definition_replaces_the_old_one(index: VectorToolIndex) -> None:
    report = await index.register([replace(SHOP[0], description="Zebra stripes.")])
    assert (report.added, report.changed, report.unchanged) == (0, 1, 0)
    assert (await names(index, "zebra"))[0] == "refund_order"
    response = await index.search(request("customer money back"))
    assert all("words" not in reason for hit in response.results for reason in hit.reasons if hit.score < 0)
    assert (await index.stats()).tools == 5
    stored = await index.get(SHOP[0].key)
    assert stored is not None
    assert (stored.definition.description, stored.revision) == ("Zebra stripes.", 6)


async def test_of_several_definitions_of_one_tool_the_last_wins_and_the_report_says_so() -> None:
    index = make_index()
    report = await index.register([tool("a", "First."), tool("b"), tool("a", "Second."), tool("a", "Second.")])
    assert (report.added, report.changed, report.unchanged, report.total) == (2, 1, 1, 4)
    stored = await index.get(ToolKey("default", "default", "a"))
    assert stored is not None
    assert stored.definition.description == "Second."
    assert (await index.stats()).tools == 2


async def test_a_broken_definition_is_quarantined_with_its_reason_and_never_found() -> None:
    index = make_index()
    report = await index.register([*SHOP, BROKEN])
    assert (report.added, len(report.quarantined), report.total) == (5, 1, 6)
    (rejected,) = report.quarantined
    assert (rejected.place, rejected.tool) == ("default/broken", "broken")
    assert rejected.field.startswith("input_schema")
    assert "broken" not in await names(index, "broken", "schema nobody can use")
    assert await index.resolve(["broken"], SearchScope()) == {}
    (held,) = await index.list_tools(SearchScope(), quarantined=True)
    assert held.definition == BROKEN
    assert held.status == "quarantined"
    assert held.reason.startswith("input_schema")
    assert await index.get(BROKEN.key) == held


async def test_registering_a_quarantined_tool_again_reports_it_again_and_writes_nothing() -> None:
    index = make_index()
    await index.register([BROKEN])
    report = await index.register([BROKEN])
    assert len(report.quarantined) == 1
    assert report.unchanged == 0
    assert report.catalog_revision == 1


async def test_a_mended_tool_leaves_quarantine_and_a_broken_update_enters_it() -> None:
    index = make_index()
    await index.register([BROKEN])
    mended = replace(BROKEN, input_schema={"type": "object"})
    report = await index.register([mended])
    assert (report.changed, len(report.quarantined)) == (1, 0)
    assert (await names(index, "broken"))[0] == "broken"
    await index.register([BROKEN])
    assert await names(index, "broken") == []
    assert (await index.stats()).quarantined == 1


async def test_what_a_source_could_not_read_is_reported_as_refused() -> None:
    rejected = RejectedTool(place="line 3", tool="x", field="name", reason="is missing")
    index = make_index()
    report = await index.register([rejected, tool("good")])
    assert report.refused == (rejected,)
    assert report.added == 1


async def test_a_name_that_no_engine_can_hold_is_refused() -> None:
    report = await make_index().register([tool("half\ud800"), tool("whole")])
    assert report.added == 1
    (refused,) = report.refused
    assert "surrogate" in refused.reason


async def test_zero_entries_are_a_report_of_zeros() -> None:
    report = await make_index().register([])
    assert (report.total, report.catalog_revision) == (0, 0)


async def test_progress_hears_how_many_entries_are_done() -> None:
    heard: list[int] = []
    await make_index().register((tool(f"tool_{number}") for number in range(300)), progress=heard.append)
    assert heard == [128, 256, 300]


async def test_what_came_before_a_failing_source_is_registered() -> None:
    def entries() -> Iterator[ToolDefinition]:
        yield from SHOP
        raise SourceError("tools.json", "ends in the middle of line 6")

    index = make_index()
    with pytest.raises(SourceError):
        await index.register(entries())
    assert (await index.stats()).tools == 5


async def test_an_encoder_that_fails_registers_nothing_of_that_batch() -> None:
    embedder = CountingEmbedder()
    index = make_index(embedder=embedder)
    embedder.failing = True
    with pytest.raises(EmbeddingError):
        await index.register(SHOP)
    embedder.failing = False
    report = await index.register(SHOP)
    assert (report.added, report.catalog_revision) == (5, 5)


@pytest.mark.parametrize("written", [0, 2])
async def test_a_write_that_failed_half_way_is_made_good_by_the_next(written: int) -> None:
    store = UnreliableStore(make_store())
    index = make_index(store)
    store.fails, store.writes_before_failing = 1, written
    with pytest.raises(StoreUnavailableError):
        await index.register(SHOP)
    report = await index.register(SHOP)
    assert (report.added, report.unchanged) == (5 - written, written)
    assert (await index.stats()).tools == 5
    revisions = [found.revision for batch in store.scan() for found in batch]
    assert revisions == [1, 2, 3, 4, 5]


async def test_a_cancelled_registration_leaves_store_and_replica_in_step() -> None:
    store = make_store()
    index = make_index(store)
    with anyio.CancelScope() as scope:
        await index.register(
            (tool(f"tool_{number}") for number in range(600)), progress=lambda done: scope.cancel() if done else None
        )
    assert scope.cancelled_caught
    in_store = {found.key: found.revision for batch in store.scan() for found in batch}
    listed = await index.list_tools(SearchScope(), limit=5000)
    assert {found.key: found.revision for found in listed} == in_store
    assert 0 < len(in_store) < 600


async def test_concurrent_registrations_all_arrive_with_revisions_of_their_own() -> None:
    index = make_index()
    async with anyio.create_task_group() as group:
        for part in range(4):
            group.start_soon(index.register, [tool(f"tool_{part}_{number}") for number in range(50)])
    listed = await index.list_tools(SearchScope(), limit=500)
    assert sorted(found.revision for found in listed) == list(range(1, 201))


# Deleting.


async def test_a_deleted_tool_is_gone_everywhere(index: VectorToolIndex) -> None:
    key = SHOP[0].key
    assert await index.delete([key, key, ToolKey("default", "shop", "never_was")]) == 1
    assert await index.get(key) is None
    assert "refund_order" not in await names(index, "refund_order", "customer money back")
    assert await index.resolve([model_alias(key)], SearchScope()) == {}
    assert (await index.namespaces(SearchScope())) == {"mail": 1, "shop": 1, "weather": 2}
    assert await index.delete([key]) == 0


async def test_a_deleted_tool_can_be_registered_again(index: VectorToolIndex) -> None:
    await index.delete([SHOP[0].key])
    report = await index.register([SHOP[0]])
    assert (report.added, report.unchanged) == (1, 0)
    assert (await names(index, "refund_order"))[0] == "refund_order"


async def test_a_quarantined_tool_can_be_deleted() -> None:
    index = make_index()
    await index.register([BROKEN])
    assert await index.delete([BROKEN.key]) == 1
    assert await index.get(BROKEN.key) is None
    assert (await index.stats()).quarantined == 0


# Searching.


async def test_a_registered_tool_is_found_by_the_next_search(index: VectorToolIndex) -> None:
    await index.register([tool("translate_text", "Translate a text into another language.")])
    assert (await names(index, "translate into another language"))[0] == "translate_text"


async def test_results_say_why_they_matched(index: VectorToolIndex) -> None:
    response = await index.search(request("money of an order back"))
    best = response.results[0]
    assert best.definition == SHOP[0]
    assert best.alias == "shop__refund_order"
    assert 0 < best.score < 1
    assert any(reason.startswith("words: ") and "order" in reason for reason in best.reasons)
    assert any(reason.startswith("meaning: ") for reason in best.reasons)
    assert best.query == "money of an order back"
    assert (response.degraded, response.stale, response.empty_reason) == ("none", False, "")
    assert response.catalog_revision == 5
    assert response.took_ms > 0
    scores = [hit.score for hit in response.results]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "query", ["cancel_order", "CANCEL_ORDER", "shop/cancel_order", "shop__cancel_order", "  `cancel_order` "]
)
async def test_an_exact_name_comes_first_with_score_one(index: VectorToolIndex, query: str) -> None:
    response = await index.search(request(query))
    assert response.results[0].definition.name == "cancel_order"
    assert response.results[0].score == 1.0
    assert response.results[0].reasons == ("exact name",)


@pytest.mark.parametrize("query", ["team/shop/orders/list", "select:team/shop/orders/list", "orders/list"])
async def test_namespaces_and_names_with_slashes_are_exact_names_too(index: VectorToolIndex, query: str) -> None:
    await index.register([tool("orders/list", namespace="team/shop")])
    response = await index.search(request(query))
    assert response.results[0].definition.name == "orders/list"
    assert response.results[0].reasons == ("exact name",)


async def test_a_select_query_returns_the_named_tools_and_nothing_else(index: VectorToolIndex) -> None:
    assert await names(index, "select: send_mail, shop__refund_order ,unknown") == ["send_mail", "refund_order"]


async def test_korean_words_find_korean_tools(index: VectorToolIndex) -> None:
    assert (await names(index, "도시 날씨"))[0] == "날씨_조회"


async def test_several_queries_share_the_places(index: VectorToolIndex) -> None:
    response = await index.search(request("cancel an order", "weather forecast for a city", k=2))
    assert {hit.definition.name for hit in response.results} == {"cancel_order", "get_weather"}
    assert {hit.query for hit in response.results} == {"cancel an order", "weather forecast for a city"}


async def test_tools_already_found_come_after_the_others(index: VectorToolIndex) -> None:
    found = ToolSearchRequest(queries=("an order",), max_results=5, already_found=frozenset({SHOP[0].key}))
    response = await index.search(found)
    order = [hit.definition.name for hit in response.results]
    assert order[0] == "cancel_order"
    assert order[-1] == "refund_order"
    assert response.empty_reason == ""


async def test_an_answer_that_holds_nothing_new_says_so_and_keeps_its_tools(index: VectorToolIndex) -> None:
    everything = frozenset(one.key for one in SHOP)
    known = ToolSearchRequest(queries=("an order",), max_results=5, already_found=everything)
    response = await index.search(known)
    assert response.results[0].definition.namespace == "shop"
    assert response.empty_reason == "all_already_found"


@pytest.mark.parametrize("query", ["an order \ud83d", "an order " + "x" * 1_000_000, "\udc00"])
async def test_a_query_of_any_text_is_answered(index: VectorToolIndex, query: str) -> None:
    response = await index.search(request(query))
    assert response.degraded == "none"
    assert response.took_ms < 1_000


async def test_max_results_bounds_the_answer(index: VectorToolIndex) -> None:
    assert len(await names(index, "order weather mail", k=2)) == 2
    assert await names(index, "order", k=0) == []


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (SearchScope(namespaces=frozenset({"shop"})), {"refund_order", "cancel_order"}),
        (SearchScope(namespaces=frozenset()), set[str]()),
        (SearchScope(tags=frozenset({"orders", "money"})), {"refund_order"}),
        (SearchScope(trust=frozenset({"trusted"})), {"get_weather"}),
        (SearchScope(tools=frozenset({SHOP[3].key, SHOP[1].key})), {"send_mail", "cancel_order"}),
        (SearchScope(tools=frozenset()), set[str]()),
        (SearchScope(tenant="acme"), set[str]()),
        (SearchScope(namespaces=frozenset({"shop", "mail"}), tags=frozenset({"money"})), {"refund_order", "send_mail"}),
    ],
)
async def test_a_scope_hides_everything_outside_it(
    index: VectorToolIndex, scope: SearchScope, expected: set[str]
) -> None:
    queries = ("order money weather mail city customer", "send_mail", "select:refund_order,get_weather,cancel_order")
    assert set(await names(index, *queries, scope=scope, k=10)) == expected
    listed = await index.list_tools(scope)
    assert {found.definition.name for found in listed} - {"날씨_조회"} == expected
    resolved = await index.resolve([model_alias(found.key) for found in SHOP], scope)
    assert {found.name for found in resolved.values()} - {"날씨_조회"} == expected


async def test_tenants_do_not_see_each_other() -> None:
    index = make_index()
    await index.register([tool("secret", "Of acme.", tenant="acme"), tool("secret", "Of everyone.")])
    ours = await index.search(request("secret", scope=SearchScope(tenant="acme")))
    assert [hit.definition.description for hit in ours.results] == ["Of acme."]
    theirs = await index.search(request("secret"))
    assert [hit.definition.description for hit in theirs.results] == ["Of everyone."]
    assert (await index.resolve(["secret"], SearchScope(tenant="acme")))["secret"].description == "Of acme."


async def test_an_empty_catalog_says_so() -> None:
    response = await make_index().search(request("anything"))
    assert (response.results, response.empty_reason, response.namespaces) == ((), "catalog_empty", ())


async def test_nothing_in_scope_says_so_and_names_no_namespace_outside_it(index: VectorToolIndex) -> None:
    response = await index.search(request("order", scope=SearchScope(tenant="acme")))
    assert (response.empty_reason, response.namespaces) == ("nothing_in_scope", ())


async def test_no_match_says_so_and_names_namespaces_to_try(index: VectorToolIndex) -> None:
    response = await index.search(request("…"))
    assert (response.results, response.empty_reason) == ((), "no_match")
    assert response.namespaces == ("shop", "weather", "mail")


async def test_an_encoder_that_fails_leaves_the_words_and_says_so() -> None:
    embedder = CountingEmbedder()
    index = make_index(embedder=embedder)
    await index.register(SHOP)
    embedder.failing = True
    response = await index.search(request("customer money back"))
    assert response.degraded == "lexical"
    assert response.results[0].definition.name == "refund_order"
    assert not any(reason.startswith("meaning") for hit in response.results for reason in hit.reasons)


async def test_searches_go_on_while_the_catalog_changes() -> None:
    index = make_index()
    await index.register(SHOP)
    answers: list[list[str]] = []

    async def keep_searching(stop: anyio.Event) -> None:
        while not stop.is_set():
            answers.append(await names(index, "refund_order", k=1))
            await anyio.lowlevel.checkpoint()

    stop = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(keep_searching, stop)
            for number in range(40):
                await index.register([replace(SHOP[0], description=f"Version {number}.")])
            stop.set()
    assert len(answers) > 1
    assert all(answer == ["refund_order"] for answer in answers)


# Reading.


async def test_tools_are_listed_by_namespace_and_name_in_pages(index: VectorToolIndex) -> None:
    whole = await index.list_tools(SearchScope())
    assert [str(found.key) for found in whole] == [
        "mail/send_mail", "shop/cancel_order", "shop/refund_order", "weather/get_weather", "weather/날씨_조회",
    ]  # fmt: skip
    assert await index.list_tools(SearchScope(), offset=1, limit=2) == whole[1:3]
    assert whole[0].encoder_id.startswith("hashing-64-v1/")


async def test_pinned_tools_are_those_in_scope(index: VectorToolIndex) -> None:
    assert await index.pinned(SearchScope()) == [SHOP[3]]
    assert await index.pinned(SearchScope(namespaces=frozenset({"shop"}))) == []
    await index.register([replace(SHOP[3], pinned=False)])
    assert await index.pinned(SearchScope()) == []


async def test_an_alias_resolves_to_its_definition_and_unknown_ones_are_left_out(index: VectorToolIndex) -> None:
    resolved = await index.resolve(["shop__refund_order", "nobody"], SearchScope())
    assert resolved == {"shop__refund_order": SHOP[0]}


async def test_get_returns_none_for_a_tool_that_never_was(index: VectorToolIndex) -> None:
    assert await index.get(ToolKey("default", "shop", "nobody")) is None


async def test_a_closed_index_refuses_to_write_and_can_be_closed_twice() -> None:
    index = make_index()
    await index.aclose()
    await index.aclose()
    with pytest.raises(StoreError, match="closed"):
        await index.register(SHOP)


# Compaction.


async def test_many_updates_do_not_let_the_replica_grow_without_bound() -> None:
    index = make_index()
    for version in range(8):
        await index.register([tool(f"tool_{number}", f"Version {version}.") for number in range(600)])
    stats = await index.stats()
    assert stats.tools == 600
    rows = stats.parts_bytes["vectors"] / (64 * np.dtype(np.float32).itemsize)
    assert rows < 600 + 2 * 1024 + 600
    assert (await names(index, "tool_77"))[0] == "tool_77"
    stored = await index.get(ToolKey("default", "default", "tool_599"))
    assert stored is not None
    assert stored.definition.description == "Version 7."


# Near-duplicates.


def mirrored(
    namespace: str, name: str = "list_orders", description: str = "List the orders of a customer."
) -> ToolDefinition:
    schema = {"type": "object", "properties": {"customer": {"type": "string"}}}
    return tool(name, description, namespace=namespace, input_schema=schema)


MIRRORS = tuple(mirrored(f"mirror{letter}") for letter in "abcdefgh")


async def mirrored_index() -> VectorToolIndex:
    index = make_index()
    await index.register([*MIRRORS, *SHOP])
    return index


async def test_a_tool_of_many_namespaces_takes_one_place_and_names_the_others() -> None:
    index = await mirrored_index()
    response = await index.search(request("list the orders of a customer", k=3))
    first, *others = response.results
    assert first.definition.name == "list_orders"
    assert {first.definition.namespace, *first.also_in} == {one.namespace for one in MIRRORS}
    assert "list_orders" not in {hit.definition.name for hit in others}
    assert len(others) == 2


async def test_more_duplicates_than_are_ranked_at_first_leave_room_for_the_others() -> None:
    index = make_index()
    await index.register([*(mirrored(f"m{number:03}x") for number in range(150)), *SHOP])
    response = await index.search(request("list the orders of a customer", k=3))
    assert [hit.definition.name == "list_orders" for hit in response.results] == [True, False, False]
    assert len(response.results[0].also_in) == 8


async def test_nothing_collapses_where_the_request_names_namespaces_or_a_tool() -> None:
    index = await mirrored_index()
    scope = SearchScope(namespaces=frozenset({"mirrora", "mirrorb"}))
    for asked in (
        request("list the orders of a customer", scope=scope, k=2),
        request("list_orders", k=2),
        request("select:list_orders", k=2),
        replace(request("list the orders of a customer", k=2), collapse_duplicates=False),
    ):
        response = await index.search(asked)
        assert [hit.definition.name for hit in response.results] == ["list_orders"] * 2
        assert [hit.also_in for hit in response.results] == [(), ()]


async def test_a_namespace_that_the_query_names_keeps_its_place() -> None:
    index = await mirrored_index()
    response = await index.search(request("list the orders of a customer in mirrorc and in mirrord", k=3))
    kept = {hit.definition.namespace for hit in response.results if hit.definition.name == "list_orders"}
    assert {"mirrorc", "mirrord"} <= kept


async def test_a_duplicate_out_of_scope_is_not_named() -> None:
    index = make_index()
    await index.register([mirrored("open"), replace(mirrored("closed"), trust="untrusted")])
    response = await index.search(request("list orders of", scope=SearchScope(trust=frozenset({"community"}))))
    assert [hit.also_in for hit in response.results] == [()]


async def test_a_tool_that_the_caller_has_stands_for_its_duplicates() -> None:
    index = await mirrored_index()
    known = MIRRORS[-1].key
    asked = replace(request("list the orders of a customer", k=9), already_found=frozenset({known}))
    response = await index.search(asked)
    held = [hit for hit in response.results if hit.definition.name == "list_orders"]
    assert [hit.definition.key for hit in held] == [known]
    assert len(held[0].also_in) == 7


async def test_two_needs_share_one_of_the_duplicates() -> None:
    index = await mirrored_index()
    response = await index.search(request("list the orders of a customer", "all orders of one customer", k=8))
    assert [hit.definition.name for hit in response.results].count("list_orders") == 1


# Fewer places where scores fall.


async def test_places_far_below_the_best_are_left_empty_where_a_share_is_asked_for(index: VectorToolIndex) -> None:
    asked = request("weather forecast for a city")
    every = await index.search(asked)
    best = await index.search(replace(asked, worth_share=1.0))
    assert len(every.results) > len(best.results) == 1
    assert best.results[0] == every.results[0]
    half = await index.search(replace(asked, worth_share=0.5))
    assert half.results == tuple(hit for hit in every.results if hit.score >= 0.5 * every.results[0].score)


async def test_each_need_has_a_best_of_its_own(index: VectorToolIndex) -> None:
    asked = request("weather forecast for a city", "send an e-mail")
    response = await index.search(replace(asked, worth_share=1.0))
    assert {hit.definition.name for hit in response.results} == {"get_weather", "send_mail"}


async def test_the_best_new_tool_is_measured_against_itself(index: VectorToolIndex) -> None:
    known = frozenset({SHOP[2].key})
    asked = replace(request("weather forecast for a city"), already_found=known, worth_share=1.0)
    names = [hit.definition.name for hit in (await index.search(asked)).results]
    assert len(names) == 2
    assert names[-1] == "get_weather"


async def test_exact_names_come_whatever_the_share(index: VectorToolIndex) -> None:
    asked = request("select:send_mail,refund_order")
    assert len((await index.search(replace(asked, worth_share=1.0))).results) == 2
