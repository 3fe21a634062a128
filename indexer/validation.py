"""The border where definitions come in: what cannot be held is refused, what cannot be used is quarantined."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, cast, get_args

import orjson

from indexer.argument_check import arguments_problem
from indexer.definition import (
    DEFAULT_NAMESPACE,
    DEFAULT_TENANT,
    EMPTY_SCHEMA,
    CompletionKeys,
    ExecutorKind,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    TrustTier,
)
from indexer.errors import InvalidToolError
from indexer.json_shapes import to_record, with_json_types
from indexer.schema_check import MAX_SCHEMA_VALUES, schema_problem, small_text

__all__ = ["arguments_problem", "definition_from_json", "judge"]

MAX_NAME_LENGTH: Final = 256
MAX_DESCRIPTION_BYTES: Final = 64 * 1024
MAX_DEFINITION_BYTES: Final = 1024 * 1024
MAX_LISTED: Final = 100
"""Tags, and example queries, of one tool."""
MAX_LISTED_LENGTH: Final = 1_000

FOREIGN_EXECUTORS: Final[frozenset[ExecutorKind]] = frozenset({"client", "simulated"})
"""Who may run a tool that came in as data: adapters that run code or reach a server are the operator's to name."""

_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # control characters, ANSI escapes among them
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides and isolates
    "\u00ad\u180e\u200b\u2060-\u2065\ufeff"  # no width
    "\ufff9-\ufffb"  # interlinear annotation
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff]"  # halves of surrogate pairs
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"  # runs of variation selectors can carry bytes
    "|(?<=[\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?=[\u0000-\u007f])"  # joiners join nothing in ASCII
)
_MAY_HIDE = re.compile(
    "[\u007f-\u009f\u00ad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]"
)
"""Every character of `_INVISIBLE` that JSON text holds as it is, whatever stands beside it: found in a tenth of the
time."""
_ESCAPED = re.compile(rb"\\[bfu]")
_LINE_BREAKING = re.compile("[\t\n\r\u2028\u2029\u200e\u200f\u061c\u200c\u200d]")
"""Beside `_INVISIBLE`, what a name may not hold but a text may."""


def definition_from_json(
    raw: object,
    *,
    place: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    tenant: str = DEFAULT_TENANT,
    executors: Collection[ExecutorKind] = FOREIGN_EXECUTORS,
    executor: ToolExecutor | None = None,
) -> ToolDefinition:
    """A tool in any recognised JSON shape (ours, OpenAI, Anthropic, MCP) -> a definition that can be held.

    `place` says where it stands ('line 7'), for the error. `namespace` and `executor` apply where the tool names
    none; `tenant` is the caller's, and a tool that names another is refused. `executors` are the kinds it may name.
    Whether its schemas can be used is for `judge`.
    Raises: InvalidToolError with the field, the reason and the cure.
    """
    if not isinstance(raw, Mapping):
        raise InvalidToolError(
            place or "tool", f"must be a JSON object, not {_kind(raw)}", fix="Write one tool as {...}."
        )
    reader = _Reader(cast(Mapping[str, Any], raw), place)
    reader.check_held()
    record = reader.record
    own_tenant = reader.name("tenant", tenant)
    if own_tenant != tenant:
        raise reader.error("tenant", f"{own_tenant!r} is not yours ({tenant!r})", "Leave the field out.")
    return ToolDefinition(
        name=reader.name("name"),
        namespace=reader.name("namespace", namespace),
        tenant=tenant,
        title=reader.text("title"),
        description=reader.text("description", MAX_DESCRIPTION_BYTES),
        input_schema=_with_object_root(reader.schema("input_schema")),
        output_schema=reader.schema("output_schema"),
        tags=reader.texts("tags"),
        example_queries=reader.texts("example_queries"),
        publisher=reader.text("publisher"),
        trust=cast(TrustTier, reader.choice("trust", get_args(TrustTier), "community")),
        annotations=reader.annotations(),
        executor=reader.executor(executors, executor or ToolExecutor()),
        return_direct=reader.flag("return_direct"),
        pinned=reader.flag("pinned"),
        version=_version(record.get("version"), reader),
        repeatable=reader.flag("repeatable") if record.get("repeatable") is not None else None,
        completion=reader.completion(),
    )


def judge(definition: ToolDefinition) -> InvalidToolError | None:
    """Why a definition that can be held must stay in quarantine, or None. Under 100 ms for hostile input."""
    problem = schema_problem(definition.input_schema, "input_schema")
    if problem is None and definition.output_schema is not None:
        problem = schema_problem(definition.output_schema, "output_schema")
    if problem is None:
        problem = _text_problem(definition)
    if problem is not None:
        problem.tool = str(definition.key)
    return problem


