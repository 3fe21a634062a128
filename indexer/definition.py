"""The tool definition: the value that everything else indexes, ranks and hands out."""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

JsonObject: TypeAlias = Mapping[str, Any]
"""A parsed JSON object, never changed in place."""

ExecutorKind = Literal["client", "mcp", "python", "simulated", "http"]
TrustTier = Literal["trusted", "verified", "community", "untrusted"]

DEFAULT_TENANT: Final = "default"
DEFAULT_NAMESPACE: Final = "default"
EMPTY_SCHEMA: Final[JsonObject] = {"type": "object", "properties": {}}

_POINT_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "toolscout:tool")
_AS_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` makes an encoder each time


class ToolKey(NamedTuple):
    """What makes a tool one and the same across restarts, gateways and re-registrations."""

    tenant: str
    namespace: str
    name: str

    @property
    def point_id(self) -> uuid.UUID:
        """UUID5 of the key: a restart or a second gateway never doubles a point."""
        return uuid.uuid5(_POINT_NAMESPACE, _AS_JSON(list(self)))

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.tenant == DEFAULT_TENANT else "/".join(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """Hints of the publisher about what a tool does; untrusted, as in MCP. None: not said."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class CompletionKeys:
    """What the calls of a tool are about: a target that was collected once is not collected again in the same run."""

    arguments: tuple[str, ...]
    """The arguments that name the target; one that is a list names several."""
    everything: frozenset[str] = frozenset({"all", "*"})
    """Values, in lower case, that mean every target there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutor:
    """Who runs a tool: the caller (`client`), or the gateway through one of its adapters."""

    kind: ExecutorKind = "client"
    config: JsonObject = field(default_factory=dict[str, Any])
    """What the adapter needs: the source name of an MCP tool, the service and operation of a simulated one."""


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """A tool as its owner registered it; equal definitions have equal content hashes."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    tenant: str = DEFAULT_TENANT
    title: str = ""
    description: str = ""
    input_schema: JsonObject = field(default_factory=lambda: EMPTY_SCHEMA)
    output_schema: JsonObject | None = None
    tags: tuple[str, ...] = ()
    example_queries: tuple[str, ...] = ()
    publisher: str = ""
    trust: TrustTier = "community"
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
    executor: ToolExecutor = field(default_factory=ToolExecutor)
    return_direct: bool = False
    pinned: bool = False
    version: str = ""
    repeatable: bool | None = None
    """The same call may be made again and again: a poller, or `next_page`. None: not said."""
    completion: CompletionKeys | None = None
    """What its calls collect, if it is a tool of which one call a target is enough."""

    @cached_property
    def key(self) -> ToolKey:
        return ToolKey(self.tenant, self.namespace, self.name)

    @cached_property
    def encoded(self) -> bytes:
        """The record as compact JSON (UTF-8), for the store and the replica: written once, in its owner's order.

        Parameters in another order would be another text to search by, and another prompt.
        """
        return _json(definition_to_record(self), sort_keys=False)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (first 32 hex digits) of the record: changes exactly when something does but the order of keys."""
        return hashlib.sha256(_json(definition_to_record(self), sort_keys=True)).hexdigest()[:32]


def _json(record: Mapping[str, Any], *, sort_keys: bool) -> bytes:
    try:
        # Copied, for it is kept: what orjson returns holds on to the buffer it was written in, several times its
        # size (32 KiB at 2.4 KB, orjson 3.13).
        return memoryview(orjson.dumps(record, option=orjson.OPT_SORT_KEYS if sort_keys else 0)).tobytes()
    except TypeError:
        # orjson takes neither integers past 64 bits nor lone surrogates; both occur in schemas people publish.
        return json.dumps(record, sort_keys=sort_keys, separators=(",", ":")).encode("ascii")


def definition_to_record(definition: ToolDefinition) -> dict[str, Any]:
    """The JSON form of a definition, defaults left out; `definition_from_record` is its inverse."""
    record: dict[str, Any] = {
        "name": definition.name,
        "namespace": definition.namespace,
        "tenant": definition.tenant,
        "title": definition.title,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "output_schema": definition.output_schema,
        "tags": list(definition.tags),
        "example_queries": list(definition.example_queries),
        "publisher": definition.publisher,
        "trust": definition.trust if definition.trust != "community" else "",
        "annotations": _hints_record(definition.annotations),
        "executor": _executor_record(definition.executor),
        "return_direct": definition.return_direct,
        "pinned": definition.pinned,
        "version": definition.version,
        "repeatable": definition.repeatable,
        "completion": _completion_record(definition.completion),
    }
    return {
        name: value
        for name, value in record.items()
        if value or name in _ALWAYS or (value is not None and name in _UNLESS_NONE)
    }


_ALWAYS: Final = frozenset({"name", "namespace", "tenant", "description", "input_schema"})
_UNLESS_NONE: Final = frozenset({"output_schema", "repeatable"})
"""Of the others, which are written though they are empty or false."""


def _hints_record(annotations: ToolAnnotations) -> dict[str, bool]:
    hints = {
        "read_only": annotations.read_only,
        "destructive": annotations.destructive,
        "idempotent": annotations.idempotent,
        "open_world": annotations.open_world,
    }
    return {hint: value for hint, value in hints.items() if value is not None}


def _executor_record(executor: ToolExecutor) -> dict[str, Any]:
    is_default = executor.kind == "client" and not executor.config
    return {} if is_default else {"kind": executor.kind, "config": dict(executor.config)}


def _completion_record(keys: CompletionKeys | None) -> dict[str, Any] | None:
    return None if keys is None else {"arguments": list(keys.arguments), "everything": sorted(keys.everything)}


def definition_from_record(record: JsonObject) -> ToolDefinition:
    """Read back what `definition_to_record` wrote; trusts its input (new input goes through `validation`)."""
    plain = {
        name: record[name]
        for name in (
            "name", "namespace", "tenant", "title", "description", "input_schema", "output_schema",
            "publisher", "trust", "return_direct", "pinned", "version", "repeatable",
        )
        if name in record
    }  # fmt: skip
    return ToolDefinition(
        **plain,
        tags=tuple(record.get("tags", ())),
        example_queries=tuple(record.get("example_queries", ())),
        annotations=ToolAnnotations(**record.get("annotations", {})),
        executor=ToolExecutor(**record["executor"]) if record.get("executor") else ToolExecutor(),
        completion=_completion_of(record.get("completion")),
    )


def _completion_of(record: JsonObject | None) -> CompletionKeys | None:
    if record is None:
        return None
    return CompletionKeys(tuple(record["arguments"]), frozenset(record["everything"]))
