"""Plausible arguments for a tool, from its JSON Schema and the words of a request."""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]
Fits: TypeAlias = Callable[[Schema, object], bool]
"""Whether a value satisfies a schema; where nothing can tell, everything does."""

_MAX_DEPTH: Final = 6
_QUOTED: Final = re.compile(r"\"([^\"]+)\"|'([^']+)'|“([^”]+)”|‘([^’]+)’|「([^」]+)」|`([^`]+)`")
_WORD: Final = re.compile(r"[^\s,;:!?\"'“”‘’「」`()]+")
_NUMBER: Final = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
_URL: Final = re.compile(r"https?://[^\s\"'<>]+")
_WHOLE_REQUEST: Final = ("query", "text", "message", "prompt", "question", "content", "body", "keywords", "description")
_BY_NAME: Final = (
    (re.compile(r"arn$"), "arn:aws:iam::123456789012:role/example"),
    (re.compile(r"ur[il]$|link$|webhook"), "https://example.com/"),
    (re.compile(r"e?mail"), "user@example.com"),
    (re.compile(r"date|time|start|end$|since|until|before|after"), "2026-01-15T09:00:00Z"),
    (re.compile(r"phone|mobile"), "+15555550100"),
    (re.compile(r"language|locale"), "en"),
    (re.compile(r"currency"), "USD"),
    (re.compile(r"country"), "US"),
)
"""Examples of what a parameter's name promises, where neither the request nor the schema says more."""
_FILLERS: Final = ("a", "example", "Example1", "example-1", "id-0123456789abcdef", "0123456789ab", "1", "/example", "*")
"""Tried in turn where a schema asks for a form of text that no word of the request has."""


