"""Habits of older catalogs: mended wherever they stand, and looked for in the text before any schema is walked."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import InvalidToolError
from indexer.json_shapes import may_need_mending, with_json_types
from indexer.validation import definition_from_json

_Schemas = st.SearchStrategy[Any]

_TYPES = st.sampled_from(
    ["string", "object", "integer", "int", "float", "any", "list", "tuple", "string[]", "[]", "integer[][]", None]
)
_SAID: dict[str, _Schemas] = {
    "type": _TYPES | st.lists(_TYPES, max_size=2),
    "required": st.booleans() | st.lists(st.sampled_from(["a", "b", "[]"]), max_size=2, unique=True),
    "description": st.sampled_from(["", 'a "type":"int" in words', "a[]", '"required":true']),
    "enum": st.lists(st.sampled_from(["int", "x[]", 1, None]), max_size=2),
}


def _holding(inner: _Schemas) -> _Schemas:
    held: dict[str, _Schemas] = {
        "properties": st.dictionaries(st.sampled_from(["a", "b", "type", "required", "[]"]), inner, max_size=3),
        "items": inner | st.lists(inner, max_size=2),
        "additionalProperties": inner | st.booleans(),
        "anyOf": st.lists(inner, max_size=2),
    }
    return st.fixed_dictionaries({}, optional=_SAID | held)


_SCHEMAS: _Schemas = st.recursive(st.fixed_dictionaries({}, optional=_SAID), _holding, max_leaves=6)


@settings(max_examples=400, deadline=None)
@given(_SCHEMAS)
def test_a_schema_that_shows_no_habit_is_left_as_it_is(schema: dict[str, Any]) -> None:
    if not may_need_mending(orjson.dumps(schema)):
        assert with_json_types(schema) == schema


@settings(max_examples=200, deadline=None)
@given(_SCHEMAS)
def test_a_definition_has_the_schema_that_the_whole_walk_gives(schema: dict[str, Any]) -> None:
    mended = with_json_types(orjson.loads(orjson.dumps(schema)))
    definition = definition_from_json({"name": "a", "input_schema": schema, "output_schema": schema})

    assert definition.output_schema == mended
    if mended:
        assert definition.input_schema == {"type": "object", **mended}


@pytest.mark.parametrize("habit", [{"type": "double"}, {"type": None}, {"type": "any"}, {"type": "string[]"}])
def test_a_habit_is_seen_however_deep_it_stands(habit: dict[str, Any]) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"x": habit}}
    for _ in range(8):
        schema = {"type": "object", "properties": {"deeper": {"type": "array", "items": schema}}}
    assert may_need_mending(orjson.dumps(schema))
    assert with_json_types(schema) != schema


def test_a_plain_schema_shows_no_habit() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}, "default": []}, "any": {"enum": ["int"]}},
        "required": ["ids"],
    }
    assert not may_need_mending(orjson.dumps(schema))


@pytest.mark.parametrize(
    "hidden",
    [
        "\b",
        "\f",
        "\x00",
        "\x1b",
        "\x7f",
        "\x85",
        "\u00ad",
        "\u200b",
        "\u202e",
        "\u2060",
        "\ufeff",
        "a\u200db",
        "\U000e0041",
    ],
)
@pytest.mark.parametrize("field", ["name", "title", "description", "tags", "version"])
def test_a_character_nobody_sees_is_refused_in_every_text(hidden: str, field: str) -> None:
    text = f"Reads{hidden} mail."
    raw = {"name": "mail", "input_schema": {"type": "object"}, field: [text] if field == "tags" else text}
    with pytest.raises(InvalidToolError, match=r"which no reader sees"):
        definition_from_json(raw)
