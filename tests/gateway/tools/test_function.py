"""Python functions as tools."""

import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from gateway.chat.messages import Content
from gateway.errors import ToolArgumentsError, ToolExecutionError
from gateway.tools.context import ToolContext
from gateway.tools.function import FunctionToolCallback, tool
from indexer import InvalidToolError

KIM = ToolContext(tenant="acme", principal="kim", values={"secret": "s3cret"})


class Unit(Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Place(BaseModel):
    city: str
    floor: int = 0


async def run(callback: FunctionToolCallback, **arguments: Any) -> Content:
    return await callback.call(arguments, KIM)


def test_a_decorated_function_describes_itself_and_can_still_be_called() -> None:
    @tool
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return a + b

    assert add(1) == 3
    assert add.spec.name == "add"
    assert add.spec.description == "Add two numbers."
    assert add.spec.parameters["properties"]["a"] == {"type": "integer", "description": "The first number."}
    assert add.spec.parameters["required"] == ["a"]
    assert add.spec.wire is None
    assert add.metadata.runs_here and not add.metadata.return_direct


def test_name_description_and_treatment_can_be_given() -> None:
    @tool(name="sum", description="Sums.", return_direct=True)
    def add(a: int) -> int:
        return a

    assert (add.spec.name, add.spec.description, add.metadata.return_direct) == ("sum", "Sums.", True)


async def test_arguments_are_converted_to_what_the_function_declares() -> None:
    @tool
    def plan(place: Place, unit: Unit, day: date, kind: Literal["a", "b"], tags: list[int]) -> str:
        assert isinstance(place, Place) and isinstance(unit, Unit) and isinstance(day, date)
        return f"{place.city} {place.floor} {unit.value} {day:%d.%m.} {kind} {sum(tags)}"

    result = await run(plan, place={"city": "Jeju"}, unit="celsius", day="2026-05-01", kind="b", tags=["1", 2])
    assert result == "Jeju 0 celsius 01.05. b 3"


async def test_a_mistake_is_told_with_the_arguments_name_and_what_was_expected() -> None:
    @tool
    def plan(place: Place, days: Annotated[int, Field(ge=1, le=7)], unit: Unit = Unit.CELSIUS) -> str:
        return ""

    with pytest.raises(ToolArgumentsError) as caught:
        await run(plan, place={"floor": "x"}, days=9, unit="kelvin", colour="red")
    message = str(caught.value)
    assert "place.city is missing" in message
    assert "place.floor: Input should be a valid integer" in message and "'x'" in message
    assert "days: Input should be less than or equal to 7, got 9" in message
    assert "'celsius' or 'fahrenheit'" in message
    assert "colour is not a parameter of this tool" in message
    assert "do not repeat the same arguments" in message


async def test_defaults_apply_where_arguments_are_left_out_also_those_in_a_field() -> None:
    @tool
    def f(a: int = 4, b: int = Field(5, description="bee"), c: list[int] = Field(default_factory=list[int])) -> str:  # noqa: B008 - pydantic's own way to describe a default
        return f"{a} {b} {c}"

    assert await run(f) == "4 5 []"


async def test_the_context_reaches_the_tool_and_never_the_model() -> None:
    @tool
    def who(question: str, context: ToolContext, also: ToolContext | None = None) -> str:
        assert also is context
        return f"{context.tenant}/{context.principal}: {question}"

    assert list(who.spec.parameters["properties"]) == ["question"]
    assert "context" not in str(who.spec)
    assert await run(who, question="hi") == "acme/kim: hi"
    with pytest.raises(ToolArgumentsError, match="context is not a parameter"):
        await run(who, question="hi", context={"tenant": "other"})


async def test_async_functions_and_methods_and_callable_objects_are_tools() -> None:
    class Shop:
        async def refund(self, order: str) -> str:
            return f"refunded {order}"

    class Adder:
        """Adds one."""

        def __call__(self, number: int) -> int:
            return number + 1

    assert await run(FunctionToolCallback(Shop().refund), order="7") == "refunded 7"
    assert await run(FunctionToolCallback(Adder(), name="adder"), number=1) == "2"


async def test_a_synchronous_function_runs_in_a_worker_thread() -> None:
    @tool
    def where() -> str:
        return threading.current_thread().name

    assert await run(where) != threading.current_thread().name


async def test_what_generators_yield_is_the_result_and_is_made_where_functions_run() -> None:
    threads: list[int] = []

    @tool
    def pages(count: int) -> Iterator[str]:
        """Read pages."""
        threads.append(threading.get_ident())
        if not count:
            raise ValueError("no pages")
        yield from (f"page {number}" for number in range(count))

    @tool
    async def events(count: int) -> AsyncIterator[int]:
        """Read events."""
        for number in range(count):
            yield number

    assert await run(pages, count=2) == '["page 0","page 1"]'
    assert await run(events, count=3) == "[0,1,2]"
    with pytest.raises(ValueError, match="^no pages$"):
        await run(pages, count=0)
    assert threading.get_ident() not in threads


async def test_results_are_json_and_nothing_is_done_and_none_is_null() -> None:
    @dataclass
    class Row:
        id: int
        day: date

    @tool
    def rows() -> list[Row]:
        return [Row(1, date(2026, 1, 2))]

    @tool
    def nothing() -> None: ...

    @tool
    def maybe() -> str | None:
        return None

    @tool
    def unsaid():  # noqa: ANN202 - what an unannotated function gives is the point
        return None

    assert await run(rows) == '[{"id":1,"day":"2026-01-02"}]'
    assert await run(nothing) == "Done"
    assert await run(maybe) == "null"
    assert await run(unsaid) == "null"


def test_a_function_without_hints_is_refused_with_the_parameter() -> None:
    with pytest.raises(InvalidToolError, match="parameters.a"):

        @tool  # pyright: ignore[reportUnknownArgumentType] - the missing hint is the point
        def f(a): ...  # noqa: ANN001, ANN202  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]


async def test_a_function_that_leaves_like_a_script_fails_alone() -> None:
    @tool
    def script() -> None:
        sys.exit(3)

    @tool
    async def later() -> None:
        raise SystemExit

    with pytest.raises(ToolExecutionError, match="tried to exit the program \\(code 3\\)"):
        await run(script)
    with pytest.raises(ToolExecutionError, match="tried to exit"):
        await run(later)