def _text_problem(definition: ToolDefinition) -> InvalidToolError | None:
    """Bounds and invisible characters of what a model would read, the texts in the schemas included."""
    if not 0 < len(definition.name) <= MAX_NAME_LENGTH:
        return InvalidToolError("name", f"must have 1 to {MAX_NAME_LENGTH} characters")
    if len(definition.description) > MAX_DESCRIPTION_BYTES:
        return InvalidToolError("description", f"is longer than {MAX_DESCRIPTION_BYTES:,} bytes", fix="Shorten it.")
    if _is_plain(definition.encoded):
        return None
    read = {
        "name": [definition.name],
        "namespace": [definition.namespace],
        "title": [definition.title],
        "description": [definition.description],
        "tags": definition.tags,
        "example_queries": definition.example_queries,
        "input_schema": _strings(definition.input_schema),
        "output_schema": _strings(definition.output_schema or {}),
    }
    for field, texts in read.items():
        for text in texts:
            if found := _INVISIBLE.search(text):
                return InvalidToolError(
                    field, f"{_named_character(found.group())} (in {_cut(text, 60)!a})", fix="Remove the character."
                )
    return None


def _is_plain(data: bytes) -> bool:
    """Whether JSON text surely has no invisible character: those of ASCII are escaped, or DEL."""
    return not _ESCAPED.search(data) and not (
        _MAY_HIDE.search(data.decode()) if not data.isascii() else b"\x7f" in data
    )


def _strings(schema: Mapping[str, Any]) -> list[str]:
    """Every string of a schema that passed the size check, keys among them."""
    if _is_plain(orjson.dumps(schema)):
        return []
    found: list[str] = []
    stack: list[Any] = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            found.extend(cast(Mapping[str, Any], value))
            stack.extend(cast(Mapping[str, Any], value).values())
        elif isinstance(value, list | tuple):
            stack.extend(cast(list[Any], value))
    return found


