"""How large a schema from a stranger may be: known before any validator, and any recursion, sees it."""

import math
from collections.abc import Sequence
from typing import Any, Final, cast

import orjson

from indexer.definition import JsonObject
from indexer.errors import InvalidToolError
from indexer.subschemas import Path, dotted, is_object

MAX_SCHEMA_BYTES: Final = 256 * 1024
MAX_SCHEMA_DEPTH: Final = 64
"""Nested JSON values, not subschemas: a schema level takes two or three of them."""
MAX_SCHEMA_VALUES: Final = 20_000

_DICT: Final[type] = dict
"""By this name a type that is asked for needs no `cast`, which takes as long as the rest of the look at a value."""
_CONTAINERS: Final = frozenset({dict, list, tuple})


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
                f"nested deeper than {MAX_SCHEMA_DEPTH} levels (at {dotted('', path[:6])}…)",
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
        elif is_object(value):
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise InvalidToolError(dotted(field, path), f"has the key {name!r}, which is no string")
                size += len(name)
                stack.append((inner, (*path, name)))
        elif isinstance(value, list | tuple):
            stack.extend((inner, (*path, i)) for i, inner in enumerate(cast(Sequence[Any], value)))
        else:
            _check_scalar(value, field, path)


def _check_scalar(value: object, field: str, path: Path) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidToolError(
            dotted(field, path), f"{value} is not a JSON number", fix="Leave it out, or write a finite number."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InvalidToolError(dotted(field, path), "an integer beyond 64 bits", fix="Write it as a string.")
    if value is not None and not isinstance(value, bool | int | float):
        raise InvalidToolError(dotted(field, path), f"{type(value).__name__} is no JSON value")
