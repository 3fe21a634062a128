"""Searching over HTTP."""

from typing import Any

import httpx
import pytest

from indexer import ToolDefinition
from tests.gateway.serving import http_client, services_of


async def test_results_say_what_was_found_and_why(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/v1/search", json={"query": "refund an order"})).json()
    assert answer["empty"] is None
    assert answer["degraded"] == "none"
    assert answer["stale"] is False
    assert answer["catalog_revision"] == 1
    result = answer["results"][0]
    assert (result["name"], result["namespace"], result["alias"]) == ("refund_order", "shop", "shop__refund_order")
    assert result["query"] == "refund an order"
    assert 0 < result["score"] <= 1
    assert result["reasons"]
    assert result["input_schema"]["required"] == ["order_id"]


async def test_an_empty_answer_explains_itself(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/v1/search", json={"query": "refund", "namespace": "elsewhere"})).json()
    assert answer["results"] == []
    assert answer["empty"]["reason"] == "nothing_in_scope"
    assert answer["empty"]["namespaces"] == ["shop"]
    assert "shop" in answer["empty"]["message"]


async def test_an_empty_catalog_says_how_to_fill_it() -> None:
    async with services_of() as services, http_client(services) as client:
        answer = (await client.post("/v1/search", json={"queries": ["anything"]})).json()
    assert answer["empty"]["reason"] == "catalog_empty"
    assert "POST /v1/tools" in answer["empty"]["message"]


@pytest.mark.parametrize(
    ("body", "field", "word"),
    [
        ({}, "", "either query"),
        ({"query": "a", "queries": ["b"]}, "", "either query"),
        ({"query": "  "}, "query", "at least 1"),
        ({"query": 3}, "query", "string"),
        ({"queries": []}, "queries", "at least 1"),
        ({"queries": ["a"] * 6}, "queries", "at most 5"),
        ({"queries": ["a", None]}, "queries[1]", "string"),
        ({"query": "a", "max_results": 0}, "max_results", "greater than or equal to 1"),
        ({"query": "a", "max_results": "5"}, "max_results", "integer"),
        ({"query": "a", "limit": 5}, "limit", "not permitted"),
        ({"query": "a", "tags": "x"}, "tags", "list"),
        ({"query": "a", "namespace": "x", "namespaces": ["y"]}, "", "either namespace"),
        ({"query": "x" * 3000}, "query", "at most 2000"),
        ({"query": "a", "worth_share": 1.5}, "worth_share", "less than or equal to 1"),
        ({"query": "a", "min_confidence": "high"}, "min_confidence", "number"),
        ({"query": "a", "collapse_duplicates": 1}, "collapse_duplicates", "boolean"),
    ],
)
async def test_a_bad_search_names_the_field(
    client: httpx.AsyncClient, body: dict[str, Any], field: str, word: str
) -> None:
    answer = await client.post("/v1/search", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    fault = answer.json()["errors"][0]
    assert fault["field"] == field
    assert word in fault["reason"]


async def test_a_search_that_is_not_json_is_refused_with_its_place(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/search", content=b"query=refund")
    assert answer.status_code == 400
    assert "line 1, column 1" in answer.json()["detail"]


async def test_a_tool_of_several_namespaces_takes_one_place_and_each_can_be_asked_for() -> None:
    text = "List what a customer has ordered in a given span of time, the newest first, with its state and its price."
    schema = {"type": "object", "properties": {"customer": {"type": "string", "description": "Number of a customer."}}}
    mirrors = [
        ToolDefinition(name="list_orders", namespace=namespace, description=text, input_schema=schema)
        for namespace in ("east", "west")
    ]
    async with services_of(*mirrors) as services, http_client(services) as client:
        [result] = (await client.post("/v1/search", json={"query": "what has a customer ordered"})).json()["results"]
        assert {result["namespace"], *result["also_in"]} == {"east", "west"}
        [other] = result["also_in"]
        body = {"query": "what has a customer ordered", "namespace": other}
        [asked] = (await client.post("/v1/search", json=body)).json()["results"]
        body = {"query": "what has a customer ordered", "collapse_duplicates": False}
        both = (await client.post("/v1/search", json=body)).json()["results"]
    assert (asked["namespace"], asked["also_in"]) == (other, [])
    assert [(one["namespace"], one["also_in"]) for one in both] == [("east", []), ("west", [])]


async def test_tools_far_below_the_best_or_of_little_confidence_are_left_out_where_that_is_asked_for(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/v1/tools", json={"name": "list_orders", "description": "List the orders of a customer."})

    async def names(**asked: object) -> list[str]:
        answer = await client.post("/v1/search", json={"query": "refund a paid order", **asked})
        return [result["name"] for result in answer.json()["results"]]

    assert await names() == ["refund_order", "list_orders"]
    assert await names(worth_share=1) == ["refund_order"]
    assert await names(min_confidence=1) == []
