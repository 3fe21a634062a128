"""Schemas are judged by the quick ways and by the thorough ones alike."""

import time
from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import InvalidToolError
from indexer.schema_check import compiled, schema_problem
from indexer.schema_size import check_size

KEYWORD_TEXT = """
    type properties items required enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength
    maxLength minItems maxItems uniqueItems minProperties maxProperties allOf anyOf oneOf not if then else
    additionalProperties additionalItems unevaluatedProperties unevaluatedItems prefixItems contains minContains
    maxContains propertyNames dependentSchemas dependentRequired dependencies format contentEncoding contentMediaType
    contentSchema title description default examples deprecated readOnly writeOnly nullable discriminator example
    definitions id pattern patternProperties $ref $id $anchor $defs $schema $comment $dynamicRef
"""
KEYWORDS = KEYWORD_TEXT.split()
LEAVES: list[Any] = [
    None, True, False, 0, 1, -1, 2**63, 2**64 - 1, 1.5, -0.0, 1e30, 5e-324, 1.0, "", "string", "object", "integer",
    "null", "any", "regex", "base64", "(", "(?=x)", "#", "#/$defs/a", "#/nowhere", "http://json-schema.org/draft-07/schema#",
    [], ["string"], ["string", "string"], [1], {}, {"type": "string"}, {"type": 5}, [{}], [True],
]  # fmt: skip


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from([*KEYWORDS, "a", "b"])
    values = st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.dictionaries(names, inner, max_size=4) | st.lists(inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(st.sampled_from(KEYWORDS), values, max_size=3).map(
        lambda schema: {**schema, "type": "object"}
    )


@given(schemas())
@settings(max_examples=400, deadline=None)
def test_a_schema_has_no_problem_exactly_when_it_compiles_and_is_small(schema: dict[str, Any]) -> None:
    problem = schema_problem(schema, "input_schema")
    if problem is None:
        check_size(schema, "input_schema")
        compiled(schema)
        return
    # The references, identities and bounds that only we refuse name their fields; all else the compiler refuses too.
    own = ("outside the schema", "identity of its own", "unfolds to more")
    assert any(reason in problem.reason for reason in own) or not compiles(schema)


def compiles(schema: dict[str, Any]) -> bool:
    try:
        compiled(schema)
    except InvalidToolError:
        return False
    return True


def test_a_wide_part_that_stands_in_many_places_is_refused_without_being_written_out() -> None:
    part = ["x"] * 19_000
    schema = {"type": "object", "enum": [part] * 900}
    problem = schema_problem(schema, "input_schema")
    assert problem is not None
    assert "larger than" in problem.reason
    assert seconds(lambda: schema_problem(schema, "input_schema")) < seconds(lambda: orjson.dumps(schema)) / 2


def seconds(work: Callable[[], object]) -> float:
    """The least that it takes: what else the process does only adds."""
    took: list[float] = []
    for _ in range(3):
        started = time.process_time()
        work()
        took.append(time.process_time() - started)
    return min(took)


def test_a_schema_of_tuples_is_judged_as_one_of_lists() -> None:
    listed = {"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x", "y"]}}}
    tupled = {"type": "object", "required": ("a",), "properties": {"a": {"enum": ("x", "y")}}}
    assert orjson.dumps(listed) == orjson.dumps(tupled)
    assert schema_problem(listed, "input_schema") is None
    assert schema_problem(tupled, "input_schema") is None
    wrong = schema_problem({"type": "object", "required": ("a", 1)}, "input_schema")
    assert wrong is not None
    assert wrong.field == "input_schema.required[1]"
