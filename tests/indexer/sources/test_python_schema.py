"""From a typed function to its schema."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from indexer.definition import ToolDefinition
from indexer.errors import InvalidToolError
from indexer.sources.python_schema import ToolParam, schema_of_function
from indexer.validation import judge


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Place(BaseModel):
    """A place on Earth."""

    latitude: float = Field(ge=-90, le=90)
    title: str = ""


@dataclass
class Span:
    days: int


class Context:
    """What the caller fills in."""


def forecast(
    city: str,
    days: Annotated[int, "how many days"] = 3,
    unit: Unit = Unit.CELSIUS,
    at: Place | None = None,
    span: Span | None = None,
    style: Literal["short", "long"] = "short",
    limit: Annotated[float, Field(gt=0, description="an upper bound")] = 1.0,
    copy: int = Field(default=2, description="copies"),
    context: Context | None = None,
) -> str:
    """Forecast the weather.

    Uses the national service.

    Args:
        city: Name of the city.
        days: this is overruled.
        at: Where exactly.

    Returns:
        One line of text.
    """
    return city


def test_hints_and_docstring_become_one_schema() -> None:
    described = schema_of_function(forecast, skip=(Context,))
    schema = described.input_schema
    assert described.name == "forecast"
    assert described.description == "Forecast the weather.\n\nUses the national service.\n\nReturns: One line of text."
    assert schema["required"] == ["city"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert list(properties) == ["city", "days", "unit", "at", "span", "style", "limit", "copy"]
    assert properties["city"] == {"type": "string", "description": "Name of the city."}
    assert properties["days"] == {"type": "integer", "default": 3, "description": "how many days"}
    assert properties["copy"] == {"type": "integer", "default": 2, "description": "copies"}
    assert properties["limit"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "default": 1.0,
        "description": "an upper bound",
    }
    assert properties["style"]["enum"] == ["short", "long"]
    assert schema["$defs"]["Unit"] == {"type": "string", "enum": ["celsius", "fahrenheit"]}
    assert set(schema["$defs"]["Place"]["properties"]) == {"latitude", "title"}
    assert judge(ToolDefinition(name="forecast", input_schema=schema)) is None


def test_bound_arguments_have_the_hinted_types_and_no_defaults_that_python_knows() -> None:
    described = schema_of_function(forecast, skip=(Context,))
    bound = described.bind({"unit": "celsius", "city": "Seoul", "at": {"latitude": 1}, "span": {"days": 2}})
    assert bound == {"city": "Seoul", "unit": Unit.CELSIUS, "at": Place(latitude=1), "span": Span(2), "copy": 2}
    with pytest.raises(ValidationError, match="latitude"):
        described.bind({"city": "Seoul", "at": {"latitude": 100}})
    with pytest.raises(ValidationError, match="Extra inputs"):
        described.bind({"city": "Seoul", "town": 1})


def numpy_style(amount: int) -> None:
    """Pay.

    Parameters
    ----------
    amount : int
        In cents.
    """


def rest_style(amount: int) -> None:
    """Pay.

    :param amount: In cents.
    """


@pytest.mark.parametrize("function", [numpy_style, rest_style])
def test_docstrings_of_every_style_are_read(function: Callable[..., None]) -> None:
    described = schema_of_function(function)
    assert described.description == "Pay."
    assert described.input_schema["properties"]["amount"]["description"] == "In cents."


def test_a_method_has_no_self_and_a_callable_object_its_call() -> None:
    class Counter:
        def add(self, by: int) -> int:
            """Add."""
            return by

        def __call__(self, by: int) -> int:
            return by

    assert list(schema_of_function(Counter().add).input_schema["properties"]) == ["by"]
    assert list(schema_of_function(Counter()).input_schema["properties"]) == ["by"]


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> str:
        return ""

    assert schema_of_function(now).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def unhinted(a) -> None: ...  # noqa: ANN001  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType] - what is tested
def function_valued(first: int, a: Callable[[int], int]) -> None: ...
def any_number(*a: int) -> None: ...
def any_names(**a: int) -> None: ...
def of_a_class(a: Context) -> None: ...
def by_position(a: int, /) -> None: ...


WITHOUT_SCHEMA: list[tuple[Callable[..., Any], str]] = [
    (unhinted, "has no type hint"),
    (function_valued, "no JSON is a"),
    (any_number, "any number of arguments"),
    (any_names, "any number of arguments"),
    (of_a_class, "no JSON is a Context"),
    (by_position, "only be passed by position"),
]


@pytest.mark.parametrize(("function", "said"), WITHOUT_SCHEMA)
def test_a_parameter_that_no_schema_can_hold_is_named(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(InvalidToolError) as caught:
        schema_of_function(function)
    assert caught.value.field == "parameters.a"
    assert said in caught.value.reason
    assert caught.value.fix


def test_a_hint_that_cannot_be_resolved_is_told() -> None:
    def lost(a: "Nowhere") -> None: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType] - what is tested

    with pytest.raises(InvalidToolError, match="Nowhere"):
        schema_of_function(lost)  # pyright: ignore[reportUnknownArgumentType] - as above


class Stop(BaseModel):
    place: Annotated[str, ToolParam("where to stop")]


def plan(
    first: Annotated[int, "hint", Field(description="field"), ToolParam("param")],
    second: Annotated[int, "hint", Field(description="field", ge=1)],
    third: Annotated[int, "hint"],
    fourth: int,
    forced: Annotated[int, ToolParam(required=True)] = 4,
    forced_field: Annotated[int, ToolParam("f", required=True), Field(default=3, ge=2, examples=[5])] = 4,
    field: Annotated[int, Field(default=3)] = 4,
    nothing: Annotated[int | None, ToolParam(required=False)] = None,
    own: Annotated[int, ToolParam("o", required=False)] = 6,
    stops: list[Stop] = Field(default_factory=list[Stop]),  # noqa: B008 - as users of pydantic write it
) -> dict[str, Any]:
    """Plan.

    Args:
        first: docs
        second: docs
        third: docs
        fourth: docs
    """
    return locals()


def test_tool_param_wins_over_field_that_over_the_hint_and_that_over_docstring_and_default() -> None:
    schema = schema_of_function(plan).input_schema
    properties = schema["properties"]
    described = {name: properties[name].get("description") for name in ("first", "second", "third", "fourth")}
    assert described == {"first": "param", "second": "field", "third": "hint", "fourth": "docs"}
    assert schema["required"] == ["first", "second", "third", "fourth", "forced", "forced_field"]
    assert properties["forced"] == {"type": "integer"}
    assert properties["forced_field"] == {"type": "integer", "minimum": 2, "examples": [5], "description": "f"}
    assert properties["field"] == {"type": "integer", "default": 3}
    assert properties["own"] == {"type": "integer", "default": 6, "description": "o"}
    assert schema["$defs"]["Stop"]["properties"]["place"] == {"type": "string", "description": "where to stop"}


def test_what_a_model_leaves_out_is_what_its_schema_says() -> None:
    required = {"first": 1, "second": 1, "third": 1, "fourth": 1, "forced": 1, "forced_field": 2}
    made = plan(**schema_of_function(plan).bind(required))
    assert {name: made[name] for name in ("field", "nothing", "own", "stops")} == {
        "field": 3, "nothing": None, "own": 6, "stops": [],
    }  # fmt: skip
    with pytest.raises(ValidationError, match="forced_field"):
        schema_of_function(plan).bind({name: value for name, value in required.items() if name != "forced_field"})
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        schema_of_function(plan).bind({**required, "forced_field": 1})


def test_a_hint_that_allows_none_makes_a_parameter_optional() -> None:
    def note(text: str | None) -> None: ...

    described = schema_of_function(note)
    assert "required" not in described.input_schema
    assert described.bind({}) == {"text": None}


def test_a_parameter_that_may_be_left_out_needs_a_default() -> None:
    def note(text: Annotated[str, ToolParam(required=False)]) -> None: ...

    with pytest.raises(InvalidToolError, match=r"parameters\.text: may be left out and has no default"):
        schema_of_function(note)
