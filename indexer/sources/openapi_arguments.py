"""One object of arguments out of what an HTTP operation takes in its path, query, headers and body."""

import re
from collections.abc import Mapping
from typing import Any, Final

from indexer.sources.json_text import as_list, as_object
from indexer.sources.openapi_schema import Schemas

INPUT_DEPTH: Final = 5
MAX_INPUT_BYTES: Final = 24 * 1024
JSON_TYPES: Final = re.compile(r"application/(?:[\w.+-]*\+)?json\b", re.IGNORECASE)

_PLACES: Final = ("path", "query", "header")
_NOT_ARGUMENTS: Final = frozenset({"accept", "content-type", "authorization"})
"""Headers that the HTTP client sets; OpenAPI says that parameters of these names are ignored."""


class Arguments:
    """One object of arguments out of an operation's path, query, header and body."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self.places: dict[str, dict[str, str]] = {}
        """Where each argument goes: {"in": "query", "name": "limit"}."""
        self.content_type = ""

    def add_parameter(self, parameter: Mapping[str, Any]) -> None:
        """Take one parameter of any place, the body and form fields of Swagger 2.0 among them."""
        name, place = str(parameter.get("name", "")), parameter.get("in")
        if place == "body":
            self._add_body_schema(parameter.get("schema"), required=parameter.get("required") is True)
            return
        if place == "formData":
            self._add(name, "body", parameter, required=parameter.get("required") is True)
            self.content_type = "application/x-www-form-urlencoded"
            return
        if place not in _PLACES or not name or (place == "header" and name.lower() in _NOT_ARGUMENTS):
            return
        declared = parameter.get("schema") or content_of(parameter)[1] or parameter
        described = {"description": parameter["description"]} if parameter.get("description") else {}
        schema = {**self._schemas.resolved(declared), **described}
        self._add(name, str(place), schema, required=place == "path" or parameter.get("required") is True)

    def add_body(self, body: object) -> None:
        """Take the request body of OpenAPI 3."""
        declared = self._schemas.resolved(body)
        content_type, schema = content_of(declared)
        if schema is not None:
            self.content_type = content_type
            self._add_body_schema(schema, required=declared.get("required") is True)

    def _add_body_schema(self, declared: object, *, required: bool) -> None:
        self.content_type = self.content_type or "application/json"
        schema = self._schemas.fitting(declared, INPUT_DEPTH, MAX_INPUT_BYTES)
        fields = as_object(schema.get("properties"))
        if not fields or "anyOf" in schema:
            self._place("body", "body", "", schema, required=required)
            return
        needed = as_list(schema.get("required"))
        for name, inner in fields.items():
            self._place(name, "body", name, inner, required=required and name in needed)

    def _add(self, name: str, place: str, declared: object, *, required: bool) -> None:
        schema = self._schemas.fitting(declared, INPUT_DEPTH - 1, MAX_INPUT_BYTES)
        self._place(name, place, name, schema, required=required)

    def _place(self, name: str, place: str, sent_as: str, schema: object, *, required: bool) -> None:
        """Two of one name: the first keeps it, the other is named by its place, the same on every reading."""
        argument = name
        while argument in self._properties:
            argument = f"{place}_{argument}"
        self._properties[argument] = schema
        self.places[argument] = {"in": place, "name": sent_as} if sent_as else {"in": place}
        if required:
            self._required.append(argument)

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "properties": self._properties}
        return schema | {"required": self._required} if self._required else schema


def content_of(holder: Mapping[str, Any]) -> tuple[str, object]:
    """The media type that JSON arguments suit best, and its schema; ('', None) if there is none."""
    media = as_object(holder.get("content"))
    for name in sorted(media, key=lambda name: (not JSON_TYPES.match(name), "form" not in name)):
        schema = as_object(media[name]).get("schema")
        if schema is not None:
            return name, schema
    return "", None
