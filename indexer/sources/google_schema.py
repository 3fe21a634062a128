"""Schemas of Google's discovery documents as JSON Schema, small enough for a model to read."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from indexer.sources.prose import plain_text
from indexer.sources.small_schema import NESTED_LIMIT, PARAMETER_LIMIT, deepest_fitting, fields_named, json_fits

BODY_DEPTH: Final = 4
MAX_ENUM: Final = 60


def parameter_schema(parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a path or query parameter."""
    schema = _scalar(parameter, PARAMETER_LIMIT)
    return {"type": "array", "items": schema} if parameter.get("repeated") else schema


def _scalar(declared: Mapping[str, Any], limit: int, *, documented: bool = True) -> dict[str, Any]:
    kind = declared.get("type")
    schema: dict[str, Any] = {"type": kind} if kind in ("string", "integer", "number", "boolean") else {}
    enum = cast(Sequence[str], declared.get("enum", ()))
    if 0 < len(enum) <= MAX_ENUM:
        schema["enum"] = list(dict.fromkeys(enum))
    if declared.get("format"):
        schema["format"] = declared["format"]
    if documented and declared.get("description"):
        schema["description"] = plain_text(str(declared["description"]), limit)
    return schema


class DiscoverySchemas:
    """Schemas with their references written out, cut at a depth, shared by all methods of the document."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]], *, documented: bool) -> None:
        self._schemas = schemas
        self._documented = documented
        self._built: dict[tuple[str, int], dict[str, Any]] = {}

    def fitting(self, name: str, depth: int, limit: int) -> Mapping[str, Any]:
        """A schema at the greatest depth up to `depth` that takes at most `limit` bytes of JSON."""
        return deepest_fitting(partial(self._named, name), depth, json_fits(limit))

    def _named(self, name: str, levels: int) -> dict[str, Any]:
        known = self._built.get((name, levels))
        if known is None:
            known = self._built[name, levels] = self._of(self._schemas.get(name, {}), levels)
        return known

    def _of(self, declared: Mapping[str, Any], levels: int) -> dict[str, Any]:
        if "$ref" in declared:
            schema = self._named(str(declared["$ref"]), levels)
            return self._described(schema, declared, levels) if declared.get("description") else schema
        kind = declared.get("type")
        if kind == "object" or "properties" in declared:
            return self._described(self._object(declared, levels), declared, levels)
        if kind == "array":
            items = self._of(declared.get("items", {}), levels) if levels else {}
            return self._described({"type": "array", "items": items} if items else {"type": "array"}, declared, levels)
        return _scalar(declared, self._limit(levels), documented=self._documented)

    def _object(self, declared: Mapping[str, Any], levels: int) -> dict[str, Any]:
        members = cast(Mapping[str, Mapping[str, Any]], declared.get("properties", {}))
        schema: dict[str, Any] = {"type": "object"}
        if members and levels == 0:
            return schema | ({"description": fields_named(list(members))} if self._documented else {})
        if members:
            # What only the service writes is no argument of a caller.
            schema["properties"] = {
                name: self._of(member, levels - 1)
                for name, member in members.items()
                if not (self._documented and member.get("readOnly"))
            }
        if levels and isinstance(declared.get("additionalProperties"), Mapping):
            schema["additionalProperties"] = self._of(declared["additionalProperties"], levels - 1)
        return schema

    def _described(self, schema: dict[str, Any], declared: Mapping[str, Any], levels: int) -> dict[str, Any]:
        text = declared.get("description")
        if not text or not self._documented:
            return schema
        fields = str(schema.get("description", ""))
        said = plain_text(str(text), self._limit(levels))
        return {**schema, "description": f"{said} {fields}" if fields.startswith("Fields: ") else said}

    @staticmethod
    def _limit(levels: int) -> int:
        return PARAMETER_LIMIT if levels >= BODY_DEPTH - 1 else NESTED_LIMIT
