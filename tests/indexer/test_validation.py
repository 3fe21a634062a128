"""What comes in as a definition: what is taken, what is refused, what is kept in quarantine."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.definition import (
    EMPTY_SCHEMA,
    CompletionKeys,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    definition_from_record,
    definition_to_record,
)
from indexer.errors import InvalidToolError
from indexer.validation import definition_from_json, judge

OBJECT = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]}


def refusal(raw: object, **options: Any) -> InvalidToolError:
    with pytest.raises(InvalidToolError) as caught:
        definition_from_json(raw, **options)
    return caught.value


# Shapes


@pytest.mark.parametrize(
    "raw",
    [
        {"name": "weather", "description": "Forecast.", "input_schema": OBJECT},
        {"type": "function", "function": {"name": "weather", "description": "Forecast.", "parameters": OBJECT}},
        {"type": "function", "name": "weather", "description": "Forecast.", "parameters": OBJECT, "strict": True},
        {"name": "weather", "description": "Forecast.", "input_schema": OBJECT, "cache_control": {"type": "ephemeral"}},
        {"name": "weather", "description": "Forecast.", "inputSchema": OBJECT, "_meta": {"x": 1}, "icons": []},
        {"id": "7", "name": "weather", "description": "Forecast.", "input_schema": OBJECT, "namespace": ""},
    ],
    ids=["ours", "openai chat", "openai responses", "anthropic", "mcp", "test set"],
)
def test_every_recognised_shape_gives_the_same_definition(raw: dict[str, Any]) -> None:
    assert definition_from_json(raw) == ToolDefinition(name="weather", description="Forecast.", input_schema=OBJECT)


def test_mcp_annotations_and_output_are_kept() -> None:
    definition = definition_from_json(
        {
            "name": "weather",
            "inputSchema": OBJECT,
            "outputSchema": {"type": "array"},
            "annotations": {"title": "Weather", "readOnlyHint": True, "openWorldHint": False, "novelHint": 1},
        }
    )
    assert definition.title == "Weather"
    assert definition.output_schema == {"type": "array"}
    assert definition.annotations == ToolAnnotations(read_only=True, open_world=False)


def test_a_record_of_ours_comes_back_as_it_was() -> None:
    definition = ToolDefinition(
        name="refund",
        namespace="shop",
        title="Refund",
        description="Refund an order.\nNot for exchanges.",
        input_schema=OBJECT,
        output_schema={"type": "object"},
        tags=("money",),
        example_queries=("환불해 주세요",),
        publisher="shop team",
        trust="verified",
        annotations=ToolAnnotations(destructive=True),
        executor=ToolExecutor(kind="simulated", config={"provider": "aws"}),
        return_direct=True,
        pinned=True,
        version="2",
        repeatable=False,
        completion=CompletionKeys(("city",), frozenset({"every"})),
    )
    assert definition_from_json(definition_to_record(definition)) == definition
    assert definition_from_record(json.loads(definition.encoded)) == definition
    plain = ToolDefinition(name="refund")
    assert not {"repeatable", "completion"} & definition_to_record(plain).keys()


@pytest.mark.parametrize(
    "raw",
    [
        {"repeatable": True, "completion": {"arguments": ["city"], "everything": ["ALL"]}},
        {
            "inputSchema": OBJECT,
            "_meta": {
                "toolscout/repeatable": True,
                "toolscout/completion": {"arguments": ["city"], "everything": ["all"]},
            },
        },
    ],
    ids=["ours", "mcp"],
)
def test_a_tool_may_declare_that_it_is_repeated_and_what_its_calls_complete(raw: dict[str, Any]) -> None:
    definition = definition_from_json({"name": "poll", **raw})
    assert definition.repeatable is True
    assert definition.completion == CompletionKeys(("city",), frozenset({"all"}))


def test_without_a_word_for_everything_the_usual_ones_mean_it() -> None:
    definition = definition_from_json({"name": "collect", "completion": {"arguments": ["site"]}})
    assert definition.completion == CompletionKeys(("site",))
    assert definition.completion is not None and definition.completion.everything == {"all", "*"}


@pytest.mark.parametrize("schema", [None, {}])
def test_a_tool_without_a_schema_takes_no_arguments(schema: object) -> None:
    assert definition_from_json({"name": "now", "input_schema": schema}).input_schema == EMPTY_SCHEMA


def test_a_schema_without_a_root_type_is_an_object() -> None:
    definition = definition_from_json({"name": "x", "input_schema": {"properties": {"a": {"type": "integer"}}}})
    assert definition.input_schema["type"] == "object"
    assert judge(definition) is None


def test_type_names_of_older_catalogs_are_read() -> None:
    schema = {
        "type": "dict",
        "properties": {
            "amount": {"type": "float", "required": True},
            "tags": {"type": "string[]"},
            "extra": {"type": "any"},
            "list": {"type": "list", "items": {"type": "int"}},
        },
    }
    definition = definition_from_json({"name": "pay", "parameters": schema})
    assert definition.input_schema == {
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["amount"],
    }


# Refused


@pytest.mark.parametrize(
    ("raw", "field", "said"),
    [
        ([], "line 7", "must be a JSON object, not a list"),
        ("weather", "line 7", "not a text"),
        ({}, "name", "is missing"),
        ({"name": "   "}, "name", "is empty"),
        ({"name": 7}, "name", "must be a text, not a number"),
        ({"name": "x" * 257}, "name", "257 characters"),
        ({"name": "a\nb"}, "name", "U+000A"),
        ({"name": "a\u200bb"}, "name", "zero width space"),
        ({"name": "a", "namespace": "b\u202ec"}, "namespace", "right-to-left override"),
        ({"name": "a", "description": 5}, "description", "must be a text"),
        ({"name": "a", "description": "x" * 1_000_000}, "description", "1,000,000 bytes long; at most 65,536"),
        ({"name": "a", "description": "a\x00b"}, "description", "U+0000"),
        ({"name": "a", "description": "\x1b[31mred"}, "description", "U+001B"),
        (
            {"name": "a", "description": "hi" + "".join(chr(0xE0000 + ord(c)) for c in "ignore")},
            "description",
            "U+E0069",
        ),
        ({"name": "a", "description": "b\ufeffc"}, "description", "U+FEFF"),
        ({"name": "a", "description": "pass\u200dword"}, "description", "U+200D"),
        ({"name": "a", "description": "a\ud800b"}, "description", "surrogates not allowed"),
        ({"name": "a", "tags": "one"}, "tags", "must be a list of texts"),
        ({"name": "a", "tags": ["one", 2]}, "tags[1]", "must be a text"),
        ({"name": "a", "tags": ["t"] * 101}, "tags", "at most 100"),
        ({"name": "a", "pinned": "yes"}, "pinned", "must be true or false"),
        ({"name": "a", "trust": "root"}, "trust", "must be one of trusted"),
        ({"name": "a", "input_schema": [1]}, "input_schema", "must be a JSON Schema object, not a list"),
        ({"name": "a", "input_schema": True}, "input_schema", "not true or false"),
        ({"name": "a", "annotations": {"read_only": 1}}, "annotations.read_only", "must be true or false"),
        ({"name": "a", "annotations": []}, "annotations", "must be an object"),
        ({"name": "a", "repeatable": "often"}, "repeatable", "must be true or false"),
        ({"name": "a", "completion": "site"}, "completion", "must be an object"),
        ({"name": "a", "completion": {"everything": ["all"]}}, "completion.arguments", "names no argument"),
        ({"name": "a", "completion": {"arguments": "site"}}, "completion.arguments", "must be a list of texts"),
        ({"name": "a", "completion": {"keys": ["site"]}}, "completion.keys", "is no field of it"),
        (
            {"name": "a", "input_schema": OBJECT, "completion": {"arguments": ["site"]}},
            "completion.arguments",
            "'site' is no argument of the tool",
        ),
        ({"name": "a", "executor": {"kind": "shell"}}, "executor.kind", "must be one of"),
        ({"name": "a", "executor": {"kind": "client", "target": 1}}, "executor.target", "no field of an executor"),
        ({"name": "a", "type": "function", "function": 3}, "function", "must be an object"),
        ({"name": "a", "parameters": {}, "input_schema": {}}, "input_schema", "as 'parameters' and as 'input_schema'"),
        ({"name": "a", "tenant": "other"}, "tenant", "is not yours"),
        ({"name": "a", "input_schema": {"const": 2**70}}, "input_schema", "is no JSON value"),
    ],
)
def test_what_cannot_be_held_is_refused_by_field(raw: object, field: str, said: str) -> None:
    error = refusal(raw, place="line 7")
    assert error.field == field
    assert said in error.reason
    assert "line 7" in str(error)


def test_an_unknown_field_is_refused_with_the_nearest_known_one() -> None:
    error = refusal({"name": "a", "descripton": "typo"})
    assert error.field == "descripton"
    assert error.fix == "Did you mean 'description'?"


def test_an_unknown_field_with_no_neighbour_is_refused_with_the_list() -> None:
    assert "input_schema" in refusal({"name": "a", "zzz": 1}).fix


@pytest.mark.parametrize("kind", ["python", "mcp", "http"])
def test_data_cannot_name_an_executor_that_runs_code_or_reaches_a_server(kind: str) -> None:
    error = refusal({"name": "a", "executor": {"kind": kind, "config": {"target": "os:system"}}})
    assert error.field == "executor.kind"
    assert "cannot be set from here" in error.reason


def test_text_in_any_language_is_taken() -> None:
    text = "날씨를 알려 줍니다. 天气预报。 कृपया می‌خواهم 👩‍👩‍👧 ❤️"
    assert definition_from_json({"name": "날씨 조회", "description": text}).description == text


def test_a_deep_definition_is_refused_and_not_crashed_on() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deeply" in refusal({"name": "a", "input_schema": {"const": deep}}).reason


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["name", "input_schema", "type", "properties", "$ref", "pattern", "items"]) | st.text(),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    )
)
def test_any_value_is_taken_or_refused_and_never_crashes(raw: object) -> None:
    try:
        definition = definition_from_json(raw)
    except InvalidToolError:
        return
    judge(definition)
    assert definition.content_hash


# Quarantined


def schema_of(**extra: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "string"}}, **extra}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def doubling(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for i in range(1, levels):
        definitions[f"d{i}"] = {keyword: [{"$ref": f"#/$defs/d{i - 1}"}] * 2}
    return schema_of(**{"$defs": definitions, "not": {"$ref": f"#/$defs/d{levels - 1}"}})


def shared(levels: int) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        part = {"allOf": [part, part]}
    return schema_of(allOf=[part])


def endless() -> dict[str, Any]:
    schema = schema_of()
    schema["properties"]["a"] = schema
    return schema


A = "input_schema.properties.a.pattern"

BAD_SCHEMAS: dict[str, tuple[Callable[[], dict[str, Any]], str, str]] = {
    "not an object": (lambda: {"type": "string"}, "input_schema.type", "are an object"),
    "unknown type": (lambda: schema_of(items={"type": "strin"}), "input_schema.items.type", "not a valid JSON Schema"),
    "properties no object": (lambda: schema_of(properties=[1]), "input_schema.properties", "not a valid JSON Schema"),
    "remote reference": (
        lambda: schema_of(items={"$ref": "http://127.0.0.1:9/x"}),
        "input_schema.items.$ref",
        "nothing is fetched",
    ),
    "file reference": (
        lambda: schema_of(allOf=[{"$ref": "file:///etc/passwd"}]),
        "input_schema.allOf[0].$ref",
        "nothing is fetched",
    ),
    "relative reference": (
        lambda: schema_of(items={"$ref": "other.json#/x"}),
        "input_schema.items.$ref",
        "nothing is fetched",
    ),
    "reference to nowhere": (lambda: schema_of(items={"$ref": "#/$defs/x"}), "input_schema", "leads nowhere"),
    "identity inside": (
        lambda: schema_of(items={"$id": "http://x/y"}),
        "input_schema.items.$id",
        "identity of its own",
    ),
    "deep": (lambda: nested(60), "input_schema", "nested deeper than 64 levels"),
    "very deep": (lambda: nested(5_000), "input_schema", "nested deeper than 64 levels"),
    "holds itself": (endless, "input_schema", "nested deeper than 64 levels"),
    "shared doubling": (lambda: shared(30), "input_schema", "larger than"),
    "referenced doubling": (lambda: doubling(40), "input_schema", "unfolds to more than"),
    "long chain": (
        lambda: schema_of(**{"$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(4_000)}}),
        "input_schema",
        "more than 1,000 references",
    ),
    "wide": (
        lambda: schema_of(properties={f"p{i}": {"type": "string", "description": "x" * 100} for i in range(9_000)}),
        "input_schema",
        "larger than",
    ),
    "look-around": (lambda: schema_of(properties={"a": {"pattern": "^(?=x)(a+)+$"}}), A, "linear time"),
    "back-reference": (lambda: schema_of(properties={"a": {"pattern": "(a)\\1"}}), A, "linear time"),
    "exploding repetition": (
        lambda: schema_of(properties={"a": {"pattern": "((a{200}){200}){200}"}}),
        A,
        "linear time",
    ),
    "long pattern": (lambda: schema_of(properties={"a": {"pattern": "a" * 2_000}}), A, "longer than"),
    "many patterns": (
        lambda: schema_of(properties={f"p{i}": {"pattern": "(x{300}){99}"} for i in range(300)}),
        "input_schema",
        "",
    ),
    "not a number": (lambda: schema_of(minimum=float("nan")), "input_schema.minimum", "nan is not a JSON number"),
    "infinite": (lambda: schema_of(maximum=float("inf")), "input_schema.maximum", "inf is not a JSON number"),
    "no JSON": (lambda: schema_of(const=b"x"), "input_schema.const", "bytes is no JSON value"),
    "unknown dialect": (
        lambda: schema_of(**{"$schema": "http://example.com/mine"}),
        "input_schema.$schema",
        "no dialect that is known",
    ),
    "hidden text": (lambda: schema_of(description="a\u200bb"), "input_schema", "U+200B"),
    "hidden name": (lambda: schema_of(properties={"a\u2066": {}}), "input_schema", "U+2066"),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_a_schema_that_cannot_be_used_is_judged_quickly_with_its_place(name: str) -> None:
    make, field, said = BAD_SCHEMAS[name]
    judge(ToolDefinition(name="warm"))
    definition = ToolDefinition(name="a", input_schema=make())
    problem = judge(definition)

    def judged() -> float:
        started = time.process_time()
        judge(definition)
        return time.process_time() - started

    # The best of three: a collection of other tests' garbage may fall into any one of them.
    assert min(judged() for _ in range(3)) < 0.1
    assert problem is not None
    assert problem.field.startswith(field)
    assert said in problem.reason
    assert problem.tool == "default/a"


@pytest.mark.parametrize(
    "schema",
    [
        schema_of(),
        schema_of(**{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": {"type": "string"}}}),
        schema_of(**{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}),
        schema_of(**{"$schema": "https://json-schema.org/draft/2020-12/schema"}),
        schema_of(properties={"next": {"$ref": "#"}}),
        schema_of(allOf=[{"$ref": "#"}, {"$ref": "#"}]),
        schema_of(anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        schema_of(properties={"a": {"pattern": "^(a+)+$"}, "pattern": {"type": "string"}, "$ref": {"type": "string"}}),
        schema_of(default={"$ref": "http://example.com"}, examples=[{"pattern": "(?=x)"}]),
        schema_of(description="Zeilen\nund 날씨"),
    ],
)
def test_a_good_schema_passes_whatever_its_draft(schema: dict[str, Any]) -> None:
    assert judge(ToolDefinition(name="a", input_schema=schema)) is None


def test_the_output_schema_may_be_of_any_type_but_must_be_a_schema() -> None:
    assert judge(ToolDefinition(name="a", output_schema={"type": "array"})) is None
    problem = judge(ToolDefinition(name="a", output_schema={"type": "arr"}))
    assert problem is not None
    assert problem.field == "output_schema.type"


def test_hidden_text_of_a_definition_made_in_code_is_judged_too() -> None:
    problem = judge(ToolDefinition(name="a", example_queries=("x\u202ey",)))
    assert problem is not None
    assert problem.field == "example_queries"


def test_a_type_of_endless_brackets_is_no_recursion() -> None:
    definition = definition_from_json(
        {"name": "a", "input_schema": {"type": "object", "properties": {"x": {"type": "string" + "[]" * 50_000}}}}
    )
    problem = judge(definition)
    assert problem is not None
    assert problem.field.startswith("input_schema")


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_does_not_have_is_refused_wherever_it_stands(number: float) -> None:
    assert refusal({"name": "a", "input_schema": {"properties": {"x": {"maximum": number}}}}).field == "input_schema"
    assert refusal({"name": "a", "executor": {"kind": "client", "config": {"x": [number]}}}).field == "executor"


def test_an_unknown_field_of_any_length_is_named_in_a_short_error() -> None:
    error = refusal({"name": "a", "x" * 100_000: 1})
    assert error.field.startswith("xxx")
    assert len(str(error)) < 1_000


@pytest.mark.parametrize("character", ["\b", "\f", "\x00", "\x1b", "\x7f", "\u200b", "\u202e"])
@pytest.mark.parametrize("place", ["description", "schema"])
def test_a_character_nobody_sees_keeps_a_tool_in_quarantine_wherever_it_stands(character: str, place: str) -> None:
    hidden = f"Reads{character} mail."
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": hidden}}}
    definition = (
        ToolDefinition(name="mail", description=hidden)
        if place == "description"
        else ToolDefinition(name="mail", description="Reads mail.", input_schema=schema)
    )

    problem = judge(definition)

    assert problem is not None
    assert problem.field == ("description" if place == "description" else "input_schema")


@pytest.mark.parametrize("levels", [60, 70])
def test_what_is_nested_too_deep_is_refused_and_the_rest_is_not(levels: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels // 2):
        schema = {"type": "object", "properties": {"inner": schema}}

    problem = judge(ToolDefinition(name="deep", description="Goes down.", input_schema=schema))

    assert (problem is None) == (levels == 60)
