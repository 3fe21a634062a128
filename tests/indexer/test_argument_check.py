"""Arguments a model wrote: what is wrong is said so that the model can put it right."""

import time
from typing import Any

import pytest

from indexer.argument_check import arguments_problem
from indexer.errors import InvalidToolError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "where": {"type": "object", "properties": {"street": {"type": ["string", "null"]}}, "required": ["street"]},
        "at": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Missing required argument 'city'."),
        ({"city": "Seoul", "dys": 2}, "Unknown argument 'dys': did you mean 'days'?"),
        ({"city": "Seoul", "zz": 2}, "Unknown argument 'zz'. The tool takes: city, days, unit, where, at."),
        ({"city": "Seoul", "days": "two"}, "Argument 'days' must be an integer, but got \"two\"."),
        ({"city": "Seoul", "days": 0}, "Argument 'days' is not accepted: 0 is less than the minimum of 1."),
        (
            {"city": "Seoul", "unit": "kelvin"},
            'Argument \'unit\' must be one of "celsius", "fahrenheit", but got "kelvin".',
        ),
        ({"city": "Seoul", "where": {}}, "Missing required argument 'where.street'."),
        ({"city": "Seoul", "where": {"street": 4}}, "Argument 'where.street' must be null or a string, but got 4."),
        ({"city": "Seoul", "at": []}, "Argument 'at' matches none of its allowed forms"),
    ],
)
def test_a_problem_names_the_argument_and_what_was_expected(arguments: dict[str, Any], said: str) -> None:
    assert (arguments_problem(SCHEMA, arguments) or "").startswith(said)


@pytest.mark.parametrize(
    "arguments", [{"city": "Seoul"}, {"city": "서울", "days": 3, "at": 1, "where": {"street": None}}]
)
def test_good_arguments_have_no_problem(arguments: dict[str, Any]) -> None:
    assert arguments_problem(SCHEMA, arguments) is None


def test_several_problems_are_told_at_once() -> None:
    told = arguments_problem(SCHEMA, {"days": "x", "unit": 1}) or ""
    assert "'city'" in told
    assert "'days'" in told
    assert "'unit'" in told


def test_a_schema_that_cannot_be_compiled_is_an_error_of_the_tool() -> None:
    with pytest.raises(InvalidToolError):
        arguments_problem({"type": "objekt"}, {})


def expression() -> dict[str, Any]:
    """A recursive union, whose validation can take time exponential in the depth of a wrong value."""
    branches: list[Any] = [
        {
            "type": "object",
            "properties": {"op": {"const": op}, "left": {"$ref": "#/$defs/E"}, "right": {"$ref": "#/$defs/E"}},
            "required": ["op", "left"],
        }
        for op in "abcdef"
    ]
    union = {"anyOf": [*branches, {"type": "integer"}]}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/E"}}, "$defs": {"E": union}}


def wrapped(levels: int, core: object) -> object:
    value = core
    for _ in range(levels):
        value = {"op": "f", "left": value}
    return value


@pytest.mark.parametrize("levels", [1, 3, 6, 12, 40])
def test_a_hostile_pair_of_schema_and_arguments_costs_bounded_time(levels: int) -> None:
    arguments_problem(expression(), {"x": 1})
    started = time.process_time()
    arguments_problem(expression(), {"x": wrapped(levels, "wrong")})
    assert time.process_time() - started < 0.5


def test_where_an_explanation_would_cost_too_much_the_argument_is_still_named() -> None:
    told = arguments_problem(expression(), {"x": wrapped(4, "wrong")}) or ""
    assert "'x'" in told


def test_endless_nesting_is_refused_without_looking_at_it() -> None:
    value: list[Any] = []
    for _ in range(10_000):
        value = [value]
    assert "deeper than 100 levels" in (arguments_problem(SCHEMA, {"city": value}) or "")


@pytest.mark.parametrize("arguments", [{"city": "\ud83d"}, {"\udc00": 1}, {"city": [{"a": "x\ud83d"}]}])
def test_half_a_character_is_told_and_breaks_nothing(arguments: dict[str, Any]) -> None:
    told = arguments_problem(SCHEMA, arguments) or ""
    assert "half of a character" in told
    told.encode()


@pytest.mark.parametrize("schema", [{"const": "x"}, {"enum": ["x", 1]}, {"maximum": 5}, {"type": "string"}])
def test_an_integer_beyond_64_bits_can_be_spoken_of(schema: dict[str, Any]) -> None:
    told = arguments_problem({"type": "object", "properties": {"n": schema}}, {"n": 10**30})
    assert "'n'" in (told or "")
