"""How an MCP server is reached: from what the operator wrote to an open client of the MCP SDK."""

import asyncio
import importlib
import shlex
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from gateway.errors import ConfigurationError
from gateway.registry.mcp_upstream import McpConnect, McpSession
from gateway.settings import MOST_TOOL_SECONDS

_PREFIX: Final = "mcp:"
READ_TIMEOUT_SECONDS: Final = MOST_TOOL_SECONDS + 60.0
"""The tool loop ends its calls by itself, after as long as the operator lets a tool run: never before that here."""
_REACH_TIMEOUT_SECONDS: Final = 30.0


def connector(
    spec: str, folder: str | None = None, *, read_timeout_seconds: float = READ_TIMEOUT_SECONDS
) -> McpConnect:
    """A way to open fresh clients of one server: `mcp:https://host/mcp`, or `mcp:COMMAND ARGUMENT…`.

    A command runs in `folder`, if that is still there. `read_timeout_seconds`: how long one call may stay unanswered.

    Raises: ConfigurationError for a specification that names neither.
    """
    target = spec.removeprefix(_PREFIX).strip()
    if target.startswith(("http://", "https://")):
        return _over_http(target, read_timeout_seconds)
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise ConfigurationError(f"{spec!r} is not a command line ({error}); check its quotes") from None
    if not command:
        raise ConfigurationError(f"{spec!r} names no server; write mcp:COMMAND ARGUMENT… or mcp:https://host/mcp")
    there = folder if folder is not None and Path(folder).is_dir() else None
    return _over_stdio(command, there, read_timeout_seconds)


def _over_http(url: str, read_timeout_seconds: float) -> McpConnect:
    @asynccontextmanager
    async def connect(on_gone: Callable[[], None]) -> AsyncGenerator[McpSession, None]:
        # In a thread: the SDK takes a second to import, and the event loop has others to serve.
        await asyncio.to_thread(importlib.import_module, "mcp")
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        from indexer.sources.mcp_listing import with_usable_lists

        timeout = httpx2.Timeout(_REACH_TIMEOUT_SECONDS, read=read_timeout_seconds)
        async with httpx2.AsyncClient(timeout=timeout) as http_client:
            transport = with_usable_lists(streamable_http_client(url, http_client=http_client))
            async with Client(transport, read_timeout_seconds=read_timeout_seconds) as client:
                yield client

    return connect


def _over_stdio(command: list[str], folder: str | None, read_timeout_seconds: float) -> McpConnect:
    @asynccontextmanager
    async def connect(on_gone: Callable[[], None]) -> AsyncGenerator[McpSession, None]:
        await asyncio.to_thread(importlib.import_module, "mcp")
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        from indexer.sources.mcp_listing import with_usable_lists

        parameters = StdioServerParameters(command=command[0], args=command[1:], cwd=folder)
        transport = with_usable_lists(stdio_client(parameters), on_end=on_gone)
        async with Client(transport, read_timeout_seconds=read_timeout_seconds) as client:
            yield client

    return connect
