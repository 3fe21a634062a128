"""What of a definition that a program made cannot be kept at all; what came in as JSON was read field by field."""

from collections.abc import Iterator, Mapping
from typing import Final, cast, get_args

from indexer.definition import ToolDefinition, TrustTier
from indexer.errors import cut
from indexer.field_reader import kind_of
from indexer.search import RejectedTool

_TEXTS: Final = ("name", "namespace", "tenant", "title", "description", "publisher", "version")
_LISTS: Final = ("tags", "example_queries")
_NO_JSON: Final = (TypeError, ValueError, RecursionError, AttributeError)
"""What encoding raises for other values, for cycles, for depth, and for a field of another type."""


def unholdable(definition: ToolDefinition) -> RejectedTool | None:
    """Why a definition is refused: a field of another type than it has, half of a character, or what is no JSON.

    What else is wrong with one is for the judge.
    """
    if not isinstance(definition, ToolDefinition):  # pyright: ignore[reportUnnecessaryIsInstance] - programs err
        raise TypeError(
            f"a catalog takes ToolDefinitions, not {cut(repr(definition), 80)}; "
            "`indexer.definition_from_json` reads a dictionary, `gateway.definitions_of` functions"
        )
    problem = next(_wrong_types(definition), None)
    if problem is not None:
        return _refused(definition, *problem)
    try:
        for text in (*definition.key, *definition.tags):
            text.encode()
    except UnicodeEncodeError:
        return _refused(
            definition,
            "name, namespace, tenant or tags",
            "holds half of a surrogate pair",
            "Write it as valid Unicode text.",
        )
    try:
        definition.content_hash  # noqa: B018  it is kept, and needed next
    except _NO_JSON as error:
        return _refused(definition, "definition", f"holds what is no JSON value: {error}", "Use JSON values only.")
    return None


def encoded_bytes(definition: ToolDefinition) -> int:
    """How much there is to keep; 0 where it cannot be kept."""
    try:
        return len(definition.encoded)
    except _NO_JSON:
        return 0


def _wrong_types(definition: ToolDefinition) -> Iterator[tuple[str, str, str]]:
    """Field, reason and cure of what a type checker would have found."""
    for field in _TEXTS:
        value: object = getattr(definition, field)
        if not isinstance(value, str):
            yield field, f"must be a text, not {kind_of(value)}", ""
    for field in _LISTS:
        texts: object = getattr(definition, field)
        if not _are_texts(texts):
            yield field, f"must be a list of texts, not {kind_of(texts)}", f'Write {field}=("…",).'
    for field, schema in (("input_schema", definition.input_schema), ("output_schema", definition.output_schema)):
        if not isinstance(cast(object, schema), Mapping) and not (schema is None and field == "output_schema"):
            yield field, f"must be a JSON Schema object, not {kind_of(schema)}", 'Start with {"type": "object"}.'
    if definition.trust not in get_args(TrustTier):
        yield "trust", f"must be one of {', '.join(get_args(TrustTier))}", ""


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(one, str) for one in cast("list[object]", value))


def _refused(definition: ToolDefinition, field: str, reason: str, fix: str) -> RejectedTool:
    where = f"{definition.namespace}/{definition.name}"
    return RejectedTool(
        place=where.encode(errors="replace").decode(),
        tool=str(definition.name).encode(errors="replace").decode(),
        field=field,
        reason=reason,
        fix=fix,
    )
