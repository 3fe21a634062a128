"""JSON Schemas from strangers: bounded before any validator sees them, compiled without network or backtracking."""

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import orjson

from indexer.definition import JsonObject
from indexer.errors import InvalidToolError, cut
from indexer.schema_size import check_size, small_text
from indexer.subschemas import MAX_UNFOLDED, REFERENCES, Path, Schema, UnfoldedWeights, dotted, mapped, subschemas

if TYPE_CHECKING:
    from jsonschema_rs import RegexOptions, ValidationError, Validator

MAX_PATTERNS: Final = 200
MAX_PATTERN_LENGTH: Final = 1_000
MAX_REFERENCES: Final = 1_000

_REGEX_SIZE_LIMIT: Final = 300_000
"""Bytes of one compiled pattern: the largest takes about 0.6 ms to compile."""

_NEEDS_A_LOOK: Final = (b'"$', b'"pattern')
"""How the keywords begin whose values may be wrong though their form is right: references, identities, dialects, and
regular expressions. Texts that begin like them only cost time."""


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


def _check_references_and_patterns(schema: Schema, field: str) -> None:
    patterns = references = 0
    for path, node in subschemas(schema):
        for keyword in REFERENCES:
            if keyword in node:
                references += 1
                _check_local(node[keyword], dotted(field, (*path, keyword)))
        if references > MAX_REFERENCES:
            raise InvalidToolError(field, f"holds more than {MAX_REFERENCES:,} references", fix="Split the tool.")
        _check_identity(node, path, field)
        for pattern in (node.get("pattern"), *mapped(node, "patternProperties")):
            if isinstance(pattern, str):
                patterns += 1
                _check_pattern(pattern, patterns, dotted(field, path))
    if references:
        _check_unfolded(schema, field)


def _check_identity(node: Schema, path: Path, field: str) -> None:
    identity = node.get("$id")
    if path and isinstance(identity, str) and not identity.startswith("#"):
        raise InvalidToolError(
            dotted(field, (*path, "$id")),
            "a schema inside a schema may not have an identity of its own",
            fix='Remove "$id" and refer to it by its place, "#/$defs/NAME".',
        )


def _check_unfolded(schema: Schema, field: str) -> None:
    weights = UnfoldedWeights(schema)
    for path, node in subschemas(schema):
        if weights.of(node, 0) > MAX_UNFOLDED:
            raise InvalidToolError(
                dotted(field, path),
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
    where = dotted(field, tuple(error.instance_path))
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


def _short(value: object) -> str:
    text = cut(value if isinstance(value, str) else repr(value))
    return repr(text) if isinstance(value, str) and " " not in text else text
