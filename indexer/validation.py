"""The border where definitions come in: what cannot be held is refused, what cannot be used is quarantined."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast, get_args

import orjson

from indexer.argument_check import arguments_problem
from indexer.definition import (
    DEFAULT_NAMESPACE,
    DEFAULT_TENANT,
    EMPTY_SCHEMA,
    ExecutorKind,
    ToolDefinition,
    ToolExecutor,
    TrustTier,
)
from indexer.errors import InvalidToolError, cut
from indexer.field_reader import MAX_DESCRIPTION_BYTES, MAX_NAME_LENGTH, FieldReader, kind_of
from indexer.invisible import INVISIBLE, is_plain, named_character
from indexer.schema_check import schema_problem

__all__ = ["arguments_problem", "definition_from_json", "judge"]

FOREIGN_EXECUTORS: Final[frozenset[ExecutorKind]] = frozenset({"client", "simulated"})
"""Who may run a tool that came in as data: adapters that run code or reach a server are the operator's to name."""


def definition_from_json(
    raw: object,
    *,
    place: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    tenant: str = DEFAULT_TENANT,
    executors: Collection[ExecutorKind] = FOREIGN_EXECUTORS,
    executor: ToolExecutor | None = None,
) -> ToolDefinition:
    """A tool in any recognised JSON shape (ours, OpenAI, Anthropic, MCP) -> a definition that can be held.

    `place` says where it stands ('line 7'), for the error. `namespace` and `executor` apply where the tool names
    none; `tenant` is the caller's, and a tool that names another is refused. `executors` are the kinds it may name.
    Whether its schemas can be used is for `judge`.
    Raises: InvalidToolError with the field, the reason and the cure.
    """
    if not isinstance(raw, Mapping):
        raise InvalidToolError(
            place or "tool", f"must be a JSON object, not {kind_of(raw)}", fix="Write one tool as {...}."
        )
    reader = FieldReader(cast(Mapping[str, Any], raw), place)
    reader.check_held()
    record = reader.record
    own_tenant = reader.name("tenant", tenant)
    if own_tenant != tenant:
        raise reader.error("tenant", f"{own_tenant!r} is not yours ({tenant!r})", "Leave the field out.")
    return ToolDefinition(
        name=reader.name("name"),
        namespace=reader.name("namespace", namespace),
        tenant=tenant,
        title=reader.text("title"),
        description=reader.text("description", MAX_DESCRIPTION_BYTES),
        input_schema=_with_object_root(reader.schema("input_schema")),
        output_schema=reader.schema("output_schema"),
        tags=reader.texts("tags"),
        example_queries=reader.texts("example_queries"),
        publisher=reader.text("publisher"),
        trust=cast(TrustTier, reader.choice("trust", get_args(TrustTier), "community")),
        annotations=reader.annotations(),
        executor=reader.executor(executors, executor or ToolExecutor()),
        return_direct=reader.flag("return_direct"),
        pinned=reader.flag("pinned"),
        version=_version(record.get("version"), reader),
        repeatable=reader.flag("repeatable") if record.get("repeatable") is not None else None,
        completion=reader.completion(),
    )


def judge(definition: ToolDefinition) -> InvalidToolError | None:
    """Why a definition that can be held must stay in quarantine, or None. Under 100 ms for hostile input."""
    problem = schema_problem(definition.input_schema, "input_schema")
    if problem is None and definition.output_schema is not None:
        problem = schema_problem(definition.output_schema, "output_schema")
    if problem is None:
        problem = _text_problem(definition)
    if problem is not None:
        problem.tool = str(definition.key)
    return problem


def _text_problem(definition: ToolDefinition) -> InvalidToolError | None:
    """Bounds and invisible characters of what a model would read, the texts in the schemas included."""
    if not 0 < len(definition.name) <= MAX_NAME_LENGTH:
        return InvalidToolError("name", f"must have 1 to {MAX_NAME_LENGTH} characters")
    if len(definition.description) > MAX_DESCRIPTION_BYTES:
        return InvalidToolError("description", f"is longer than {MAX_DESCRIPTION_BYTES:,} bytes", fix="Shorten it.")
    if is_plain(definition.encoded):
        return None
    read = {
        "name": [definition.name],
        "namespace": [definition.namespace],
        "title": [definition.title],
        "description": [definition.description],
        "tags": definition.tags,
        "example_queries": definition.example_queries,
        "input_schema": _strings(definition.input_schema),
        "output_schema": _strings(definition.output_schema or {}),
    }
    for field, texts in read.items():
        for text in texts:
            if found := INVISIBLE.search(text):
                return InvalidToolError(
                    field, f"{named_character(found.group())} (in {cut(text, 60)!a})", fix="Remove the character."
                )
    return None


def _strings(schema: Mapping[str, Any]) -> list[str]:
    """Every string of a schema that passed the size check, keys among them."""
    if is_plain(orjson.dumps(schema)):
        return []
    found: list[str] = []
    stack: list[Any] = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            found.extend(cast(Mapping[str, Any], value))
            stack.extend(cast(Mapping[str, Any], value).values())
        elif isinstance(value, list | tuple):
            stack.extend(cast(list[Any], value))
    return found


def _version(value: object, reader: FieldReader) -> str:
    """A version may be written as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else reader.text("version")


def _with_object_root(schema: dict[str, Any] | None) -> Mapping[str, Any]:
    """A root without a type takes arguments all the same, and arguments are an object."""
    if not schema:
        return EMPTY_SCHEMA
    return schema if "type" in schema else {"type": "object", **schema}
