"""Values of a JSON body as they must be, or an error that names the place."""

from collections.abc import Mapping
from typing import Any, cast

from gateway.errors import InvalidRequestError


def object_at(value: object, place: str, what: str = "") -> Mapping[str, Any]:
    """An object. Raises: InvalidRequestError; `what` says what it was to be."""
    if not isinstance(value, Mapping):
        raise InvalidRequestError(place, f"{what} must be an object, got {kind_of(value)}".strip())
    return cast("Mapping[str, Any]", value)


def array_at(value: object, place: str, *, may_be_empty: bool = False) -> list[object]:
    """An array. Raises: InvalidRequestError."""
    if value is None and not may_be_empty:
        raise InvalidRequestError(place, "is missing")
    if not isinstance(value, list):
        raise InvalidRequestError(place, f"must be an array, got {kind_of(value)}")
    return cast("list[object]", value)


def string_at(value: object, place: str, *, hint: str = "") -> str:
    """A string. Raises: InvalidRequestError; `hint` says what it was to hold."""
    if value is None:
        raise InvalidRequestError(place, "is missing")
    if not isinstance(value, str):
        raise InvalidRequestError(place, f"must be a string{hint}, got {kind_of(value)}")
    return value


def rest_of(entry: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What an object holds beside the fields that are read."""
    return {name: value for name, value in entry.items() if name not in known}


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
