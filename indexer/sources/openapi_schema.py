"""Schemas of OpenAPI 3.0, 3.1 and Swagger 2.0, written out as JSON Schema 2020-12 of bounded depth."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Final, cast
from urllib.parse import unquote

from indexer.errors import InvalidToolError
from indexer.schema_check import schema_problem
from indexer.sources.json_text import as_list, as_object
from indexer.sources.prose import plain_text
from indexer.sources.small_schema import NESTED_LIMIT, PARAMETER_LIMIT, deepest_fitting, fields_named

MAX_ENUM: Final = 100
MAX_ALTERNATIVES: Final = 20
MAX_REFERENCE_CHAIN: Final = 20

_COPIED: Final = (
    "format", "const", "minimum", "maximum", "multipleOf", "minLength", "maxLength",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_HIDDEN: Final = {"request": "readOnly", "response": "writeOnly"}


class Schemas:
    """Writes out the schemas of one document; only its own references are followed, and nothing is built twice."""

    def __init__(self, document: Mapping[str, Any], direction: str, *, documented: bool) -> None:
        """`direction` is 'request' (fields only the server writes are left out) or 'response'."""
        self._document = document
        self._hidden = _HIDDEN[direction]
        self._documented = documented
        self._built: dict[tuple[int, int], tuple[Mapping[str, Any], dict[str, Any]]] = {}
        """By identity and levels; each node is kept beside its schema, so that no other can take its identity."""

    def fitting(self, declared: object, depth: int, limit: int) -> dict[str, Any]:
        """A schema at the greatest depth up to `depth` that takes about `limit` bytes of JSON.

        Raises: InvalidToolError for a reference that leads outside the document or nowhere.
        """
        return deepest_fitting(partial(self.written_out, declared), depth, partial(_fits, limit))

    def resolved(self, declared: object) -> Mapping[str, Any]:
        """What a local reference, or a chain of them, leads to; an empty schema for what is none."""
        for _ in range(MAX_REFERENCE_CHAIN):
            node = as_object(declared)
            if "$ref" not in node:
                return node
            declared = self._target(node["$ref"])
        return {}

    def _target(self, reference: object) -> object:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise InvalidToolError(
                "$ref",
                f"{reference!r} points outside the document, and nothing is fetched",
                fix="Bundle the document into one file first.",
            )
        node: object = self._document
        for step in reference[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            held = as_object(node)
            if name not in held:
                raise InvalidToolError("$ref", f"{reference!r} leads nowhere", fix="Define it, or correct the name.")
            node = held[name]
        return node

    def written_out(self, declared: object, levels: int) -> dict[str, Any]:
        """The schema with references replaced by what they lead to, `levels` deep."""
        node = self.resolved(declared)
        key = (id(node), levels)
        if key not in self._built:
            self._built[key] = node, {}  # a schema that holds itself says nothing new the second time
            self._built[key] = node, self._build(node, levels)
        schema = self._built[key][1]
        said = as_object(declared).get("description")
        if self._documented and isinstance(said, str) and said is not node.get("description"):
            return {**schema, "description": plain_text(said, _text_limit(levels))}
        return schema

    def _build(self, node: Mapping[str, Any], levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        if kind := _kind(node):
            schema["type"] = kind
        schema |= {keyword: node[keyword] for keyword in _COPIED if keyword in node}
        _adopt_bounds(schema, node)
        self._adopt_text(schema, node, levels)
        _adopt_values(schema, node)
        if levels > 0:
            self._adopt_parts(schema, node, levels)
            self._adopt_alternatives(schema, node, levels)
        elif node.get("properties"):
            self._name_fields(schema, node)
        return _nullable(schema) if node.get("nullable") or node.get("x-nullable") else schema

    def _adopt_text(self, schema: dict[str, Any], node: Mapping[str, Any], levels: int) -> None:
        text = node.get("description") or node.get("title")
        if self._documented and isinstance(text, str) and text.strip():
            schema["description"] = plain_text(text, _text_limit(levels))
        pattern = node.get("pattern")
        if isinstance(pattern, str) and _is_linear(pattern):
            schema["pattern"] = pattern

    def _adopt_parts(self, schema: dict[str, Any], node: Mapping[str, Any], levels: int) -> None:
        properties = as_object(node.get("properties"))
        if properties:
            schema.setdefault("type", "object")
            schema["properties"] = {
                str(name): self.written_out(inner, levels - 1)
                for name, inner in properties.items()
                if not self.resolved(inner).get(self._hidden)
            }
        # A branch of allOf may require what another branch defines.
        required = [name for name in as_list(node.get("required")) if isinstance(name, str)]
        if required := [name for name in required if name not in properties or name in schema["properties"]]:
            schema["required"] = required
        more = node.get("additionalProperties")
        if isinstance(more, bool):
            schema["additionalProperties"] = more
        elif as_object(more):
            schema["additionalProperties"] = self.written_out(more, levels - 1)
        if isinstance(node.get("items"), Mapping):
            schema.setdefault("type", "array")
            schema["items"] = self.written_out(node["items"], levels - 1)

    def _adopt_alternatives(self, schema: dict[str, Any], node: Mapping[str, Any], levels: int) -> None:
        for keyword in ("oneOf", "anyOf"):
            if branches := as_list(node.get(keyword))[:MAX_ALTERNATIVES]:
                # Alternatives cut at a depth may overlap, and then oneOf would refuse what is right.
                schema["anyOf"] = [self.written_out(branch, levels - 1) for branch in branches]
        for part in as_list(node.get("allOf"))[:MAX_ALTERNATIVES]:
            _merge(schema, self.written_out(part, levels))

    def _name_fields(self, schema: dict[str, Any], node: Mapping[str, Any]) -> None:
        """Below the depth that is kept the fields are only named."""
        names = [str(name) for name in as_object(node["properties"])]
        schema["type"] = "object"
        if self._documented:
            schema["description"] = f"{schema.get('description', '')} {fields_named(names)}".strip()


def _text_limit(levels: int) -> int:
    return PARAMETER_LIMIT if levels >= 3 else NESTED_LIMIT


def _fits(limit: int, schema: Mapping[str, Any]) -> bool:
    """Whether it takes about `limit` bytes as JSON, without writing it out: shared parts may repeat without end."""
    size = 0
    stack: list[Any] = [schema]
    while stack and size <= limit:
        value = stack.pop()
        size += 4
        if isinstance(value, dict):
            size += sum(len(name) + 4 for name in cast(dict[str, Any], value))
            stack.extend(cast(dict[str, Any], value).values())
        elif isinstance(value, list):
            stack.extend(cast(list[Any], value))
        elif isinstance(value, str):
            size += len(value)
    return size <= limit


def _kind(node: Mapping[str, Any]) -> object:
    kind = node.get("type")
    if isinstance(kind, list):
        return [name for name in cast(list[Any], kind) if isinstance(name, str) and name in _TYPES] or None
    # Swagger 2.0 uploads a file; the gateway's arguments are JSON.
    return kind if isinstance(kind, str) and kind in _TYPES else "string" if kind == "file" else None


def _adopt_bounds(schema: dict[str, Any], node: Mapping[str, Any]) -> None:
    """In OpenAPI 3.0 an exclusive bound is a flag beside the bound; since 3.1 it is the bound."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        value = node.get(exclusive)
        if value is True and bound in schema:
            schema[exclusive] = schema.pop(bound)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            schema[exclusive] = value


