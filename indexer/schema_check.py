"""JSON Schemas from strangers: bounded before any validator sees them, compiled without network or backtracking."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.parse import unquote

import orjson

from indexer.definition import JsonObject
from indexer.errors import InvalidToolError

if TYPE_CHECKING:
    from jsonschema_rs import RegexOptions, ValidationError, Validator

MAX_SCHEMA_BYTES: Final = 256 * 1024
MAX_SCHEMA_DEPTH: Final = 64
"""Nested JSON values, not subschemas: a schema level takes two or three of them."""
MAX_SCHEMA_VALUES: Final = 20_000
MAX_PATTERNS: Final = 200
MAX_PATTERN_LENGTH: Final = 1_000
MAX_REFERENCE_CHAIN: Final = 150
"""Subschemas and references one inside the other, references followed: bounds our own recursion."""
MAX_REFERENCES: Final = 1_000
MAX_UNFOLDED: Final = 10_000
"""Subschemas that apply to one value once references are followed: bounds what `allOf` doubling costs."""

_REGEX_SIZE_LIMIT: Final = 300_000
"""Bytes of one compiled pattern: the largest takes about 0.6 ms to compile."""

_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_MAPS: Final = ("dependentSchemas", "dependencies")
_CHILD: Final = (
    "items", "additionalItems", "unevaluatedItems", "contains",
    "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
)  # fmt: skip
_CHILD_LISTS: Final = ("prefixItems", "items")
_CHILD_MAPS: Final = ("properties", "patternProperties")
_DEFINITIONS: Final = ("$defs", "definitions")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_HOLDS_SCHEMA: Final = frozenset({*_IN_PLACE, *_CHILD})
_HOLDS_LIST: Final = frozenset({*_IN_PLACE_LISTS, *_CHILD_LISTS})
_HOLDS_MAP: Final = frozenset({*_IN_PLACE_MAPS, *_CHILD_MAPS, *_DEFINITIONS})
_DICT: Final[type] = dict
"""By this name a type that is asked for needs no `cast`, which takes as long as the rest of the look at a value."""
_CONTAINERS: Final = frozenset({dict, list, tuple})
_NEEDS_A_LOOK: Final = (b'"$', b'"pattern')
"""How the keywords begin whose values may be wrong though their form is right: references, identities, dialects, and
regular expressions. Texts that begin like them only cost time."""

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]


def schema_problem(schema: JsonObject, field: str) -> InvalidToolError | None:
    """Why a schema cannot be used, or None. Bounded for hostile input: under 100 ms, no network, no recursion.

    `field` is the definition's field that holds it, `input_schema` or `output_schema`.
    """
    try:
        text = small_text(schema)
        if text is None:
            check_size(schema, field)
            text = _serialised(schema, field)
        if field == "input_schema" and schema.get("type") != "object":
            got = schema.get("type")
            raise InvalidToolError(
                f"{field}.type",
                "the arguments of a tool are an object" + (f", not {_short(got)}" if got is not None else ""),
                fix='Set "type": "object" at the root and put the arguments under "properties".',
            )
        if any(start in text for start in _NEEDS_A_LOOK):
            _check_references_and_patterns(schema, field)
        elif _is_valid(schema):
            return None
        _compile(text, field)
    except InvalidToolError as problem:
        return problem
    return None


def small_text(value: JsonObject) -> bytes | None:
    """A value as JSON if a short look shows it to be within every bound of a schema, as nearly all are; else None."""
    if not _is_small(value):
        return None
    try:
        text = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS)
    except (TypeError, ValueError):
        return None
    return text if len(text) <= MAX_SCHEMA_BYTES else None


def _is_small(value: JsonObject) -> bool:
    """Level by level and without places: a fraction of what `check_size` takes, which says where a fault is."""
    level: list[Any] = [value]
    values = size = 0
    for _ in range(MAX_SCHEMA_DEPTH):
        inner: list[Any] = []
        for container in level:
            # Parts may be shared: what is small as objects can be without end as text, so it is bounded first.
            values += len(container)
            if values > MAX_SCHEMA_VALUES:
                return False
            inner += container.values() if type(container) is _DICT else container
        level = []
        for part in inner:
            if type(part) is str:
                size += len(part)
            elif type(part) in _CONTAINERS:
                level.append(part)
            elif type(part) is float and not math.isfinite(part):
                return False
        if size > MAX_SCHEMA_BYTES or not level:
            return size <= MAX_SCHEMA_BYTES
    return False


def check_size(schema: JsonObject, field: str) -> None:
    """Bound a schema's depth and size by a walk of its own. Raises: InvalidToolError."""
    values, size = 0, 0
    stack: list[tuple[Any, Path]] = [(schema, ())]
    while stack:
        value, path = stack.pop()
        values += 1
        if len(path) > MAX_SCHEMA_DEPTH:
            raise InvalidToolError(
                field,
                f"nested deeper than {MAX_SCHEMA_DEPTH} levels (at {_dotted('', path[:6])}…)",
                fix="Flatten it, or describe the inner part in words.",
            )
        if values > MAX_SCHEMA_VALUES or size > MAX_SCHEMA_BYTES:
            raise InvalidToolError(
                field,
                f"larger than {MAX_SCHEMA_VALUES:,} values or {MAX_SCHEMA_BYTES // 1024} KiB",
                fix="Keep what a caller needs, or split the tool.",
            )
        if isinstance(value, str):
            size += len(value)
        elif _is_object(value):
            for name, inner in cast(Mapping[Any, Any], value).items():
                if not isinstance(name, str):
                    raise InvalidToolError(_dotted(field, path), f"has the key {name!r}, which is no string")
                size += len(name)
                stack.append((inner, (*path, name)))
        elif isinstance(value, list | tuple):
            stack.extend((inner, (*path, i)) for i, inner in enumerate(cast(Sequence[Any], value)))
        else:
            _check_scalar(value, field, path)


