"""From a tool definition to the fields of text that are indexed and embedded; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from indexer.definition import DEFAULT_NAMESPACE, ToolDefinition

DENSE_TEXT_LIMIT: Final = 800
"""Characters an encoder reads of one tool; design/retrieval.md, "Document text"."""

MAX_SCHEMA_DEPTH: Final = 8
MAX_SCHEMA_NODES: Final = 2_000
MAX_PARAMETERS: Final = 256

_COMBINERS: Final = ("allOf", "anyOf", "oneOf")
_INNER: Final = ("items", "additionalProperties")
_HOLD_MORE: Final = frozenset({"$ref", "properties", *_COMBINERS, *_INNER})
_DICT: Final[type] = dict
_CACHED_IDENTIFIER: Final = 64
_REMEMBERED_DOCUMENTS: Final = 512
"""Documents whose text is kept: the encoder reads it, and the index of tokens a batch later."""
_REMEMBERED_LENGTH: Final = 8_192
"""Longer ones are not kept: some are a megabyte."""
_IDENTIFIER_PARTS: Final = re.compile(
    r"(?:[A-Z]+|[A-Z]?[A-Z]?[a-z]+)\d+"  # S3, v2, OAuth2: letters and digits that are one word
    r"|[A-Z]{2,}s(?![a-z])"  # APIs
    r"|[A-Z]{2,}(?=[A-Z][a-z])"  # HTTP in HTTPResponse
    r"|[A-Z]?[A-Z]?[a-z]+|[A-Z]+"  # a word (OAuth too), an acronym
    r"|\d+[A-Z]{1,2}(?![A-Za-z])|\d+"  # 3D, 2FA; a number
    r"|[^\W\d_A-Za-z]+"  # letters of every other script, whole
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDocument:
    """The text of a tool, by field; every field is plain text, empty where the tool says nothing.

    `parameter_names` and `parameter_descriptions` hold one line a parameter, in the same order.
    """

    name: str = ""
    title: str = ""
    namespace: str = ""
    description: str = ""
    parameter_names: str = ""
    parameter_descriptions: str = ""
    examples: str = ""
    tags: str = ""


def document_of(definition: ToolDefinition) -> ToolDocument:
    """The fields of a definition: parameters through local `$ref`, `anyOf`, nesting and array items."""
    parameters = _parameters(definition.input_schema)
    return ToolDocument(
        name=definition.name,
        title=definition.title if definition.title != definition.name else "",
        namespace=definition.namespace if definition.namespace != DEFAULT_NAMESPACE else "",
        description=definition.description,
        parameter_names="\n".join(name for name, _ in parameters),
        parameter_descriptions="\n".join(description for _, description in parameters),
        examples="\n".join(definition.example_queries),
        tags="\n".join(definition.tags),
    )


def identifier_parts(name: str) -> list[str]:
    """Words of a snake, camel, kebab or dotted identifier, as they are written."""
    return _IDENTIFIER_PARTS.findall(name)


def split_identifier(name: str) -> str:
    """Words of an identifier, parted by spaces: `getHTTPResponse_v2` is `get HTTP Response v2`."""
    return " ".join(identifier_parts(name))


def dense_text(document: ToolDocument) -> str:
    """All that an encoder reads of a tool: namespace, name, title, description, parameters, examples, cut to fit."""
    length = len(document.description) + len(document.parameter_descriptions) + len(document.examples)
    return _known_text(document) if length <= _REMEMBERED_LENGTH else _dense_text(document)


def _dense_text(document: ToolDocument) -> str:
    head = [_words(document.namespace), _words(document.name), document.title, document.description]
    names = document.parameter_names.split("\n") if document.parameter_names else []
    parameters: list[str] = []
    size = 0
    for name, description in zip(names, document.parameter_descriptions.split("\n"), strict=False):
        parameters.append(f"{_words(name)} {description}".strip())
        size += len(parameters[-1])
        if size > DENSE_TEXT_LIMIT:  # lines hold no white space that would still be taken out
            break
    return _joined(*head, ", ".join(parameters), *document.examples.split("\n"))


_known_text = lru_cache(maxsize=_REMEMBERED_DOCUMENTS)(_dense_text)


def short_text(document: ToolDocument) -> str:
    """Name, title and description alone."""
    return _joined(_words(document.name), document.title, document.description)


def name_text(document: ToolDocument) -> str:
    """Name and title alone."""
    return _joined(_words(document.name), document.title)


def _joined(*parts: str) -> str:
    return _cut(". ".join([stripped for part in parts if (stripped := part.strip())]), DENSE_TEXT_LIMIT)


def _words(identifier: str) -> str:
    return _known_words(identifier) if len(identifier) <= _CACHED_IDENTIFIER else split_identifier(identifier).lower()


@lru_cache(maxsize=1 << 14)
def _known_words(identifier: str) -> str:
    return split_identifier(identifier).lower()


def _cut(text: str, limit: int) -> str:
    text = _line(text)
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit // 2, limit + 1)
    return text[: end if end > 0 else limit]


def _parameters(root: Mapping[str, Any]) -> dict[tuple[str, str], None]:
    """(name, description) of each property, outer ones first; the same name with the same words once.

    Every named subschema in breadth-first order, within bounds; a cycle of references is walked once.
    """
    found: dict[tuple[str, str], None] = {}
    level: list[Mapping[str, Any]] = [root]
    visited: set[int] = set()
    for _ in range(MAX_SCHEMA_DEPTH):
        deeper: list[Mapping[str, Any]] = []
        for written in level:
            node = _resolve(root, written) if "$ref" in written else written
            if id(node) in visited:
                continue
            visited.add(id(node))
            if len(visited) > MAX_SCHEMA_NODES:
                return found
            for name, value in _mapping(node.get("properties")).items():
                child = _mapping(value)
                resolved = _resolve(root, child) if "$ref" in child else child
                if resolved.keys().isdisjoint(_HOLD_MORE):
                    visited.add(id(resolved))
                else:
                    deeper.append(resolved)
                found[_line(str(name)), _line(_said_of(child, resolved))] = None
                if len(found) >= MAX_PARAMETERS:
                    return found
            deeper += _inner(node)
        if not deeper:
            return found
        level = deeper
    return found


def _said_of(child: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
    """A description beside a reference belongs to this parameter, not to the shared definition."""
    for keyword in ("description", "title"):
        if text := child.get(keyword, resolved.get(keyword)):
            return text if isinstance(text, str) else ""
    return ""


def _inner(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inner: list[Mapping[str, Any]] = []
    for combiner in _COMBINERS:
        branches = node.get(combiner)
        if isinstance(branches, list):
            inner += [_mapping(branch) for branch in cast(list[Any], branches)]
    for keyword in _INNER:
        if below := _mapping(node.get(keyword)):
            inner.append(below)
    return inner


def _resolve(root: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references; an unknown or circular one ends at the node that holds it."""
    for _ in range(MAX_SCHEMA_DEPTH):
        reference = node.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return node
        target = _pointed_at(root, reference)
        if target is None or target is node:
            return node
        node = target
    return node


def _pointed_at(root: Mapping[str, Any], reference: str) -> Mapping[str, Any] | None:
    target: Any = root
    for token in reference[1:].split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, Mapping) or key not in target:
            return None
        target = cast(Mapping[str, Any], target)[key]
    return cast(Mapping[str, Any], target) if isinstance(target, Mapping) else None


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  any JSON value
    # What comes from JSON is a dict; to ask an abstract class takes ten times as long, and a cast three times.
    if type(value) is _DICT:
        return value
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _line(text: str) -> str:
    return " ".join(text.split())
