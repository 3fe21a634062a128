"""From a tool definition to the fields of text that are indexed and embedded; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from indexer.definition import DEFAULT_NAMESPACE, ToolDefinition

DENSE_TEXT_LIMIT: Final = 800
"""Characters an encoder reads of one tool; design/retrieval.md, "Document text"."""

MAX_SCHEMA_DEPTH: Final = 8
MAX_SCHEMA_NODES: Final = 2_000
MAX_PARAMETERS: Final = 256

_COMBINERS: Final = ("allOf", "anyOf", "oneOf")
_IDENTIFIER_PARTS: Final = re.compile(
    r"(?:[A-Z]+|[A-Z]?[A-Z]?[a-z]+)\d+"  # S3, v2, OAuth2: letters and digits that are one word
    r"|[A-Z]{2,}s(?![a-z])"  # APIs
    r"|[A-Z]{2,}(?=[A-Z][a-z])"  # HTTP in HTTPResponse
    r"|[A-Z]?[A-Z]?[a-z]+|[A-Z]+"  # a word (OAuth too), an acronym
    r"|\d+[A-Z]{1,2}(?![A-Za-z])|\d+"  # 3D, 2FA; a number
    r"|[^\W\d_A-Za-z]+"  # letters of every other script, whole
)
_WHITESPACE: Final = re.compile(r"\s+")


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
    parameters = tuple(_parameters(definition.input_schema))
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
    head = [_words(document.namespace), _words(document.name), document.title, document.description]
    names = document.parameter_names.split("\n") if document.parameter_names else []
    parameters = [
        f"{_words(name)} {description}".strip()
        for name, description in zip(names, document.parameter_descriptions.split("\n"), strict=False)
    ]
    return _joined(*head, ", ".join(parameters), *document.examples.split("\n"))


def short_text(document: ToolDocument) -> str:
    """Name, title and description alone."""
    return _joined(_words(document.name), document.title, document.description)


def name_text(document: ToolDocument) -> str:
    """Name and title alone."""
    return _joined(_words(document.name), document.title)


def _joined(*parts: str) -> str:
    return _cut(". ".join(stripped for part in parts if (stripped := part.strip())), DENSE_TEXT_LIMIT)


def _words(identifier: str) -> str:
    return split_identifier(identifier).lower()


def _cut(text: str, limit: int) -> str:
    text = _WHITESPACE.sub(" ", text).strip()
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit // 2, limit + 1)
    return text[: end if end > 0 else limit]


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, description) of each property, outer ones first; the same name with the same words once."""
    seen: set[tuple[str, str]] = set()
    for name, node in _properties(schema):
        description = node.get("description") or node.get("title") or ""
        entry = (_line(name), _line(description) if isinstance(description, str) else "")
        if entry not in seen:
            seen.add(entry)
            yield entry
        if len(seen) >= MAX_PARAMETERS:
            return


def _properties(root: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every named subschema in breadth-first order, within bounds; a cycle of references is walked once."""
    level: list[Mapping[str, Any]] = [root]
    visited: set[int] = set()
    for _ in range(MAX_SCHEMA_DEPTH):
        deeper: list[Mapping[str, Any]] = []
        for written in level:
            node = _resolve(root, written)
            if id(node) in visited:
                continue
            visited.add(id(node))
            if len(visited) > MAX_SCHEMA_NODES:
                return
            for name, child in _mapping(node.get("properties")).items():
                resolved = _resolve(root, _mapping(child))
                # A description beside a reference belongs to this parameter, not to the shared definition.
                yield str(name), {**resolved, **_mapping(child)}
                deeper.append(resolved)
            deeper.extend(_inner(node))
        if not deeper:
            return
        level = deeper


def _inner(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for combiner in _COMBINERS:
        branches = node.get(combiner)
        if isinstance(branches, list):
            yield from (_mapping(branch) for branch in cast(list[Any], branches))
    for keyword in ("items", "additionalProperties"):
        if inner := _mapping(node.get(keyword)):
            yield inner


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


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _line(text: str) -> str:
    return _WHITESPACE.sub(" ", text).strip()
