"""What keeps the schemas of published APIs small enough for a model to read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson

PARAMETER_LIMIT: Final = 300
"""Characters of a description: of an argument."""
NESTED_LIMIT: Final = 120
"""And of what is inside one."""

_FIELDS_NAMED: Final = 12

Schema = TypeVar("Schema", bound=Mapping[str, Any])


def deepest_fitting(written: Callable[[int], Schema], depth: int, fits: Callable[[Schema], bool]) -> Schema:
    """A schema, written out at the greatest depth up to `depth` at which it fits; at depth 1 in any case."""
    for levels in range(depth, 1, -1):
        schema = written(levels)
        if fits(schema):
            return schema
    return written(1)


def json_fits(limit: int) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a schema takes at most `limit` bytes of JSON."""
    return lambda schema: len(orjson.dumps(schema)) <= limit


def fields_named(names: Sequence[str]) -> str:
    """Stands for an object below the depth that is kept."""
    return f"Fields: {', '.join(names[:_FIELDS_NAMED])}{', ...' if len(names) > _FIELDS_NAMED else ''}"