def _adopt_values(schema: dict[str, Any], node: Mapping[str, Any]) -> None:
    options = as_list(node.get("enum"))
    if 0 < len(options) <= MAX_ENUM:
        schema["enum"] = options
    elif options:
        listed = ", ".join(str(option) for option in options[:8])
        schema["description"] = f"{schema.get('description', '')} One of {len(options)}: {listed}, ...".strip()
    default = node.get("default")
    if isinstance(default, str | int | float | bool):
        schema["default"] = default


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if "anyOf" in schema and kind is None:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    return schema


def _merge(schema: dict[str, Any], part: Mapping[str, Any]) -> None:
    """One branch of allOf into the schema around it; what was said first stays."""
    for keyword, value in part.items():
        if keyword == "properties":
            schema[keyword] = {**value, **schema.get(keyword, {})}
        elif keyword == "required":
            schema[keyword] = list(dict.fromkeys([*schema.get(keyword, ()), *value]))
        elif keyword == "additionalProperties" and value is False:
            continue  # true of the branch alone: its siblings' fields are additional to it
        else:
            schema.setdefault(keyword, value)


@lru_cache(maxsize=4_096)
def _is_linear(pattern: str) -> bool:
    """Patterns that cannot run in linear time are left out: they explain, and must not keep a tool from its users."""
    return schema_problem({"type": "object", "properties": {"x": {"pattern": pattern}}}, "input_schema") is None