def example_arguments(schema: Schema, request: str, *, fits: Fits | None = None) -> dict[str, Any]:
    """An object with the required properties of a schema, filled from the request where it has something to give."""
    value = _Filler(schema, request, fits or (lambda _schema, _value: True)).value(schema, "", 0)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class _Filler:
    """Fills one object; every quoted text of the request is used once."""

    def __init__(self, root: Schema, request: str, fits: Fits) -> None:
        self._root = root
        self._request = request
        self._fits = fits
        self._quoted = ["".join(groups) for groups in _QUOTED.findall(request)]
        self._words = [word.rstrip(".") for word in _WORD.findall(request)]
        self._numbers = _NUMBER.findall(request)

    def value(self, schema: Schema, name: str, depth: int) -> object:
        schema = self._plain(schema)
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return self._option(cast("Sequence[object]", options), schema)
        kind = _type_of(schema)
        if kind == "object":
            return self._object(schema, depth)
        if "default" in schema:
            return schema["default"]
        if kind == "array":
            items = schema.get("items")
            count = max(1, int(schema.get("minItems", 1)))
            item = cast("Schema", items) if isinstance(items, Mapping) else {"type": "string"}
            return [self.value(item, name, depth + 1) for _ in range(count)] if depth < _MAX_DEPTH else []
        if kind in ("integer", "number"):
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return False
        return None if kind == "null" else self._text(schema, name)

    def _plain(self, schema: Schema) -> Schema:
        """The schema with its reference followed and its first usable branch taken."""
        for _ in range(_MAX_DEPTH):
            if isinstance(reference := schema.get("$ref"), str):
                schema = _follow(self._root, reference)
                continue
            branches = cast("list[Schema]", schema.get("anyOf") or schema.get("oneOf") or [])
            if branches:
                rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
                schema = {**rest, **next((one for one in branches if one.get("type") != "null"), branches[0])}
                continue
            if parts := cast("list[Schema]", schema.get("allOf") or []):
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                schema = _merged([rest, *(self._plain(part) for part in parts)])
                continue
            break
        return schema

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties = cast("Mapping[str, Schema]", schema.get("properties") or {})
        if depth >= _MAX_DEPTH:
            return {}
        return {
            name: self.value(properties.get(name, {}), name, depth + 1)
            for name in cast("Sequence[str]", schema.get("required") or ())
        }

    def _option(self, options: Sequence[object], schema: Schema) -> object:
        """The option that the request names, else the default, else the first."""
        said = self._request.casefold()
        named = (one for one in options if isinstance(one, str) and one and one.casefold() in said)
        return next(named, schema.get("default", options[0]))

    def _number(self, schema: Schema, *, whole: bool) -> float | int:
        for text in self._numbers:
            number = float(text)
            if _within(number, schema) and (number.is_integer() or not whole):
                self._numbers.remove(text)
                return int(number) if whole or "." not in text else number
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in schema else 1)
        high = schema.get("maximum", low)
        number = low if _within(low, schema) else high
        return int(number) if whole else number

    def _text(self, schema: Schema, name: str) -> str:
        candidates = list(dict.fromkeys(self._texts(schema, name)))
        chosen = next((one for one in candidates if self._fits(schema, one)), candidates[0])
        if chosen in self._quoted:
            self._quoted.remove(chosen)
        return chosen

    def _texts(self, schema: Schema, name: str) -> Iterator[str]:
        """Candidates, best first, each cut or padded to the lengths that the schema allows."""
        if formatted := self._formatted(str(schema.get("format", ""))):
            yield formatted
            return
        low, high = int(schema.get("minLength", 0)), schema.get("maxLength")
        for text in (*self._said(name), *self._examples(schema), *_FILLERS, "a" * max(low, 1), "0" * max(low, 1)):
            if text:
                yield text.ljust(low, "x")[: int(high)] if high is not None else text.ljust(low, "x")

    def _said(self, name: str) -> Iterator[str]:
        """What the request may mean for a parameter: a quoted text, what follows its name, a marked word."""
        lowered = name.casefold()
        if not any(hint in lowered for hint in _WHOLE_REQUEST):
            yield from self._quoted
            last = re.split(r"[_\-.]|(?<=[a-z])(?=[A-Z])", name)[-1].casefold()
            for word, following in zip(self._words, self._words[1:], strict=False):
                if word.casefold() in (lowered, last) and following:
                    yield following
            yield from (example for named, example in _BY_NAME if named.search(lowered))
            yield from (word for word in self._words if any(char.isdigit() for char in word))
            yield from (word for word in self._words[1:] if word[:1].isupper())
            yield "example-" + re.sub(r"[^a-z0-9]+", "-", lowered).strip("-")
        yield self._request.strip()

    def _examples(self, schema: Schema) -> Iterator[str]:
        yield from (str(one) for one in cast("Sequence[object]", schema.get("examples") or ()) if isinstance(one, str))

    def _formatted(self, form: str) -> str:
        match form:
            case "date":
                return _found(_DATE, self._request) or "2026-01-15"
            case "date-time":
                return (_found(_DATE, self._request) or "2026-01-15") + "T09:00:00Z"
            case "time":
                return "09:00:00Z"
            case "email":
                return _found(_EMAIL, self._request) or "user@example.com"
            case "uri" | "url":
                return _found(_URL, self._request) or "https://example.com/"
            case "uuid":
                return str(uuid.uuid5(uuid.NAMESPACE_URL, self._request))
            case "ipv4":
                return "192.0.2.1"
            case "hostname":
                return "example.com"
            case "byte":
                return "ZXhhbXBsZQ=="
            case _:
                return ""


def _type_of(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((str(one) for one in cast("list[object]", kind) if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _within(number: float, schema: Schema) -> bool:
    return (
        number >= schema.get("minimum", number)
        and number <= schema.get("maximum", number)
        and ("exclusiveMinimum" not in schema or number > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or number < schema["exclusiveMaximum"])
    )


def _follow(root: Schema, reference: str) -> Schema:
    """The schema behind a local reference; one that leads nowhere allows anything."""
    target: object = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part and isinstance(target, Mapping):
            target = cast("Schema", target).get(part.replace("~1", "/").replace("~0", "~"))
    return cast("Schema", target) if isinstance(target, Mapping) and target is not root else {}


def _merged(parts: Sequence[Schema]) -> dict[str, Any]:
    """The parts of an allOf as one schema: properties and required names add up."""
    merged: dict[str, Any] = {}
    for part in parts:
        properties = {**merged.get("properties", {}), **part.get("properties", {})}
        required = list(dict.fromkeys([*merged.get("required", ()), *part.get("required", ())]))
        merged.update(part)
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = required
    return merged


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""
