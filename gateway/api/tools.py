"""Registering, reading and deleting tools over HTTP."""

from dataclasses import asdict
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from gateway.api.bulk import EntryReader, entries_in, register_lines
from gateway.api.dependencies import CallerOf, JsonBody, ServicesOf, ToolKeyOf, as_object, scope_of
from gateway.api.errors import ProblemError
from gateway.api.records import report_record, stored_record
from gateway.api.schemas import OPENAI_TOOL_EXAMPLE, TOOL_EXAMPLE, json_request
from gateway.services import Services
from indexer import RegistrationReport, ToolDefinition, ToolKey

router = APIRouter(tags=["tools"])

_TOOL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A tool in our shape, or as the OpenAI, Anthropic or MCP interfaces write it.",
}


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
    return JSONResponse(report_record(report))


async def _register_one(definition: ToolDefinition, services: Services) -> Response:
    report = await services.registry.register([definition])
    _raise_if_refused(report)
    stored = await services.index.get(definition.key)
    tool = stored_record(stored) if stored is not None else None
    return JSONResponse({**report_record(report), "tool": tool}, 201 if report.added else 200)


def _raise_if_refused(report: RegistrationReport) -> None:
    if report.refused:
        entry = report.refused[0]
        fault = {"tool": entry.tool, "field": entry.field, "reason": entry.reason, "fix": entry.fix}
        raise ProblemError(422, "invalid-tool", f"{entry.field}: {entry.reason} {entry.fix}".strip(), errors=[fault])


@router.post(
    "/v1/tools/bulk",
    summary="Register a stream of tools, one JSON object a line",
    openapi_extra=json_request(
        {"type": "string"},
        {"two lines": '{"name": "a", "description": "…"}\n{"name": "b"}\n'},
        media_type="application/x-ndjson",
    ),
)
async def register_bulk(request: Request, services: ServicesOf, caller: CallerOf) -> dict[str, Any]:
    """Of any length. The report names every line that was refused or quarantined, and why."""
    return report_record(await register_lines(request.stream(), services.registry, EntryReader(caller)))


@router.get("/v1/tools", summary="List tools")
async def list_tools(
    services: ServicesOf,
    caller: CallerOf,
    namespace: Annotated[list[str] | None, Query(description="Only these namespaces.")] = None,
    tag: Annotated[list[str] | None, Query(description="A tool must carry all of them.")] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    quarantined: Annotated[bool, Query(description="Only those in quarantine, with the reason.")] = False,
) -> dict[str, Any]:
    """In order of namespace and name."""
    tools = await services.index.list_tools(
        scope_of(caller, namespace, tag or ()), offset=offset, limit=limit, quarantined=quarantined
    )
    return {"tools": [stored_record(tool) for tool in tools], "offset": offset, "limit": limit}


@router.get("/v1/tools/{namespace}/{name:path}", summary="Read one tool")
async def read_tool(key: ToolKeyOf, services: ServicesOf) -> dict[str, Any]:
    """Also one in quarantine, with the reason."""
    stored = await services.index.get(key)
    if stored is None:
        raise _unknown(key)
    return stored_record(stored)


@router.put(
    "/v1/tools/{namespace}/{name:path}",
    summary="Register a tool under this name",
    openapi_extra=json_request(
        _TOOL_SCHEMA, {"one tool": {name: value for name, value in TOOL_EXAMPLE.items() if name != "namespace"}}
    ),
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


@router.delete("/v1/tools/{namespace}/{name:path}", summary="Delete a tool", status_code=204)
async def delete_tool(key: ToolKeyOf, services: ServicesOf) -> None:
    """No search finds it any more."""
    if not await services.registry.delete([key]):
        raise _unknown(key)


def _unknown(key: ToolKey) -> ProblemError:
    return ProblemError(404, "unknown-tool", f"there is no tool {str(key)!r}; GET /v1/tools lists those there are")


@router.get("/v1/namespaces", summary="Namespaces and how many tools each holds")
async def namespaces(services: ServicesOf, caller: CallerOf) -> dict[str, Any]:
    """Active tools only."""
    return {"namespaces": await services.index.namespaces(scope_of(caller))}


@router.get("/v1/stats", summary="What the catalog holds and what that costs")
async def stats(services: ServicesOf) -> dict[str, Any]:
    """Counts, encoder, store and memory by part."""
    return asdict(await services.index.stats())
