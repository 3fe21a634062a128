"""The fields of one raw tool, each read with its type, its bounds and its error."""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, cast, get_args

import orjson

from indexer.definition import CompletionKeys, ExecutorKind, ToolAnnotations, ToolExecutor
from indexer.errors import InvalidToolError, cut
from indexer.invisible import INVISIBLE, LINE_BREAKING, is_plain, named_character
from indexer.json_shapes import may_need_mending, to_record, with_json_types
from indexer.schema_size import MAX_SCHEMA_VALUES, small_text

MAX_NAME_LENGTH: Final = 256
MAX_DESCRIPTION_BYTES: Final = 64 * 1024
MAX_DEFINITION_BYTES: Final = 1024 * 1024
MAX_LISTED: Final = 100
"""Tags, and example queries, of one tool."""
MAX_LISTED_LENGTH: Final = 1_000


class FieldReader:
    """Reads the fields of one raw tool, each with its type, its bounds and its error."""

    def __init__(self, raw: Mapping[str, Any], place: str) -> None:
        self._place = place
        self._raw = raw
        self._as_written = False
        """Whether its schemas have none of the habits that `with_json_types` mends."""
        self._is_plain = False
        """Whether it surely has no invisible character."""
        self.record = to_record(raw, self.error)

    def error(self, field: str, reason: str, fix: str = "") -> InvalidToolError:
        """The error of a field, with the place and the tool it stands in."""
        name = self._raw.get("name")
        tool = cut(name, 80) if isinstance(name, str) and not INVISIBLE.search(name) else ""
        return InvalidToolError(field, reason, fix=fix, tool=": ".join(part for part in (self._place, tool) if part))

    def check_held(self) -> None:
        """Whether the store could give it back as it came. Raises: InvalidToolError."""
        description = self.record.get("description")
        if isinstance(description, str):
            self._check_length("description", description, MAX_DESCRIPTION_BYTES)
        if (text := small_text(self.record)) is not None:
            self._as_written, self._is_plain = not may_need_mending(text), is_plain(text)
            return
        for name, value in self._values():
            if isinstance(value, float) and not math.isfinite(value):
                raise self.error(name, f"{value} is not a JSON number", "Leave it out, or write a finite number.")
        for name, value in self.record.items():
            try:
                size = len(orjson.dumps(value))
            except (TypeError, ValueError) as error:
                raise self.error(name, f"is no JSON value: {cut(str(error))}", "Use JSON values only.") from error
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
        """A text of one line that is not empty; `default` where it is missing. Raises: InvalidToolError."""
        value = self.record.get(field)
        if value in (None, "") and default is not None:
            return default
        if value is None:
            raise self.error(field, "is missing", f"Give the tool a {field}.")
        text = self._string(field, value).strip()
        if len(text) > MAX_NAME_LENGTH:
            raise self.error(field, f"is {len(text):,} characters long; at most {MAX_NAME_LENGTH} are taken")
        if found := LINE_BREAKING.search(text):
            raise self.error(field, named_character(found.group()), "Remove the character.")
        if not text:
            raise self.error(field, "is empty", f"Give the tool a {field}.")
        return text

    def text(self, field: str, limit: int = 4 * MAX_LISTED_LENGTH) -> str:
        """A text of at most `limit` bytes, empty where it is missing. Raises: InvalidToolError."""
        value = self.record.get(field)
        if value is None:
            return ""
        text = self._string(field, value)
        self._check_length(field, text, limit)
        return text

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of texts. Raises: InvalidToolError."""
        return self._texts(field, self.record.get(field))

    def _texts(self, field: str, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.error(field, f"must be a list of texts, not {kind_of(value)}", f'Write "{field}": ["…"].')
        items = cast(list[object], value)
        if len(items) > MAX_LISTED:
            raise self.error(field, f"holds {len(items):,} texts; at most {MAX_LISTED} are taken")
        texts = [self._string(f"{field}[{i}]", item) for i, item in enumerate(items)]
        for i, text in enumerate(texts):
            self._check_length(f"{field}[{i}]", text, MAX_LISTED_LENGTH)
        return tuple(texts)

    def flag(self, field: str) -> bool:
        """True or false, false where it is missing. Raises: InvalidToolError."""
        value = self.record.get(field, False)
        if not isinstance(value, bool):
            raise self.error(field, f"must be true or false, not {kind_of(value)}")
        return value

    def choice(self, field: str, choices: tuple[str, ...], default: str) -> str:
        """One of the choices. Raises: InvalidToolError."""
        value = self.record.get(field, default)
        if value not in choices:
            raise self.error(field, f"must be one of {', '.join(choices)}", "")
        return cast(str, value)

    def schema(self, field: str) -> dict[str, Any] | None:
        """A schema in JSON types, None where it is missing. Raises: InvalidToolError."""
        value = self.record.get(field)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(
                field, f"must be a JSON Schema object, not {kind_of(value)}", 'Start with {"type": "object"}.'
            )
        if self._as_written:  # what is JSON in plain types holds no other mapping
            return cast(dict[str, Any], value)
        return with_json_types(cast(Mapping[str, Any], value))

    def annotations(self) -> ToolAnnotations:
        """The known hints. Raises: InvalidToolError."""
        value = self._object("annotations")
        hints = ("read_only", "destructive", "idempotent", "open_world")
        for name, hint in value.items():
            if name not in hints:
                continue  # MCP lets a server add hints of its own, and all of them are untrusted
            if hint is not None and not isinstance(hint, bool):
                raise self.error(f"annotations.{name}", f"must be true or false, not {kind_of(hint)}")
        return ToolAnnotations(**{name: value[name] for name in hints if name in value})

    def completion(self) -> CompletionKeys | None:
        """What the calls of the tool collect. Raises: InvalidToolError."""
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
        """Who runs the tool, of the `allowed` kinds. Raises: InvalidToolError."""
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
            raise self.error("executor.config", f"must be an object, not {kind_of(config)}")
        return ToolExecutor(kind=cast(ExecutorKind, kind), config=dict(cast(Mapping[str, Any], config)))

    def _object(self, field: str) -> Mapping[str, Any]:
        value = self.record.get(field)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.error(field, f"must be an object, not {kind_of(value)}")
        return cast(Mapping[str, Any], value)

    def _string(self, field: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(field, f"must be a text, not {kind_of(value)}")
        if not self._is_plain and (found := INVISIBLE.search(value)):
            raise self.error(field, named_character(found.group()), "Remove the character.")
        return value

    def _check_length(self, field: str, text: str, limit: int) -> None:
        size = len(text) if len(text) > limit else len(text.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise self.error(field, f"is {size:,} bytes long; at most {limit:,} are taken", "Shorten it.")


def kind_of(value: object) -> str:
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
