"""Strict JSON text, with errors that say where."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn, cast


def as_object(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON list, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


class InvalidJsonError(ValueError):
    """Text that is not the JSON, or the YAML, it should be; says where."""


def parse_json(data: bytes) -> object:
    """Strict JSON: no NaN, no key twice in one object. Raises: InvalidJsonError with line and column."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidJsonError(
            f"not UTF-8: byte {error.start + 1} is {data[error.start]:#04x}; save it as UTF-8"
        ) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if b"\n" in data else f"column {error.colno}"
        raise InvalidJsonError(f"not JSON: {error.msg} ({where})") from error
    except InvalidJsonError:
        raise
    except ValueError as error:
        raise InvalidJsonError(f"not JSON that can be read: {str(error).split(';')[0]}") from error
    except RecursionError as error:
        raise InvalidJsonError("not JSON that can be read: nested too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise InvalidJsonError(f"the key {twice!r} stands twice in one object")
    return content


def _no_number(constant: str) -> NoReturn:
    raise InvalidJsonError(f"{constant} is not a JSON number")
