"""Registering, reading and deleting tools over HTTP."""

from dataclasses import asdict
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway.api.answers import JsonAnswer
from gateway.api.bulk import EntryReader, entries_in, register_lines
from gateway.api.dependencies import CallerOf, JsonBody, ServicesOf, ToolKeyOf, as_object, check_plain, scope_of
from gateway.api.errors import ProblemError
from gateway.api.records import report_record, stored_record
from gateway.api.schemas import (
    OPENAI_TOOL_EXAMPLE,
    TOOL_EXAMPLE,
    ListQuery,
    checked_query,
    json_request,
    path_parameters,
    query_parameters,
)
from gateway.services import Services
from indexer import RegistrationReport, SearchScope, StoredTool, ToolDefinition, ToolKey
from indexer.errors import sentences

router = APIRouter(tags=["tools"])

_TOOL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A tool in our shape, or as the OpenAI, Anthropic or MCP interfaces write it.",
}
_UNNAMED_EXAMPLE: Final = {name: value for name, value in TOOL_EXAMPLE.items() if name not in ("name", "namespace")}
_TOOL_PATH: Final = path_parameters(
    namespace="The tool's namespace; a slash in it is written %2F.", name="The tool's name, with any slashes in it."
)


@router.post(
    "/v1/tools",
    summary="Register one tool, or several",
    openapi_extra=json_request(
        _TOOL_SCHEMA,
        {
            "one tool": TOOL_EXAMPLE,
            "several tools": {"tools": [TOOL_EXAMPLE]},
            "as OpenAI writes it": OPENAI_TOOL_EXAMPLE,
        },
    ),
)
async def register_tools(body: JsonBody, services: ServicesOf, caller: CallerOf) -> Response:
    """The next search finds them. Of several, a bad one is reported and does not stop the rest."""
    reader = EntryReader(caller)
    record = as_object(body)
    if "tools" in record and "name" not in record:
        return await _register_several(record["tools"], services, reader)
    return await _register_one(reader.definition(record), services)


async def _register_several(tools: object, services: Services, reader: EntryReader) -> Response:
    if not isinstance(tools, list):
        raise ProblemError(422, "invalid-request", "tools must be a list of tools", errors=[{"field": "tools"}])
    if not tools:
        raise ProblemError(
            422, "invalid-request", "tools is empty: give at least one tool to register", errors=[{"field": "tools"}]
        )
    report = await services.registry.register(entries_in(cast("list[object]", tools), reader))
    return JsonAnswer(report_record(report))


async def _register_one(definition: ToolDefinition, services: Services) -> Response:
    report = await services.registry.register([definition])
    _raise_if_refused(report)
    stored = await services.index.get(definition.key)
    tool = stored_record(stored) if stored is not None else None
    return JsonAnswer({**report_record(report), "tool": tool}, 201 if report.added else 200)


def _raise_if_refused(report: RegistrationReport) -> None:
    if report.refused:
        entry = report.refused[0]
        fault = {"tool": entry.tool, "field": entry.field, "reason": entry.reason, "fix": entry.fix}
        text = sentences(f"{entry.field}: {entry.reason}", entry.fix)
        raise ProblemError(422, "invalid-tool", text, errors=[fault])


@router.post(
    "/v1/tools/bulk",
    summary="Register a stream of tools, one JSON object a line",
    openapi_extra=json_request(
        {"type": "string"},
        {"two lines": '{"name": "a", "description": "…"}\n{"name": "b"}\n'},
        media_type="application/x-ndjson",
    ),
)
async def register_bulk(request: Request, services: ServicesOf, caller: CallerOf) -> JsonAnswer:
    """Of any length. The report names every line that was refused or quarantined, and why."""
    check_plain(request)
    return JsonAnswer(report_record(await register_lines(request.stream(), services.registry, EntryReader(caller))))


@router.get("/v1/tools", summary="List tools", openapi_extra=query_parameters(ListQuery))
async def list_tools(request: Request, services: ServicesOf, caller: CallerOf) -> JsonAnswer:
    """In order of namespace and name."""
    wanted = checked_query(ListQuery, request.query_params)
    scope = scope_of(caller, wanted.namespace, wanted.tag)
    if wanted.pinned:
        tools = await _pinned_tools(services, scope, wanted)
    else:
        tools = await services.index.list_tools(
            scope, offset=wanted.offset, limit=wanted.limit, quarantined=wanted.quarantined
        )
    records = [stored_record(tool) for tool in tools]
    return JsonAnswer({"tools": records, "offset": wanted.offset, "limit": wanted.limit})


async def _pinned_tools(services: Services, scope: SearchScope, wanted: ListQuery) -> list[StoredTool]:
    pinned = await services.index.pinned(scope)
    page = pinned[wanted.offset : wanted.offset + wanted.limit]
    found = [await services.index.get(definition.key) for definition in page]
    return [stored for stored in found if stored is not None]


@router.get("/v1/tools/{namespace}/{name:path}", summary="Read one tool", openapi_extra=_TOOL_PATH)
async def read_tool(key: ToolKeyOf, services: ServicesOf) -> JsonAnswer:
    """Also one in quarantine, with the reason."""
    stored = await services.index.get(key)
    if stored is None:
        raise _unknown(key)
    return JsonAnswer(stored_record(stored))


@router.put(
    "/v1/tools/{namespace}/{name:path}",
    summary="Register a tool under this name",
    openapi_extra={**_TOOL_PATH, **json_request(_TOOL_SCHEMA, {"one tool": _UNNAMED_EXAMPLE})},
)
async def put_tool(body: JsonBody, key: ToolKeyOf, services: ServicesOf, caller: CallerOf) -> Response:
    """Adds or replaces it; the name may be left out of the body, and may not differ from the path's."""
    record = {**as_object(body)}
    if "function" not in record:
        record.setdefault("name", key.name)
    record.setdefault("namespace", key.namespace)
    definition = EntryReader(caller).definition(record)
    if definition.key != key:
        raise ProblemError(
            422,
            "invalid-tool",
            f"the body names the tool {str(definition.key)!r}, the path {str(key)!r}; leave the name out of the body, "
            "or make them equal",
            errors=[{"field": "name" if definition.name != key.name else "namespace"}],
        )
    return await _register_one(definition, services)


@router.delete("/v1/tools/{namespace}/{name:path}", summary="Delete a tool", openapi_extra=_TOOL_PATH, status_code=204)
async def delete_tool(key: ToolKeyOf, services: ServicesOf) -> Response:
    """No search finds it any more."""
    if not await services.registry.delete([key]):
        raise _unknown(key)
    return Response(status_code=204)


def _unknown(key: ToolKey) -> ProblemError:
    return ProblemError(404, "unknown-tool", f"there is no tool {str(key)!r}; GET /v1/tools lists those there are")


@router.get("/v1/namespaces", summary="Namespaces and how many tools each holds")
async def namespaces(services: ServicesOf, caller: CallerOf) -> JsonAnswer:
    """Active tools only."""
    return JsonAnswer({"namespaces": await services.index.namespaces(scope_of(caller))})


@router.get("/v1/stats", summary="What the catalog holds and what that costs")
async def stats(services: ServicesOf) -> JsonAnswer:
    """Counts, encoder, store and memory by part."""
    return JsonAnswer(asdict(await services.index.stats()))
