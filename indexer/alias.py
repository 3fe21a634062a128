"""The model-facing name of a tool: what model APIs accept, whatever its owner called it."""

import base64
import hashlib
import json
import re
from functools import lru_cache
from typing import Final

from indexer.definition import DEFAULT_NAMESPACE, ToolKey

MAX_ALIAS_LENGTH: Final = 64
"""The strictest limit of the model APIs (OpenAI: 1 to 64 of `[A-Za-z0-9_-]`)."""

RESERVED_ALIASES: Final = frozenset({"search_tools", "get_tool_details", "call_tool"})
"""Names of the gateway's own tools."""

_SEPARATOR: Final = "__"
_HASH_LENGTH: Final = 10
_SUFFIX_LENGTH: Final = _HASH_LENGTH + 2
_NAMESPACE_SHARE: Final = 24

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]+")
_LOOKS_HASHED = re.compile(r"_0[a-z2-7]{10}\Z")
_AMBIGUOUS_DASH = re.compile(r"--|-\.|\.-")


def model_alias(key: ToolKey) -> str:
    """The name under which a model sees a tool: at most 64 of `[A-Za-z0-9_-]`.

    A pure function of namespace and name. A clean name in the default namespace is its own alias; elsewhere it
    is `namespace__name`. A dot becomes `--`, which can be read back. Where anything would be lost or could be
    mistaken for another tool, `_0` and ten base32 digits of a hash end the alias, and what is readable is cut to
    fit, the end of the name last. No alias without a hash can equal one with it.
    """
    alias = _spelled(key.name) if key.namespace == DEFAULT_NAMESPACE else _joined(key.namespace, key.name)
    if alias is None or len(alias) > MAX_ALIAS_LENGTH or alias in RESERVED_ALIASES or _looks_hashed(alias):
        return _hashed(key)
    return alias


def _joined(namespace: str, name: str) -> str | None:
    """`namespace__name`, or None if either part or the place where they meet is ambiguous."""
    first, last = _spelled_namespace(namespace), _spelled(name)
    if first is None or last is None or first.endswith("_") or last.startswith("_"):
        return None
    return first + _SEPARATOR + last


def _looks_hashed(alias: str) -> bool:
    return alias.startswith("_0", -_SUFFIX_LENGTH) and _LOOKS_HASHED.search(alias) is not None


@lru_cache(maxsize=1024)
def _spelled_namespace(namespace: str) -> str | None:
    return _spelled(namespace)


def _spelled(part: str) -> str | None:
    """The part with dots as double dashes, or None if it cannot be read back from that."""
    if not part or _SEPARATOR in part or ("-" in part and _AMBIGUOUS_DASH.search(part)):
        return None
    spelled = part.replace(".", "--")
    return None if _NOT_ALLOWED.search(spelled) else spelled


def _hashed(key: ToolKey) -> str:
    digest = hashlib.sha256(json.dumps([key.namespace, key.name]).encode()).digest()
    suffix = "_0" + base64.b32encode(digest).decode().lower()[:_HASH_LENGTH]
    return _readable(key, MAX_ALIAS_LENGTH - _SUFFIX_LENGTH) + suffix


def _readable(key: ToolKey, room: int) -> str:
    """What can be kept for people: the start of the namespace and the end of the name."""
    name = _cleaned(key.name)
    if key.namespace == DEFAULT_NAMESPACE:
        return _tail(name, room) or "tool"
    namespace = _cleaned(key.namespace)
    if len(namespace) + len(_SEPARATOR) + len(name) > room:
        namespace = namespace[:_NAMESPACE_SHARE].rstrip("_-")
    prefix = namespace + _SEPARATOR if namespace else ""
    return prefix + (_tail(name, room - len(prefix)) or "tool")


def _tail(name: str, room: int) -> str:
    """The last `room` characters, begun at a word where one begins in their first third."""
    if len(name) <= room:
        return name
    tail = name[-room:]
    word = re.search(r"(?<=[_-])(?=[A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z])", tail)
    return tail[word.start() :] if word and word.start() <= room // 3 else tail.lstrip("_-")


def _cleaned(part: str) -> str:
    return _NOT_ALLOWED.sub("_", part.replace(".", "--")).strip("_-")
