"""What the search tool asks and what it says to the model."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.chat.json_text import encode_json
from gateway.errors import ToolArgumentsError
from gateway.tools.search_answers import FoundTool, empty_text, found_text, listed_names, one_line, repeated_text
from gateway.tools.search_tool import SEARCH_TOOL_SPEC, SearchQuery, ToolSearchTool
from indexer import SearchScope, ToolDefinition, ToolReference, ToolSearchResponse
from tests.gateway.catalog import catalog
from tests.gateway.serving import memory_index


def found(name: str, description: str = "Does it. And more.", query: str = "q") -> FoundTool:
    definition = ToolDefinition(name=name, description=description)
    return FoundTool(
        name=name, reference=ToolReference(definition=definition, alias=name, score=0.5, reasons=(), query=query)
    )


async def parsed(**arguments: Any) -> SearchQuery:
    return ToolSearchTool(await catalog(), max_results=5).parse(arguments)


def test_the_spec_is_the_same_bytes_in_every_release() -> None:
    # Providers cache prompts by prefix: a change here makes every running conversation pay for its prompt again.
    spec = encode_json([SEARCH_TOOL_SPEC.name, SEARCH_TOOL_SPEC.description, SEARCH_TOOL_SPEC.parameters])
    assert hashlib.sha256(spec).hexdigest()[:16] == "0b1ccfa8eedab1cc"


async def test_the_operators_cap_holds_whatever_the_model_asks_for() -> None:
    assert (await parsed(queries=["a"])).max_results == 5
    assert (await parsed(queries=["a"], max_results=2)).max_results == 2
    assert (await parsed(queries=["a"], max_results=500)).max_results == 5
    assert (await parsed(queries=["a"], max_results=0)).max_results == 5
    assert (await parsed(queries=["a"], max_results="many")).max_results == 5


async def test_what_models_often_write_instead_is_understood() -> None:
    assert (await parsed(queries="refund")).queries == ("refund",)
    assert (await parsed(query="refund")).queries == ("refund",)
    assert (await parsed(queries=[" a ", "a", "", 3, "b"])).queries == ("a", "b")
    assert (await parsed(queries=list("abcdefg"))).queries == tuple("abcde")
    assert (await parsed(queries=["a"], namespace=" ")).namespace is None


@pytest.mark.parametrize(
    "arguments", [{}, {"queries": []}, {"queries": [" "]}, {"queries": {"a": 1}}, {"queries": None}]
)
async def test_a_search_for_nothing_is_refused_with_an_example(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolArgumentsError, match="refund an order"):
        await parsed(**arguments)


async def test_queries_that_ask_for_the_same_are_equal() -> None:
    assert (await parsed(queries=["Refund an ORDER", "mail"])).key == (
        await parsed(queries=["mail!", "order  an refund"])
    ).key
    assert (await parsed(queries=["refund"])).key != (await parsed(queries=["refund"], namespace="shop")).key


async def test_a_namespace_narrows_the_callers_view_and_never_widens_it() -> None:
    tool = ToolSearchTool(await catalog())
    query = await parsed(queries=["list storage buckets"], namespace="storage")
    everything = await tool.search(query, SearchScope())
    assert [one.definition.name for one in everything.results] == ["list_buckets"]
    shut = await tool.search(query, SearchScope(namespaces=frozenset({"default"})))
    assert shut.results == ()
    assert shut.empty_reason == "nothing_in_scope"


def test_found_tools_are_listed_with_one_line_each_and_said_to_be_callable() -> None:
    query = SearchQuery(queries=("a", "b"), max_results=5)
    text = found_text(query, [found("one", query="a"), found("two", query="b")])
    body = json.loads(text)
    assert body["tools"] == [
        {"name": "one", "description": "Does it.", "for": "a"},
        {"name": "two", "description": "Does it.", "for": "b"},
    ]
    assert "now in your tool list" in body["next"]
    assert ", " not in text.split('"next"')[0].replace("Does it.", "")
    assert listed_names(text) == ["one", "two"]
    assert "for" not in json.loads(found_text(SearchQuery(queries=("a",), max_results=5), [found("one")]))["tools"][0]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("catalog_empty", "holds no tools"),
        ("nothing_in_scope", "nothing in namespace 'shop'"),
        ("no_match", "Do not repeat the same query"),
    ],
)
def test_an_empty_answer_explains_itself(reason: Any, said: str) -> None:
    query = SearchQuery(queries=("a",), max_results=5, namespace="shop")
    response = ToolSearchResponse(results=(), catalog_revision=1, empty_reason=reason, namespaces=("mail", "files"))
    body = json.loads(empty_text(query, response))
    assert body["tools"] == []
    assert said in body["why"]
    assert body["namespaces"] == ["mail", "files"]


def test_a_repeated_search_is_answered_with_a_stop() -> None:
    again = json.loads(repeated_text([found("one")]))
    assert again["next"].startswith("STOP:") and again["tools"][0]["name"] == "one"
    nothing = json.loads(repeated_text([]))
    assert nothing["next"].startswith("STOP:") and "nothing was found" in nothing["next"]


@pytest.mark.parametrize("text", ["", "Error: x", "[]", "3", '{"tools": 3}', '{"tools": [3, {"name": 4}]}'])
def test_texts_that_list_no_tools_have_no_names(text: str) -> None:
    assert listed_names(text) == []


def test_a_description_becomes_one_line() -> None:
    assert one_line("Refunds an\n  order. Use it when.") == "Refunds an order."
    assert one_line("주문을 환불합니다。 다음") == "주문을 환불합니다。"
    long = one_line("x " * 300)
    assert len(long) <= 160 and long.endswith("…")
    assert one_line("v1.2 of e.g. this") == "v1.2 of e.g."


@pytest.mark.parametrize(
    ("asked", "given"), [(float("inf"), 5), (float("nan"), 5), (1e300, 5), (-1, 5), (0.5, 5), (2.9, 2), ("3", 5)]
)
async def test_any_number_of_results_is_read(asked: Any, given: int) -> None:
    assert (await parsed(queries=["x"], max_results=asked)).max_results == given


def test_other_namespaces_that_hold_the_same_tool_are_named_to_the_model() -> None:
    one = found("one")
    mirrored = FoundTool(name="one", reference=replace(one.reference, also_in=("eu", "us")))
    query = SearchQuery(queries=("a",), max_results=5)
    [entry] = json.loads(found_text(query, [mirrored]))["tools"]
    assert entry == {"name": "one", "description": "Does it.", "also_in_namespaces": ["eu", "us"]}
    assert "also_in_namespaces" not in json.loads(found_text(query, [one]))["tools"][0]
    several = FoundTool(name="one", reference=replace(one.reference, also_as=("folders.one",)))
    [entry] = json.loads(found_text(query, [several]))["tools"]
    # As the model knows tools: by the name that is one tool's own.
    assert entry == {"name": "one", "description": "Does it.", "also_as": ["folders--one"]}


async def test_a_model_is_handed_no_tool_that_scores_far_below_the_best() -> None:
    index = await catalog()
    query = SearchQuery(queries=("refund an order",), max_results=5)
    every = await ToolSearchTool(index, worth_share=0).search(query, SearchScope())
    handed = await ToolSearchTool(index, worth_share=0.9).search(query, SearchScope())
    assert handed.results[0] == every.results[0]
    assert 0 < len(handed.results) < len(every.results)


def test_needs_beyond_the_most_of_one_call_are_said_to_be_left_out() -> None:
    tool = ToolSearchTool(memory_index())
    query = tool.parse({"queries": [f"need {number}" for number in range(8)]})
    assert query.queries == ("need 0", "need 1", "need 2", "need 3", "need 4")
    empty = ToolSearchResponse(results=(), catalog_revision=1, empty_reason="no_match")
    for text in (found_text(query, [found("one")]), empty_text(query, empty)):
        assert json.loads(text)["not_searched"].startswith("Only the first 5 queries were searched for;")
        assert "other 3" in text
    whole = tool.parse({"queries": ["a", "a", " a "]})
    assert "not_searched" not in json.loads(found_text(whole, [found("one")]))
