"""Arguments a model wrote, checked against a tool's schema; what is wrong is said in words the model can act on."""

import difflib
import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from indexer.definition import JsonObject
from indexer.errors import cut
from indexer.schema_check import compiled
from indexer.subschemas import UnfoldedWeights

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

MAX_ARGUMENT_DEPTH: Final = 100
MAX_PROBLEMS: Final = 5

_CHECKABLE: Final = 2_000_000
"""Subschema evaluations a check may cost; one takes about 30 ns."""
_EXPLAINABLE: Final = 2_000
"""Subschema evaluations an explanation may cost; one takes up to 60 µs."""


def arguments_problem(schema: JsonObject, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with a call's arguments, written for the model that made it, or None.

    Names each argument and what was expected of it. Costs a bounded time whatever the schema and the arguments.
    Raises: InvalidToolError for a schema that cannot be compiled (such a tool is in quarantine).
    """
    values, depth = _extent(arguments)
    if depth > MAX_ARGUMENT_DEPTH:
        return f"The arguments are nested deeper than {MAX_ARGUMENT_DEPTH} levels. Send a flatter value."
    if half := _half_character(arguments):
        return f"{half} half of a character (an unpaired surrogate). Send the whole character, or leave it out."
    check = _CHECKS.get(schema)
    cost = check.weights.of(check.schema, depth) * values
    if cost > _CHECKABLE:
        return _sentence(_surface_problems(schema, arguments))
    if check.validator.is_valid(arguments):
        return None
    if cost > _EXPLAINABLE:
        return _sentence(_surface_problems(schema, arguments)) or _culprits(check.validator, arguments)
    errors = [error for error, _ in zip(check.validator.iter_errors(arguments), range(MAX_PROBLEMS), strict=False)]
    return _sentence(text for error in errors for text in _explained(error, schema))


class _Check:
    __slots__ = ("schema", "validator", "weights")

    def __init__(self, schema: JsonObject, validator: "Validator") -> None:
        self.schema = schema
        self.validator = validator
        self.weights = UnfoldedWeights(schema)


class _Checks:
    """Compiled validators by the bytes of their schema, the longest unused ones dropped."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[bytes, _Check] = OrderedDict()
        self._lock = Lock()

    def get(self, schema: JsonObject) -> _Check:
        key = orjson.dumps(schema)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        check = _Check(orjson.loads(key), compiled(schema))
        with self._lock:
            self._kept[key] = check
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return check


_CHECKS: Final = _Checks(512)


def _extent(arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Number of JSON values and of nested levels, the count of levels stopping past the limit."""
    values, depth, level = 0, -1, cast(list[Any], [arguments])
    while level and depth <= MAX_ARGUMENT_DEPTH:
        values += len(level)
        depth += 1
        level = [inner for value in level for inner in _inner(value)]
    return values, depth


def _inner(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value).values()
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def _half_character(arguments: Mapping[str, Any]) -> str:
    """The start of a sentence about the argument whose text no encoding can carry; empty where there is none."""
    for name, value in arguments.items():
        try:
            json.dumps([name, value], ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            return f"Argument {name!a} holds"
    return ""


def _sentence(problems: Iterable[str]) -> str | None:
    distinct = list(dict.fromkeys(problems))[:MAX_PROBLEMS]
    return " ".join(distinct) or None


def _surface_problems(schema: JsonObject, arguments: Mapping[str, Any]) -> list[str]:
    """The top level alone: what is missing, unknown, or of another type."""
    properties = cast(Mapping[str, Any], schema.get("properties") or {})
    problems = [_missing(str(name)) for name in schema.get("required", ()) if name not in arguments]
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        problems += [_unknown(name, properties) for name in arguments if name not in properties]
    for name, value in arguments.items():
        declared = properties.get(name)
        kind = cast(Mapping[str, Any], declared).get("type") if isinstance(declared, Mapping) else None
        if isinstance(kind, str) and not _has_type(value, kind):
            problems.append(f"Argument '{name}' must be {_article(kind)}, but got {_shown(value)}.")
    return problems


def _culprits(validator: "Validator", arguments: Mapping[str, Any]) -> str:
    """Which arguments, left out one at a time, make the rest valid."""
    names = [
        name
        for name in list(arguments)[:20]
        if validator.is_valid({other: value for other, value in arguments.items() if other != name})
    ]
    subject = f"Argument '{names[0]}' does" if names else "The arguments do"
    return f"{subject} not match the tool's schema. Compare with its parameters."


def _has_type(value: object, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
        case "integer" | "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case _:
            return True


def _explained(error: "ValidationError", schema: JsonObject) -> list[str]:
    path = error.instance_path
    kind = error.kind
    match kind.name:
        case "required":
            return [_missing(_named([*path, str(kind.value)]))]
        case "additionalProperties" | "unevaluatedProperties":
            known = cast(Mapping[str, Any], {} if path else schema.get("properties") or {})
            return [_unknown(_named([*path, str(name)]), known) for name in cast(list[Any], kind.value)]
        case "type":
            expected = " or ".join(_article(name) for name in cast(list[str], kind.as_dict()["types"]))
            return [f"{_subject(path)} must be {expected}, but got {_shown(error.instance)}."]
        case "enum":
            options = cast(list[Any], kind.value)
            shown = ", ".join(_shown(option) for option in options[:20]) + (", …" if len(options) > 20 else "")
            return [f"{_subject(path)} must be one of {shown}, but got {_shown(error.instance)}."]
        case "const":
            return [f"{_subject(path)} must be {_shown(kind.value)}, but got {_shown(error.instance)}."]
        case "anyOf" | "oneOf":
            return [_no_alternative(error, path)]
        case _:
            return [f"{_subject(path)} is not accepted: {_cut(error.message)}."]


def _no_alternative(error: "ValidationError", path: Sequence[str | int]) -> str:
    context = cast("list[list[ValidationError]]", getattr(error.kind, "context", []))
    reasons = [_cut(branch[0].message, 100) for branch in context if branch]
    several = error.kind.name == "oneOf" and not reasons
    said = "matches more than one of its forms" if several else "matches none of its allowed forms"
    return f"{_subject(path)} {said}" + (f" ({'; '.join(reasons[:4])})." if reasons else ".")


def _missing(name: str) -> str:
    return f"Missing required argument '{name}'."


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"Unknown argument '{name}': did you mean '{close[0]}'?"
    listed = ", ".join(list(known)[:20])
    return f"Unknown argument '{name}'." + (f" The tool takes: {listed}." if listed else "")


def _subject(path: Sequence[str | int]) -> str:
    return f"Argument '{_named(path)}'" if path else "The arguments"


def _named(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _article(kind: str) -> str:
    return "null" if kind == "null" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _shown(value: object) -> str:
    try:
        return _cut(orjson.dumps(value, default=str).decode(), 80)
    except TypeError:  # an integer beyond 64 bits
        return _cut(json.dumps(value, default=str), 80)


def _cut(text: str, limit: int = 200) -> str:
    return cut(text.split("\n\n", 1)[0], limit)
