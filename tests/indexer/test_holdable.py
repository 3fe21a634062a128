"""What programs get wrong, which a type checker would have told them."""

import math
from typing import Any

import pytest

from indexer.definition import ToolDefinition
from indexer.holdable import encoded_bytes, unholdable
from indexer.search import SearchScope, ToolSearchRequest
from tests.indexer.catalogs import make_index, tool


def odd_tool(fields: dict[str, Any]) -> ToolDefinition:
    given: dict[str, Any] = {"name": "odd", **fields}
    return ToolDefinition(**given)


def cyclic() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"again": schema}
    return schema


def deep() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"items": schema}
    return schema


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"name": None}, "name", "must be a text, not null"),
    ({"description": 5}, "description", "must be a text, not a number"),
    ({"tags": "billing"}, "tags", "must be a list of texts, not a text"),
    ({"tags": (1,)}, "tags", "must be a list of texts"),
    ({"example_queries": None}, "example_queries", "must be a list of texts, not null"),
    ({"input_schema": None}, "input_schema", "must be a JSON Schema object, not null"),
    ({"output_schema": True}, "output_schema", "must be a JSON Schema object, not true or false"),
    ({"trust": "root"}, "trust", "must be one of trusted, verified, community, untrusted"),
    ({"input_schema": {"enum": {1, 2}}}, "definition", "is no JSON value: Object of type set"),
    ({"input_schema": cyclic()}, "definition", "is no JSON value"),
    ({"input_schema": deep()}, "definition", "is no JSON value"),
    ({"annotations": None}, "definition", "is no JSON value"),
    ({"namespace": "half\ud800"}, "name, namespace, tenant or tags", "half of a surrogate pair"),
]


@pytest.mark.parametrize(("fields", "field", "reason"), BAD)
def test_what_cannot_be_kept_is_refused_with_its_field(fields: dict[str, Any], field: str, reason: str) -> None:
    refused = unholdable(odd_tool(fields))
    assert refused is not None
    assert refused.field == field
    assert reason in refused.reason


def test_a_definition_of_the_right_types_is_held_and_its_size_known() -> None:
    sound = tool("sound", tags=("a",), output_schema={"type": "string"}, trust="verified")
    assert unholdable(sound) is None
    assert encoded_bytes(sound) == len(sound.encoded)
    assert encoded_bytes(ToolDefinition(name="odd", input_schema={"enum": {1}})) == 0


async def test_one_that_cannot_be_kept_never_stops_the_rest() -> None:
    index = make_index()
    odd = [odd_tool(fields) for fields, _, _ in BAD]
    report = await index.register([tool("first"), *odd, tool("last")])
    assert (report.added, len(report.refused)) == (2, len(odd))
    for one in odd:
        assert (await index.register([one])).refused_count == 1
    assert sorted(stored.key.name for stored in await index.list_tools(SearchScope())) == ["first", "last"]


async def test_what_is_no_definition_is_a_type_error_that_says_what_reads_it() -> None:
    with pytest.raises(TypeError, match=r"takes ToolDefinitions, not \{'name': 'x'\}.*definition_from_json"):
        await make_index().register([{"name": "x"}])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("queries", ["refund an order", (5,), (None,), (b"refund",)])
def test_queries_that_are_no_texts_are_a_type_error(queries: Any) -> None:
    with pytest.raises(TypeError, match="takes texts, as in queries="):
        ToolSearchRequest(queries=queries)


@pytest.mark.parametrize("name", ["namespaces", "tags", "trust", "tools"])
@pytest.mark.parametrize("value", ["shop", ["shop"], {"shop"}])
def test_a_scope_of_anything_but_sets_is_a_type_error(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"SearchScope\({name}=...\) takes a frozenset, not {type(value).__name__}"):
        SearchScope(**{name: value})


def test_no_number_is_no_reason_to_refuse_but_one_for_quarantine() -> None:
    assert unholdable(tool("odd", input_schema={"properties": {"a": {"default": math.nan}}})) is None
