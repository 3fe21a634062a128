"""Registering, reading and deleting tools over HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.gateway.serving import OPERATOR_TOKEN

TOOL: dict[str, Any] = {
    "name": "cancel_order",
    "namespace": "shop",
    "description": "Cancel an order that has not been sent.",
    "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
}


async def found(client: httpx.AsyncClient, query: str) -> list[str]:
    answer = await client.post("/v1/search", json={"query": query})
    return [result["name"] for result in answer.json()["results"]]


async def test_a_registered_tool_is_found_by_the_next_search(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tools", json=TOOL)
    assert answer.status_code == 201
    assert answer.json()["added"] == 1
    assert answer.json()["tool"]["alias"] == "shop__cancel_order"
    assert (await found(client, "cancel an order"))[0] == "cancel_order"


async def test_registering_the_same_tool_again_changes_nothing(client: httpx.AsyncClient) -> None:
    first = await client.post("/v1/tools", json=TOOL)
    again = await client.post("/v1/tools", json=TOOL)
    assert again.status_code == 200
    assert again.json()["unchanged"] == 1
    assert again.json()["catalog_revision"] == first.json()["catalog_revision"]


async def test_a_tool_in_openai_shape_is_recognised(client: httpx.AsyncClient) -> None:
    function = {"name": "ship_order", "description": "Ship an order.", "parameters": {"type": "object"}}
    answer = await client.post("/v1/tools", json={"type": "function", "function": function})
    assert answer.status_code == 201
    assert answer.json()["tool"]["name"] == "ship_order"


async def test_put_takes_the_name_from_the_path(client: httpx.AsyncClient) -> None:
    answer = await client.put("/v1/tools/shop/orders/list", json={"description": "List orders."})
    assert answer.status_code == 201
    assert answer.json()["tool"]["name"] == "orders/list"
    changed = await client.put("/v1/tools/shop/orders/list", json={"description": "List all orders."})
    assert changed.status_code == 200
    assert changed.json()["changed"] == 1


async def test_an_escaped_slash_belongs_to_the_namespace(client: httpx.AsyncClient) -> None:
    await client.put("/v1/tools/team%2Fshop/list", json={"description": "List orders."})
    answer = await client.get("/v1/tools/team%2Fshop/list")
    assert answer.json()["namespace"] == "team/shop"
    assert answer.json()["status"] == "active"


async def test_put_refuses_a_body_that_names_another_tool(client: httpx.AsyncClient) -> None:
    answer = await client.put("/v1/tools/shop/a", json={"name": "b"})
    assert answer.status_code == 422
    assert "'shop/b'" in answer.json()["detail"]
    assert answer.json()["errors"] == [{"field": "name"}]


async def test_a_deleted_tool_is_gone_and_deleting_it_again_says_so(client: httpx.AsyncClient) -> None:
    assert (await client.delete("/v1/tools/shop/refund_order")).status_code == 204
    assert await found(client, "refund an order") == []
    again = await client.delete("/v1/tools/shop/refund_order")
    assert again.status_code == 404
    assert again.headers["content-type"] == "application/problem+json"
    assert "shop/refund_order" in again.json()["detail"]


async def test_tools_are_listed_by_namespace_tag_and_page(client: httpx.AsyncClient) -> None:
    await client.post("/v1/tools", json=TOOL)
    page = await client.get("/v1/tools", params={"namespace": "shop", "limit": 1, "offset": 1})
    assert [tool["name"] for tool in page.json()["tools"]] == ["refund_order"]
    tagged = await client.get("/v1/tools", params={"tag": "orders"})
    assert [tool["name"] for tool in tagged.json()["tools"]] == ["refund_order"]
    assert (await client.get("/v1/namespaces")).json() == {"namespaces": {"shop": 2}}
    assert (await client.get("/v1/stats")).json()["tools"] == 2


async def test_pinned_tools_can_be_listed_alone(client: httpx.AsyncClient) -> None:
    await client.post("/v1/tools", json={**TOOL, "pinned": True})
    listed = await client.get("/v1/tools", params={"pinned": "true"})
    assert [tool["name"] for tool in listed.json()["tools"]] == ["cancel_order"]
    assert (await client.get("/v1/tools", params={"pinned": "true", "offset": 1})).json()["tools"] == []


async def test_an_unknown_filter_is_refused_rather_than_ignored(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/tools", params={"namespaces": "shop"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "namespaces"


async def test_a_list_with_a_bad_page_names_the_parameter(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/tools", params={"limit": "many"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "limit"


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_broken_json_is_refused_with_its_place(client: httpx.AsyncClient, method: str) -> None:
    path = "/v1/tools" if method == "POST" else "/v1/tools/shop/x"
    answer = await client.request(method, path, content=b'{"name": "x",\n "description" }')
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:toolscout:problem:invalid-json"
    assert answer.json()["errors"] == [{"place": "line 2, column 16"}]


@pytest.mark.parametrize(
    ("body", "word"),
    [(b"", "is empty"), (b"\xff\xfe", "UTF-8"), (b"[" * 100_000, "deeper"), (b'{"x": NaN}', "NaN is no JSON number")],
)
async def test_a_body_that_cannot_be_json_says_why(client: httpx.AsyncClient, body: bytes, word: str) -> None:
    answer = await client.post("/v1/tools", content=body)
    assert answer.status_code == 400
    assert word in answer.json()["detail"]


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_key_that_stands_twice_is_refused_by_name_wherever_it_stands(
    client: httpx.AsyncClient, method: str
) -> None:
    path = "/v1/tools" if method == "POST" else "/v1/tools/default/x"
    body = b'{"name": "x", "input_schema": {"type": "object", "properties": {}, "type": "array"}}'
    answer = await client.request(method, path, content=body)
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:toolscout:problem:invalid-json"
    assert "the key 'type' stands twice in one object" in answer.json()["detail"]
    assert (await client.get("/v1/tools/default/x")).status_code == 404


async def test_a_line_with_a_key_twice_is_refused_and_the_others_are_taken(client: httpx.AsyncClient) -> None:
    lines = b'{"name": "a"}\n{"name": "b", "name": "c"}\n\xff\n{"name": "d"}\n'
    report = (await client.post("/v1/tools/bulk", content=lines)).json()
    assert report["added"] == 2
    assert [(entry["place"], entry["reason"][:26]) for entry in report["refused"]] == [
        ("line 2", "cannot be read as JSON: th"),
        ("line 3", "is not UTF-8: byte 0 canno"),
    ]
    assert "'name' stands twice" in report["refused"][0]["reason"]


async def test_a_body_that_is_no_object_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tools", json=["x"])
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the body must be a JSON object"


async def test_a_body_above_four_megabytes_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tools", content=b'{"name": "' + b"x" * 5_000_000 + b'"}')
    assert answer.status_code == 413
    assert "/v1/tools/bulk" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        ({"name": None}, "name", "missing"),
        ({"description": "x" * 1_000_000}, "description", "1,000,000 bytes"),
        ({"description": "a\u0000b"}, "description", "U+0000"),
        ({"name": "a\u202eb"}, "name", "U+202E"),
        ({"colour": "red"}, "colour", "no field"),
        ({"input_schema": ["x"]}, "input_schema", "JSON Schema object"),
        ({"tags": "orders"}, "tags", "list"),
        ({"tenant": "someone-else"}, "tenant", "not yours"),
    ],
)
async def test_a_tool_that_cannot_be_taken_is_refused_with_its_field(
    client: httpx.AsyncClient, change: dict[str, Any], field: str, word: str
) -> None:
    answer = await client.post("/v1/tools", json={**TOOL, **change})
    assert answer.status_code == 422
    fault = answer.json()["errors"][0]
    assert fault["field"] == field
    assert word in fault["reason"]


async def test_a_tool_with_a_broken_schema_goes_into_quarantine_where_its_owner_sees_why(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/v1/tools", json={**TOOL, "input_schema": {"type": "object", "properties": 3}})
    assert [entry["field"] for entry in answer.json()["quarantined"]] == ["input_schema.properties"]
    assert "cancel_order" not in await found(client, "cancel an order")
    listed = await client.get("/v1/tools", params={"quarantined": "true"})
    assert [tool["name"] for tool in listed.json()["tools"]] == ["cancel_order"]
    assert "properties" in listed.json()["tools"][0]["reason"]


@pytest.mark.parametrize("kind", ["python", "mcp", "simulated", "http"])
async def test_who_runs_a_tool_cannot_be_chosen_over_http(client: httpx.AsyncClient, kind: str) -> None:
    executor = {"kind": kind, "config": {"target": "os:system", "source": "shop"}}
    answer = await client.post("/v1/tools", json={**TOOL, "executor": executor})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "executor.kind"
    assert "cannot be set from here" in answer.json()["detail"]


@pytest.mark.parametrize("tier", ["trusted", "verified"])
async def test_nobody_but_the_operator_gives_trust(client: httpx.AsyncClient, tier: str) -> None:
    """A publisher's word for itself: with it, a copy of another's tool would take that one's place in results."""
    answers = [
        await client.post("/v1/tools", json={**TOOL, "trust": tier}),
        await client.put(f"/v1/tools/{TOOL['namespace']}/{TOOL['name']}", json={**TOOL, "trust": tier}),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "trust"
        assert "the operator's to say" in answer.json()["detail"]
    bulk = await client.post("/v1/tools/bulk", content=json.dumps({**TOOL, "trust": tier}))
    assert [entry["field"] for entry in bulk.json()["refused"]] == ["trust"]
    assert (await client.post("/v1/tools", json={**TOOL, "trust": "untrusted"})).status_code == 201
    as_operator = {"authorization": f"Bearer {OPERATOR_TOKEN}"}
    answer = await client.post("/v1/tools", json={**TOOL, "trust": tier}, headers=as_operator)
    assert answer.json()["tool"]["trust"] == tier


async def test_the_operator_may_say_who_runs_a_tool(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/v1/tools",
        json={**TOOL, "executor": {"kind": "simulated"}},
        headers={"authorization": f"Bearer {OPERATOR_TOKEN}"},
    )
    assert answer.status_code == 201


async def test_of_several_tools_the_bad_ones_are_reported_and_the_good_ones_taken(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tools", json={"tools": [TOOL, {"name": ""}, TOOL, 7]})
    report = answer.json()
    assert answer.status_code == 200
    assert report["added"] == 1
    assert [(entry["place"], entry["field"]) for entry in report["refused"]] == [
        ("tools[1]", "name"),
        ("tools[2]", "name"),
        ("tools[3]", "tool"),
    ]
    assert "stands at tools[0]" in report["refused"][1]["reason"]


@pytest.mark.parametrize("tools", [[], "x", None])
async def test_no_tools_at_all_is_refused(client: httpx.AsyncClient, tools: object) -> None:
    answer = await client.post("/v1/tools", json={"tools": tools})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": "tools"}]


async def test_a_bulk_load_takes_every_good_line_and_names_every_bad_one(client: httpx.AsyncClient) -> None:
    lines = [json.dumps(TOOL), "{broken", "", "[1]", json.dumps(TOOL), '{"name": "' + "x" * 3_000_000 + '"}']
    answer = await client.post("/v1/tools/bulk", content="\n".join([*lines, '{"name": "last"}']).encode())
    report = answer.json()
    assert report["added"] == 2
    assert [(entry["place"], entry["field"]) for entry in report["refused"]] == [
        ("line 2", "line"),
        ("line 4", "tool"),
        ("line 5", "name"),
        ("line 6", "line"),
    ]
    assert "stands at line 1" in report["refused"][2]["reason"]


async def test_a_bulk_load_may_come_in_pieces_of_any_size(client: httpx.AsyncClient) -> None:
    data = b"".join(b'{"name": "tool_%d", "description": "\xec\xa3\xbc\xeb\xac\xb8"}\r\n' % n for n in range(700))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 97):
            yield data[start : start + 97]

    answer = await client.post("/v1/tools/bulk", content=pieces())
    assert answer.json()["added"] == 700
    assert answer.json()["refused"] == []


async def test_a_bulk_load_of_refusals_lists_a_thousand_and_counts_the_rest(client: httpx.AsyncClient) -> None:
    broken = b'{"name": "b%d", "input_schema": {"type": 7}}\n'
    lines = b"".join(b"no tool\n" + broken % number for number in range(1500))
    report = (await client.post("/v1/tools/bulk", content=lines)).json()
    assert (len(report["refused"]), report["unlisted_refused"]) == (1000, 500)
    assert (len(report["quarantined"]), report["unlisted_quarantined"]) == (1000, 500)
    assert [entry["place"] for entry in report["refused"][:2]] == ["line 1", "line 3"]


async def test_an_empty_bulk_load_is_an_empty_report(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tools/bulk", content=b"")
    assert answer.status_code == 200
    assert answer.json()["added"] == 0


@pytest.mark.parametrize(
    "body",
    [
        '{"input_schema": {"type": "object", "properties": {"a": {"maximum": 1e400}}}}',
        '{"executor": {"kind": "client", "config": {"a": -1e400}}}',
    ],
)
async def test_a_number_too_large_for_json_is_refused(client: httpx.AsyncClient, body: str) -> None:
    answer = await client.put("/v1/tools/shop/huge", content=body)
    assert answer.status_code == 400
    assert "too large for a number" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/tools", "/v1/tools/bulk", "/v1/search", "/v1/chat/completions"])
async def test_a_compressed_body_is_told_to_come_as_it_is(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.post(path, content=b"\x1f\x8b\x08", headers={"content-encoding": "gzip"})
    assert answer.status_code == 415
    assert "send it as it is" in answer.text
