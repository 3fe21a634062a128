"""What a search of the index finds, over a store in memory: names, words, scopes, and why there is nothing."""

from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from indexer.alias import model_alias
from indexer.search import SearchScope, ToolSearchRequest
from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import SHOP, CountingEmbedder, make_index, names, request, tool


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


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("\u200fcancel_order\u200e", "cancel_order"),
        ("\u2067ألغ\u200f الطلب.\u2069\u200f \u202bثم أرسل بريدا.\u202c", "ألغ الطلب. ثم أرسل بريدا."),
        ("re\u00adfund\u200ban\ufeff order", "refund an order"),
        ("\u200f\u200e", ""),
    ],
)
async def test_a_query_is_read_as_it_is_seen_without_marks_of_direction(
    index: VectorToolIndex, written: str, seen: str
) -> None:
    response = await index.search(request(written))
    assert response.results == (await index.search(request(seen))).results
    assert all(hit.query == seen for hit in response.results)
    assert bool(response.results) == bool(seen)


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
