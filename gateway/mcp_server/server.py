"""The gateway as an MCP server: two tools over the whole catalog, the same list for everyone, always.

The list never changes with what was searched: revision 2026-07-28 of the protocol forbids that, and clients cache it.
"""

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from gateway.errors import GatewayError, ToolArgumentsError
from gateway.mcp_server.catalog_tools import (
    DETAILS_OUTPUT_SCHEMA,
    DETAILS_SCHEMA,
    GET_TOOL_DETAILS,
    SEARCH_OUTPUT_SCHEMA,
    SEARCH_SCHEMA,
    SEARCH_TOOLS,
    CatalogTools,
)
from gateway.tools.context import ToolContext
from indexer import IndexerError, ToolIndex

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolResult, Tool

logger = logging.getLogger(__name__)

INSTRUCTIONS: Final = (
    "This server searches a large catalog of tools. Call search_tools with what you need to do, in any language, "
    "then get_tool_details for the exact parameters of a tool you want to use."
)

_UNAVAILABLE: Final = (
    "The catalog cannot answer right now. Do not call this again for now: go on with the tools you have, and say what "
    "cannot be done."
)
_LIST_TTL_MS: Final = 300_000


def build_mcp_server(index: ToolIndex, *, version: str = "", max_results: int = 5) -> "Server[Any]":
    """An MCP server over the catalog, for stdio or HTTP, in both eras of the protocol."""
    from mcp import MCPError
    from mcp.server import Server, ServerRequestContext
    from mcp.server.caching import CacheHint
    from mcp_types import (
        INVALID_PARAMS,
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

    catalog = CatalogTools(index, max_results=max_results)
    tools = _tool_list()

    async def list_tools(
        context: ServerRequestContext[Any], parameters: PaginatedRequestParams | None
    ) -> ListToolsResult:
        if parameters is not None and parameters.cursor is not None:
            raise MCPError(INVALID_PARAMS, "there is only one page of tools: list them without a cursor")
        return ListToolsResult(tools=tools, ttl_ms=_LIST_TTL_MS, cache_scope="private")

    async def call_tool(context: ServerRequestContext[Any], parameters: CallToolRequestParams) -> CallToolResult:
        if parameters.name not in (SEARCH_TOOLS, GET_TOOL_DETAILS):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {parameters.name!r}")
        try:
            answer = await catalog.call(parameters.name, parameters.arguments or {}, ToolContext())
        except ToolArgumentsError as problem:
            return _result(str(problem), is_error=True)
        except (IndexerError, GatewayError) as error:
            logger.warning("%s could not be answered: %s", parameters.name, error)
            return _result(_UNAVAILABLE, is_error=True)
        return _result(json.dumps(answer, ensure_ascii=False), structured=answer)

    return Server(
        "toolscout",
        version=version,
        title="Toolscout",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"server/discover": CacheHint(ttl_ms=_LIST_TTL_MS, scope="private")},
    )


def _tool_list() -> "list[Tool]":
    from mcp_types import Tool, ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    # Without this mark Claude Code hides the two behind its own tool search, and nothing would ever call them.
    always_shown: dict[str, Any] = {"_meta": {"anthropic/alwaysLoad": True}}
    return [
        Tool(
            name=SEARCH_TOOLS,
            title="Search the tool catalog",
            description="Find tools in the catalog by what you need to do. Use it before you say that something "
            "cannot be done; say several needs in one call. Do not repeat a search that was answered.",
            input_schema=SEARCH_SCHEMA,
            output_schema=SEARCH_OUTPUT_SCHEMA,
            annotations=reads,
            **always_shown,
        ),
        Tool(
            name=GET_TOOL_DETAILS,
            title="Read tools in full",
            description="The full description and parameter schema of tools that search_tools returned. "
            "Use it once for the tools you are about to use.",
            input_schema=DETAILS_SCHEMA,
            output_schema=DETAILS_OUTPUT_SCHEMA,
            annotations=reads,
            **always_shown,
        ),
    ]


def _result(text: str, *, structured: dict[str, Any] | None = None, is_error: bool = False) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )


async def run_stdio(server: "Server[Any]") -> None:
    """Serve one client over this process's standard input and output, until it closes them."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
