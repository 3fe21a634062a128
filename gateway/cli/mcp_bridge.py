"""An MCP server on stdio that passes its calls on to the gateway that owns the catalog."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gateway.home import ServerRecord

if TYPE_CHECKING:
    from mcp.server import Server

logger = logging.getLogger(__name__)

_CALL_TIMEOUT_SECONDS = 60.0


async def run_bridge(record: ServerRecord) -> None:
    """Serve one client on stdin and stdout from a running gateway's `/mcp`, until it closes them."""
    from gateway.mcp_server.server import run_stdio

    await run_stdio(_passing_on(record))


def _passing_on(record: ServerRecord) -> "Server[Any]":
    """A server whose every request opens a connection of its own: one that broke would stay broken for good."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.server import Server, ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
        TextContent,
    )

    from gateway.mcp_server.server import INSTRUCTIONS

    headers = {"Authorization": f"Bearer {record.token}"} if record.token else {}

    @asynccontextmanager
    async def connected() -> AsyncGenerator[Client]:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=_CALL_TIMEOUT_SECONDS) as http,
            Client(streamable_http_client(f"{record.url}/mcp", http_client=http)) as client,
        ):
            yield client

    async def list_tools(
        context: ServerRequestContext[Any], parameters: PaginatedRequestParams | None
    ) -> ListToolsResult:
        async with connected() as client:
            return await client.list_tools()

    async def call_tool(context: ServerRequestContext[Any], parameters: CallToolRequestParams) -> CallToolResult:
        try:
            async with connected() as client:
                return await client.call_tool(parameters.name, parameters.arguments)
        except Exception:
            # Whatever broke: the model must be told, and this server must live on.
            logger.exception("the gateway at %s did not answer a tool call", record.url)
            text = "The tool gateway did not answer. Do not repeat this call; go on without it and say so."
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    return Server("toolscout", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)