def _check_scalar(value: object, field: str, path: Path) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidToolError(
            _dotted(field, path), f"{value} is not a JSON number", fix="Leave it out, or write a finite number."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InvalidToolError(_dotted(field, path), "an integer beyond 64 bits", fix="Write it as a string.")
    if value is not None and not isinstance(value, bool | int | float):
        raise InvalidToolError(_dotted(field, path), f"{type(value).__name__} is no JSON value")


def subschemas(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """Every object that stands where a schema stands, the root first, references not followed."""
    stack: list[tuple[Path, Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not _is_object(node):
            continue
        here = cast(Schema, node)
        yield path, here
        for keyword, value in here.items():
            if keyword in _HOLDS_SCHEMA and _is_object(value):
                stack.append(((*path, keyword), value))
            elif keyword in _HOLDS_LIST and isinstance(value, list | tuple):
                stack.extend(((*path, keyword, i), inner) for i, inner in enumerate(cast(Sequence[Any], value)))
            elif keyword in _HOLDS_MAP and _is_object(value):
                stack.extend(((*path, keyword, name), inner) for name, inner in value.items())


def _is_object(value: object) -> bool:
    return type(value) is dict or isinstance(value, Mapping)


def _listed(schema: Schema, keyword: str) -> Sequence[Any]:
    value = schema.get(keyword)
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def _mapped(schema: Schema, keyword: str) -> Mapping[str, Any]:
    value = schema.get(keyword)
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _check_references_and_patterns(schema: Schema, field: str) -> None:
    patterns = references = 0
    for path, node in subschemas(schema):
        for keyword in _REFERENCES:
            if keyword in node:
                references += 1
                _check_local(node[keyword], _dotted(field, (*path, keyword)))
        if references > MAX_REFERENCES:
            raise InvalidToolError(field, f"holds more than {MAX_REFERENCES:,} references", fix="Split the tool.")
        _check_identity(node, path, field)
        for pattern in (node.get("pattern"), *_mapped(node, "patternProperties")):
            if isinstance(pattern, str):
                patterns += 1
                _check_pattern(pattern, patterns, _dotted(field, path))
    if references:
        _check_unfolded(schema, field)


def _check_identity(node: Schema, path: Path, field: str) -> None:
    identity = node.get("$id")
    if path and isinstance(identity, str) and not identity.startswith("#"):
        raise InvalidToolError(
            _dotted(field, (*path, "$id")),
            "a schema inside a schema may not have an identity of its own",
            fix='Remove "$id" and refer to it by its place, "#/$defs/NAME".',
        )


def _check_unfolded(schema: Schema, field: str) -> None:
    weights = UnfoldedWeights(schema)
    for path, node in subschemas(schema):
        if weights.of(node, 0) > MAX_UNFOLDED:
            raise InvalidToolError(
                _dotted(field, path),
                f"unfolds to more than {MAX_UNFOLDED:,} subschemas for one value",
                fix="Remove references that repeat one another.",
            )


def _check_local(reference: object, where: str) -> None:
    if isinstance(reference, str) and not reference.startswith("#"):
        raise InvalidToolError(
            where,
            f"{_short(reference)} points outside the schema, and nothing is fetched",
            fix='Copy the schema under "$defs" and refer to it as "#/$defs/NAME".',
        )


def _check_pattern(pattern: str, count: int, where: str) -> None:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidToolError(f"{where}.pattern", f"longer than {MAX_PATTERN_LENGTH:,} characters")
    if count > MAX_PATTERNS:
        raise InvalidToolError(f"{where}.pattern", f"is one of more than {MAX_PATTERNS} patterns")


class UnfoldedWeights:
    """How many subschemas apply along one path of a value, references followed and cycles cut."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}
        self._anchors: dict[str, Schema] = {}
        for _, node in subschemas(root):
            for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
                if isinstance(node.get(keyword), str):
                    self._anchors.setdefault(node[keyword].removeprefix("#"), node)

    def of(self, node: object, levels: int, chain: int = 0) -> int:
        """The number of subschemas that apply to a value of `levels` nested levels, at most `MAX_UNFOLDED` squared."""
        if not isinstance(node, Mapping):
            return 1
        schema = cast(Schema, node)
        key = (id(schema), levels)
        if key in self._known:
            return self._known[key]
        if chain > MAX_REFERENCE_CHAIN:
            return MAX_UNFOLDED**2
        self._known[key] = 0  # a cycle met while this is being counted adds nothing
        total = 1
        for inner in self._in_place(schema):
            total += self.of(inner, levels, chain + 1)
        if levels:
            total += self._children(schema, levels - 1, chain + 1)
        self._known[key] = min(total, MAX_UNFOLDED**2)
        return self._known[key]

    def _in_place(self, schema: Schema) -> list[object]:
        inner: list[object] = [schema[keyword] for keyword in _IN_PLACE if keyword in schema]
        for keyword in _IN_PLACE_LISTS:
            inner.extend(_listed(schema, keyword))
        for keyword in _IN_PLACE_MAPS:
            inner.extend(_mapped(schema, keyword).values())
        inner.extend(self._target(schema[keyword]) for keyword in _REFERENCES if isinstance(schema.get(keyword), str))
        return inner

    def _children(self, schema: Schema, levels: int, chain: int) -> int:
        """The heaviest named or placed child, and every rule that may apply to any child."""
        total = 0
        for group in (_mapped(schema, "properties").values(), *(_listed(schema, key) for key in _CHILD_LISTS)):
            heaviest = 0
            for inner in group:
                heaviest = max(heaviest, self.of(inner, levels, chain))
            total += heaviest
        for inner in (
            *(schema[keyword] for keyword in _CHILD if keyword in schema),
            *_mapped(schema, "patternProperties").values(),
        ):
            total += self.of(inner, levels, chain)
        return total

    def _target(self, reference: str) -> object:
        pointer = unquote(reference.removeprefix("#"))
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        node: Any = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping):
                node = cast(Mapping[str, Any], node).get(name)
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(cast(list[Any], node)):
                node = cast(list[Any], node)[int(name)]
            else:
                return None
        return node


def _is_valid(schema: Schema) -> bool:
    """Whether a schema has the form of one: all there is to ask where nothing `_NEEDS_A_LOOK`.

    A ninth of the time of compiling it, which finds the same (tests/indexer/test_schema_check.py).
    """
    import jsonschema_rs

    try:
        return jsonschema_rs.meta.is_valid(cast(dict[str, Any], schema))
    except (ValueError, TypeError):  # no plain JSON: compiling says what is wrong
        return False


def _serialised(schema: Schema, field: str) -> bytes:
    try:
        return orjson.dumps(schema)
    except (TypeError, ValueError) as error:
        raise InvalidToolError(field, f"is no JSON value: {_short(str(error))}", fix="Use JSON values only.") from error


def _compile(text: bytes, field: str) -> "Validator":
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            text.decode(), pattern_options=regex_options(), retriever=_nothing_is_fetched
        )
    except jsonschema_rs.ValidationError as error:
        raise _as_invalid_tool(error, field) from error
    except (ValueError, TypeError) as error:
        raise InvalidToolError(field, f"cannot be read as a JSON Schema: {_short(str(error))}") from error


def compiled(schema: JsonObject) -> "Validator":
    """A validator of a schema that `schema_problem` let pass. Raises: InvalidToolError for one that it would not."""
    return _compile(_serialised(schema, "input_schema"), "input_schema")


def regex_options() -> "RegexOptions":
    """Linear-time matching only, with a bound on what one pattern may compile to."""
    import jsonschema_rs

    return jsonschema_rs.RegexOptions(size_limit=_REGEX_SIZE_LIMIT)


def _nothing_is_fetched(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


_UNKNOWN_DIALECT = re.compile(r"Unknown meta-schema: '([^']*)'")


def _as_invalid_tool(error: "ValidationError", field: str) -> InvalidToolError:
    first_line = str(error.message).split("\n", 1)[0]
    where = _dotted(field, tuple(error.instance_path))
    if dialect := _UNKNOWN_DIALECT.search(first_line):
        return InvalidToolError(
            f"{field}.$schema",
            f"{_short(dialect.group(1))} is no dialect that is known here",
            fix='Remove "$schema" (JSON Schema 2020-12 is assumed) or name draft 4, 6, 7, 2019-09 or 2020-12.',
        )
    if first_line.endswith('is not a "regex"'):
        return InvalidToolError(
            where,
            f"{_short(error.instance)} is not a regular expression that runs in linear time and bounded memory",
            fix="Remove look-around, back-references and long counted repetitions, or describe the form in words.",
        )
    if "Pointer '" in first_line or "does not exist" in first_line:
        return InvalidToolError(
            field, f"a reference leads nowhere: {_short(first_line)}", fix='Define its target under "$defs".'
        )
    return InvalidToolError(
        where, f"is not a valid JSON Schema: {_short(first_line)}", fix="See json-schema.org/draft/2020-12."
    )


def _dotted(field: str, path: Path) -> str:
    text = field
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text if len(text) <= 200 else text[:100] + "…" + text[-90:]


def _short(value: object, limit: int = 120) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return repr(text) if isinstance(value, str) and " " not in text else text
