"""JSON as it is put on the wire and before a model, and as it is taken from there: compact, and never without bound."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn, cast

import orjson

MAX_JSON_DEPTH: Final = 256
"""Nested objects and arrays: what is read here is walked and written again, and neither can be without end."""


def encode_json(value: object) -> bytes:
    """Compact UTF-8 JSON; lone surrogates, which UTF-8 cannot hold, stay escaped as they were written."""
    try:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:
        # orjson takes neither integers past 64 bits nor lone surrogates; both occur in schemas people publish.
        pass
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def whole_text(text: str) -> str:
    """The text with halves of characters written as escapes: models and clients send them, and UTF-8 cannot hold them.

    For what leaves by other ways than JSON: one name with such a half would keep all metrics or spans from going out.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def decode_json(text: str | bytes, *, strict: bool = False, unique_keys: bool = False) -> Any:  # noqa: ANN401  whatever was written
    """The value of a JSON text; `strict` refuses numbers that JSON does not have (NaN, 1e999).

    `unique_keys` refuses an object that holds a key twice, of which else the last counts.

    Raises: ValueError, of which JSONDecodeError says where; also for text nested deeper than `MAX_JSON_DEPTH`.
    """
    hooks: dict[str, Any] = {"parse_constant": _refuse, "parse_float": _finite} if strict else {}
    if unique_keys:
        hooks["object_pairs_hook"] = _unique
    try:
        value: Any = json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    # No text is nested deeper than it has brackets: most need no look.
    opened = text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")
    if opened > MAX_JSON_DEPTH and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


_TOO_DEEP: Final = f"it is nested deeper than {MAX_JSON_DEPTH} levels"


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("Mapping[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        # Counted in one go: the body may hold hundreds of thousands of keys, and only the last of them twice.
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object; which of the two counts is not said")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number
