"""A labelled stand-in for operations that nothing here can run: plausible results, never passed off as real ones."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from indexer import ToolDefinition

SIMULATION_NOTE: Final = "Simulated by Toolscout: no real system was called and nothing was changed."

_MAX_DEPTH: Final = 6
_MAX_PROPERTIES: Final = 12
_MAX_VALUES: Final = 300
"""Of one result: a schema that refers to itself would grow without end."""
_MOMENT: Final = "2026-01-15T09:30:00Z"

_STRINGS_BY_FORMAT: Final = {
    "date-time": _MOMENT,
    "timestamp": _MOMENT,
    "date": _MOMENT[:10],
    "time": _MOMENT[11:],
    "email": "user@example.com",
    "uri": "https://example.com/resource",
    "url": "https://example.com/resource",
    "hostname": "host.example.com",
    "ipv4": "192.0.2.10",
    "ipv6": "2001:db8::10",
}


def simulate(definition: ToolDefinition, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A result in the shape of the output schema, the same for the same call, with a mark that says what it is.

    Where an output field has the name of an argument, the argument's value is repeated.
    """
    canonical = json.dumps([*definition.key, dict(arguments)], sort_keys=True, ensure_ascii=False, default=str)
    seed = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
    schema = definition.output_schema
    result: Any = {"status": "succeeded"} if schema is None else _Sampler(schema, arguments, seed).sample(schema)
    return {"simulated": True, "note": SIMULATION_NOTE, "tool": str(definition.key), "result": result}


class _Sampler:
    """Draws one example of a schema, with fixed choices taken from a seed."""

    def __init__(self, root: Mapping[str, Any], arguments: Mapping[str, Any], seed: str) -> None:
        self._root = root
        self._arguments = {_folded(name): value for name, value in arguments.items()}
        self._seed = seed
        self._values_left = _MAX_VALUES

    def sample(self, schema: object, *, name: str = "", depth: int = 0) -> object:
        self._values_left -= 1
        schema = self._resolved(schema)
        for fixed in ("const", "default", "example"):
            if fixed in schema:
                return schema[fixed]
        for choices in ("examples", "enum"):
            found: object = schema.get(choices)
            if isinstance(found, list) and found:
                options = cast("list[object]", found)
                known = self._arguments.get(_folded(name))
                return known if known in options else options[0]
        return self._of_kind(schema, name, depth)

    def _of_kind(self, schema: Mapping[str, Any], name: str, depth: int) -> object:
        kind = _kind_of(schema)
        known = self._arguments.get(_folded(name))
        if name and _is_kind(known, kind):
            return known
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            # Ends before objects do, so that what is cut off is a list and not an object without its fields.
            ends = depth >= _MAX_DEPTH - 1 or self._values_left <= 0
            return [] if ends else [self.sample(schema.get("items"), name=name, depth=depth + 1)]
        if kind == "string":
            return self._string(schema, name)
        if kind in ("integer", "number"):
            return self._number(schema, name, kind)
        return True if kind == "boolean" else None

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or self._values_left <= 0:
            return {}
        required = schema.get("required")
        wanted = cast("Sequence[str]", required) if isinstance(required, list) else ()
        fields = cast("Mapping[str, object]", properties)
        needed = [name for name in wanted if name in fields]
        # Required fields are never cut: without them the object would not fit its own schema.
        room = max(0, _MAX_PROPERTIES - len(needed)) if depth < _MAX_DEPTH else 0
        more = [name for name in fields if name not in wanted][:room]
        return {name: self.sample(fields[name], name=name, depth=depth + 1) for name in (*needed, *more)}

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        by_format = _STRINGS_BY_FORMAT.get(str(schema.get("format", "")).lower())
        if by_format is not None:
            return by_format
        words = _folded(name)
        if words.endswith(("id", "arn", "token", "key", "etag")):
            return f"sim-{self._digits(name, 12)}"
        text = f"simulated {name}".strip()
        longest = schema.get("maxLength")
        return text[:longest] if isinstance(longest, int) and longest >= 0 else text

    def _number(self, schema: Mapping[str, Any], name: str, kind: str) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        number = 1 + int(self._digits(name, 4), 16) % 100
        if isinstance(low, int | float):
            number = max(number, int(low) + 1)
        if isinstance(high, int | float) and number > high:
            number = int(high)
        return number if kind == "integer" else float(number)

    def _resolved(self, schema: object) -> Mapping[str, Any]:
        """The schema behind local references and the first alternative of a choice; `{}` for what cannot be read."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping):
                return {}
            known = cast("Mapping[str, Any]", schema)
            reference = known.get("$ref")
            if isinstance(reference, str):
                schema = self._referenced(reference)
                continue
            alternatives = next((known[key] for key in ("anyOf", "oneOf", "allOf") if known.get(key)), None)
            if not isinstance(alternatives, list) or "properties" in known:
                return known
            schema = cast("list[object]", alternatives)[0]
        return {}

    def _referenced(self, reference: str) -> object:
        target: object = self._root
        for step in reference.removeprefix("#/").split("/"):
            if not isinstance(target, Mapping):
                return {}
            target = cast("Mapping[str, object]", target).get(step.replace("~1", "/").replace("~0", "~"), {})
        return target

    def _digits(self, name: str, length: int) -> str:
        return hashlib.sha256(f"{self._seed}/{name}".encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _folded(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _kind_of(schema: Mapping[str, Any]) -> str:
    kind: object = schema.get("type")
    if isinstance(kind, list):
        kind = next((entry for entry in cast("list[object]", kind) if entry != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


_PYTHON_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def _is_kind(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    wanted = _PYTHON_KINDS.get(kind)
    return wanted is not None and isinstance(value, wanted)
