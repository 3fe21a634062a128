"""The JSON shapes in which the world writes tools, brought to one record."""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from indexer.errors import InvalidToolError
from indexer.subschemas import is_object

OWN_FIELDS: Final = frozenset(
    {
        "name", "namespace", "tenant", "title", "description", "input_schema", "output_schema", "tags",
        "example_queries", "publisher", "trust", "annotations", "executor", "return_direct", "pinned", "version",
        "repeatable", "completion",
    }
)  # fmt: skip
"""Fields of the record that `definition_to_record` writes; any shape may carry them beside its own."""

_ANNOTATION_NAMES: Final = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
_MAX_SHOWN: Final = 80
"""Characters of a name that nobody knows, for its error."""
_MENDED_DEPTH: Final = 30
_ANTHROPIC_ONLY: Final = frozenset({"cache_control", "defer_loading", "eager_input_streaming", "input_examples"})


class Shape(NamedTuple):
    """A recognised way to write a tool."""

    name: str
    renamed: Mapping[str, str]
    """Its own fields and the record's fields they become."""
    ignored: frozenset[str]
    """Its own fields that say nothing about the tool itself."""


OWN: Final = Shape("toolscout", {}, frozenset({"id"}))
OPENAI: Final = Shape("OpenAI", {"parameters": "input_schema"}, frozenset({"type", "strict", "defer_loading"}))
ANTHROPIC: Final = Shape(
    "Anthropic",
    {},
    frozenset(
        {
            "type",
            "cache_control",
            "defer_loading",
            "strict",
            "eager_input_streaming",
            "allowed_callers",
            "input_examples",
        }
    ),
)
MCP: Final = Shape(
    "MCP",
    {"inputSchema": "input_schema", "outputSchema": "output_schema"},
    frozenset({"_meta", "icons", "execution"}),
)


def to_record(raw: Mapping[str, Any], complain: Callable[[str, str, str], InvalidToolError]) -> dict[str, Any]:
    """One tool in any recognised shape -> the fields of our record, unchecked.

    `complain(field, reason, fix)` makes the error to raise. Raises: InvalidToolError for a field nobody knows.
    """
    shape, flat = _recognised(raw, complain)
    known = OWN_FIELDS | shape.renamed.keys() | shape.ignored
    record: dict[str, Any] = {}
    given_as: dict[str, str] = {}
    for name, value in flat.items():
        if name not in known:
            raise _unknown_field(name, known, shape, complain)
        if name in shape.ignored:
            continue
        field = shape.renamed.get(name, name)
        first = given_as.setdefault(field, name)
        if first != name:
            raise complain(field, f"is given twice, as {first!r} and as {name!r}", "Keep one of the two.")
        record[field] = value
    if shape is MCP:
        _adopt_meta(record, raw.get("_meta"))
    if isinstance(record.get("annotations"), Mapping):
        _adopt_annotations(record, cast(Mapping[str, Any], record["annotations"]))
    return record


def _recognised(
    raw: Mapping[str, Any], complain: Callable[[str, str, str], InvalidToolError]
) -> tuple[Shape, Mapping[str, Any]]:
    function = raw.get("function")
    if raw.get("type") == "function" and "function" in raw:
        if not isinstance(function, Mapping):
            raise complain("function", "must be an object", "Write the tool's name and parameters in it.")
        return OPENAI, {**cast(Mapping[str, Any], function), **{k: v for k, v in raw.items() if k != "function"}}
    if "inputSchema" in raw or "outputSchema" in raw:
        return MCP, raw
    if raw.get("type") == "function" or "parameters" in raw:
        return OPENAI, raw
    if raw.get("type") == "custom" or ("input_schema" in raw and not _ANTHROPIC_ONLY.isdisjoint(raw)):
        return ANTHROPIC, raw
    return OWN, raw