class _Reader:
    """Reads the fields of one raw tool, each with its type, its bounds and its error."""

    def __init__(self, raw: Mapping[str, Any], place: str) -> None:
        self._place = place
        self._raw = raw
        self.record = to_record(raw, self.error)

    def error(self, field: str, reason: str, fix: str = "") -> InvalidToolError:
        name = self._raw.get("name")
        tool = _cut(name, 80) if isinstance(name, str) and not _INVISIBLE.search(name) else ""
        return InvalidToolError(field, reason, fix=fix, tool=": ".join(part for part in (self._place, tool) if part))

    def check_held(self) -> None:
        """Whether the store could give it back as it came. Raises: InvalidToolError."""
        description = self.record.get("description")
        if isinstance(description, str):
            self._check_length("description", description, MAX_DESCRIPTION_BYTES)
        if small_text(self.record) is not None:
            return
        for name, value in self._values():
            if isinstance(value, float) and not math.isfinite(value):
                raise self.error(name, f"{value} is not a JSON number", "Leave it out, or write a finite number.")
        for name, value in self.record.items():
            try:
                size = len(orjson.dumps(value))
            except (TypeError, ValueError) as error:
                raise self.error(name, f"is no JSON value: {_cut(str(error))}", "Use JSON values only.") from error
            if size > MAX_DEFINITION_BYTES:
                raise self.error(
                    name, f"is {size:,} bytes long; at most {MAX_DEFINITION_BYTES:,} are taken", "Shorten it."
                )

    def _values(self) -> Iterator[tuple[str, object]]:
        """Every value of the record with the field it stands in. Raises: InvalidToolError past the bounds."""
        values, stack = 0, [(name, value, 0) for name, value in self.record.items()]
        while stack:
            name, value, depth = stack.pop()
            values += 1
            if depth > 200 or values > 5 * MAX_SCHEMA_VALUES:
                raise self.error(name, "is nested too deeply or too large to be held", "Flatten or shorten it.")
            yield name, value
            if isinstance(value, str):
                continue
            if isinstance(value, dict | Mapping):
                stack.extend((name, inner, depth + 1) for inner in cast(Mapping[str, Any], value).values())
            elif isinstance(value, list | tuple):
                stack.extend((name, inner, depth + 1) for inner in cast(list[Any], value))

    def name(self, field: str, default: str | None = None) -> str:
        value = self.record.get(field)
        if value in (None, "") and default is not None:
            return default
        if value is None:
            raise self.error(field, "is missing", f"Give the tool a {field}.")
        text = self._string(field, value).strip()
        if len(text) > MAX_NAME_LENGTH:
            raise self.error(field, f"is {len(text):,} characters long; at most {MAX_NAME_LENGTH} are taken")
        if found := _LINE_BREAKING.search(text):
            raise self.error(field, _named_character(found.group()), "Remove the character.")
        if not text:
            raise self.error(field, "is empty", f"Give the tool a {field}.")
        return text

    def text(self, field: str, limit: int = 4 * MAX_LISTED_LENGTH) -> str:
        value = self.record.get(field)
        if value is None:
            return ""
        text = self._string(field, value)
        self._check_length(field, text, limit)
        return text

    def texts(self, field: str) -> tuple[str, ...]:
        return self._texts(field, self.record.get(field))

    def _texts(self, field: str, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.error(field, f"must be a list of texts, not {_kind(value)}", f'Write "{field}": ["…"].')
        items = cast(list[object], value)
        if len(items) > MAX_LISTED:
            raise self.error(field, f"holds {len(items):,} texts; at most {MAX_LISTED} are taken")
        texts = [self._string(f"{field}[{i}]", item) for i, item in enumerate(items)]
        for i, text in enumerate(texts):
            self._check_length(f"{field}[{i}]", text, MAX_LISTED_LENGTH)
        return tuple(texts)

    def flag(self, field: str) -> bool:
        value = self.record.get(field, False)
        if not isinstance(value, bool):
            raise self.error(field, f"must be true or false, not {_kind(value)}")
        return value

    def choice(self, field: str, choices: tuple[str, ...], default: str) -> str:
        value = self.record.get(field, default)
        if value not in choices:
            raise self.error(field, f"must be one of {', '.join(choices)}", "")
        return cast(str, value)

    def schema(self, field: str) -> dict[str, Any] | None:
        value = self.record.get(field)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(
                field, f"must be a JSON Schema object, not {_kind(value)}", 'Start with {"type": "object"}.'
            )
        return with_json_types(cast(Mapping[str, Any], value))

    def annotations(self) -> ToolAnnotations:
        value = self._object("annotations")
        hints = ("read_only", "destructive", "idempotent", "open_world")
        for name, hint in value.items():
            if name not in hints:
                continue  # MCP lets a server add hints of its own, and all of them are untrusted
            if hint is not None and not isinstance(hint, bool):
                raise self.error(f"annotations.{name}", f"must be true or false, not {_kind(hint)}")
        return ToolAnnotations(**{name: value[name] for name in hints if name in value})

    def completion(self) -> CompletionKeys | None:
        value = self._object("completion")
        if not value:
            return None
        if unknown := sorted(set(value) - {"arguments", "everything"}):
            raise self.error(f"completion.{unknown[0]}", "is no field of it", "Known fields: arguments, everything.")
        arguments = self._texts("completion.arguments", value.get("arguments"))
        if not arguments:
            raise self.error("completion.arguments", "names no argument", "Name those that say what a call is about.")
        taken = self._object("input_schema").get("properties")
        for name in arguments if isinstance(taken, Mapping) else ():
            if name not in cast(Mapping[str, Any], taken):
                raise self.error("completion.arguments", f"{name!r} is no argument of the tool", "Name one of its own.")
        if value.get("everything") is None:
            return CompletionKeys(arguments)
        everything = self._texts("completion.everything", value["everything"])
        return CompletionKeys(arguments, frozenset(text.casefold() for text in everything))

    def executor(self, allowed: Collection[ExecutorKind], default: ToolExecutor) -> ToolExecutor:
        value = self._object("executor")
        if not value:
            return default
        if unknown := sorted(set(value) - {"kind", "config"}):
            raise self.error(f"executor.{unknown[0]}", "is no field of an executor", "Known fields: kind, config.")
        kind = value.get("kind", "client")
        if kind not in get_args(ExecutorKind):
            raise self.error("executor.kind", f"must be one of {', '.join(get_args(ExecutorKind))}")
        if kind not in allowed:
            raise self.error(
                "executor.kind",
                f"{kind!r} cannot be set from here: such a tool is registered by the source that runs it",
                f"Use one of {', '.join(sorted(allowed))}, or leave the field out.",
            )
        config = value.get("config", {})
        if not isinstance(config, Mapping):
            raise self.error("executor.config", f"must be an object, not {_kind(config)}")
        return ToolExecutor(kind=cast(ExecutorKind, kind), config=dict(cast(Mapping[str, Any], config)))

    def _object(self, field: str) -> Mapping[str, Any]:
        value = self.record.get(field)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.error(field, f"must be an object, not {_kind(value)}")
        return cast(Mapping[str, Any], value)

    def _string(self, field: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(field, f"must be a text, not {_kind(value)}")
        if found := _INVISIBLE.search(value):
            raise self.error(field, _named_character(found.group()), "Remove the character.")
        return value

    def _check_length(self, field: str, text: str, limit: int) -> None:
        size = len(text) if len(text) > limit else len(text.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise self.error(field, f"is {size:,} bytes long; at most {limit:,} are taken", "Shorten it.")


def _version(value: object, reader: _Reader) -> str:
    """A version may be written as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else reader.text("version")


def _with_object_root(schema: dict[str, Any] | None) -> Mapping[str, Any]:
    """A root without a type takes arguments all the same, and arguments are an object."""
    if not schema:
        return EMPTY_SCHEMA
    return schema if "type" in schema else {"type": "object", **schema}


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return type(value).__name__


def _named_character(character: str) -> str:
    code = ord(character[0])
    return (
        f"contains U+{code:04X} ({unicodedata.name(character[0], 'control character').lower()}), which no reader sees"
    )


def _cut(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
