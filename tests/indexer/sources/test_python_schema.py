"""From a typed function to its schema."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from indexer.definition import ToolDefinition
from indexer.errors import InvalidToolError
from indexer.sources.python_schema import schema_of_function
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


def test_bound_arguments_have_the_hinted_types_and_no_defaults() -> None:
    described = schema_of_function(forecast, skip=(Context,))
    bound = described.bind({"unit": "celsius", "city": "Seoul", "at": {"latitude": 1}, "span": {"days": 2}})
    assert bound == {"city": "Seoul", "unit": Unit.CELSIUS, "at": Place(latitude=1), "span": Span(2)}
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