def _adopt_annotations(record: dict[str, Any], annotations: Mapping[str, Any]) -> None:
    """MCP's hint names become ours; a title among them is the tool's, if it has none."""
    renamed = {_ANNOTATION_NAMES.get(name, name): value for name, value in annotations.items() if name != "title"}
    record["annotations"] = renamed
    if annotations.get("title") and not record.get("title"):
        record["title"] = annotations["title"]


def _adopt_meta(record: dict[str, Any], meta: object) -> None:
    """What MCP has no field for, a server says under `_meta`, the place for what the protocol does not define."""
    if isinstance(meta, Mapping):
        for name in ("repeatable", "completion"):
            if (value := cast(Mapping[str, Any], meta).get(f"toolscout/{name}")) is not None:
                record.setdefault(name, value)


def _unknown_field(
    name: str, known: frozenset[str], shape: Shape, complain: Callable[[str, str, str], InvalidToolError]
) -> InvalidToolError:
    shown = name if len(name) <= _MAX_SHOWN else f"{name[: _MAX_SHOWN - 1]}…"
    close = difflib.get_close_matches(shown, sorted(known), n=1)
    fix = f"Did you mean {close[0]!r}?" if close else f"Known fields: {', '.join(sorted(known - shape.ignored))}."
    return complain(shown, f"is no field of a tool (read in the {shape.name} shape)", fix)


_PYTHON_TYPES: Final[Mapping[str, str | None]] = {
    "int": "integer", "float": "number", "double": "number", "bool": "boolean", "str": "string",
    "dict": "object", "list": "array", "tuple": "array", "any": None,
}  # fmt: skip


_JSON_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
_MENDED_INSIDE: Final = frozenset({"properties", "items", "additionalProperties", "required"})


_TO_MEND: Final = (
    re.compile(rb'"type":(?:null|"(?:%b)")' % "|".join(_PYTHON_TYPES).encode()),
    re.compile(rb'"required":(?:true|false)'),
    re.compile(rb'\[\]"'),
)
"""What every habit leaves in compact JSON. Patterns with a fixed beginning take a quarter of the time of one of all."""


def may_need_mending(text: bytes) -> bool:
    """Whether `with_json_types` might change anything in a schema that is, or stands in, this compact JSON."""
    return any(habit.search(text) for habit in _TO_MEND)


def with_json_types(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A schema in which older catalogs' habits are JSON Schema again; anything else is left as it is.

    Types under Python's names (`dict`, `float`), a type of null, `string[]`, and `required: true` inside a property.
    """
    kind = schema.get("type", "")
    if type(kind) is str and kind in _JSON_TYPES and schema.keys().isdisjoint(_MENDED_INSIDE):
        return cast(dict[str, Any], schema) if type(schema) is dict else dict(schema)
    mended = dict(schema)
    if kind is None or kind == "any":
        del mended["type"]
    elif isinstance(kind, str) and kind in _PYTHON_TYPES:
        mended["type"] = _PYTHON_TYPES[kind]
    if depth > _MENDED_DEPTH:
        return mended
    if isinstance(kind, str) and kind.endswith("[]"):
        mended["type"], mended["items"] = "array", with_json_types({"type": kind[:-2]}, depth + 1)
    if is_object(properties := mended.get("properties")):
        _mend_properties(mended, properties, depth)
    for keyword in ("items", "additionalProperties"):
        if is_object(mended.get(keyword)):
            mended[keyword] = with_json_types(mended[keyword], depth + 1)
    return mended


def _mend_properties(mended: dict[str, Any], properties: Mapping[str, Any], depth: int) -> None:
    needed: list[str] = []
    inner: dict[str, Any] = {}
    for name, value in properties.items():
        if not is_object(value):
            inner[name] = value
            continue
        inner[name] = with_json_types(value, depth + 1)
        required = inner[name].get("required")
        if isinstance(required, bool):
            del inner[name]["required"]
            needed += [name] if required else []
    mended["properties"] = inner
    if needed and isinstance(mended.get("required", []), list):
        mended["required"] = [*mended.get("required", []), *(n for n in needed if n not in mended.get("required", []))]
