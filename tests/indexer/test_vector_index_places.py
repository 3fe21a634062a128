"""Who gets the places of an answer: one of near-duplicates, and none far below the best where that is asked for."""

from dataclasses import replace

import pytest

from indexer.definition import ToolDefinition
from indexer.search import SearchScope
from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import SHOP, make_index, request, tool

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


@pytest.mark.parametrize("best", ["post", "postv2"])
async def test_a_newer_version_stands_for_the_older_with_the_place_and_the_score_of_the_better_match(best: str) -> None:
    index = make_index()
    texts = dict.fromkeys(("post", "postv2"), "An edition.") | {best: "Send a letter to a customer."}
    await index.register([*(tool("send_letter", text, namespace=name) for name, text in texts.items()), *SHOP])
    asked = request("a letter to a customer", k=3)
    apart = (await index.search(replace(asked, collapse_duplicates=False))).results
    first = (await index.search(asked)).results[0]
    assert apart[0].definition.namespace == best
    assert apart[1].score < apart[0].score
    assert (first.definition.namespace, first.also_in) == ("postv2", ("post",))
    assert first.score == apart[0].score


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


async def test_of_one_operation_of_several_parents_one_is_found_and_each_can_be_asked_for_by_its_name() -> None:
    index = make_index()
    names = ("folders.sinks.create", "projects.sinks.create", "sinks.create")
    text = (
        "Creates a sink that exports specified log entries to a destination. The export begins upon ingress, unless "
        "the sink's writer identity is not permitted to write to the destination. A sink exports only from the "
        "resource that owns it."
    )
    await index.register([*(mirrored("logging", name, text) for name in names), *SHOP])
    found = (await index.search(request("export log entries", k=3))).results
    assert found[0].definition.name == "projects.sinks.create"
    assert set(found[0].also_as) == {"folders.sinks.create", "sinks.create"}
    assert found[0].also_in == ()
    assert not any("sinks" in hit.definition.name for hit in found[1:])
    twice = (await index.search(request("export log entries", "create a sink for log entries", k=4))).results
    assert [hit.definition.name for hit in twice if "sinks" in hit.definition.name] == ["projects.sinks.create"]
    for name in found[0].also_as:
        asked = (await index.search(request(name, k=3))).results
        assert (asked[0].definition.name, asked[0].reasons) == (name, ("exact name",))
