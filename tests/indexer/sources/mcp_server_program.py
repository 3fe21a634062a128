"""A real MCP server on stdio, made with the SDK, that gives its tools in three pages."""

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

PAGES: dict[str | None, tuple[int, int, str | None]] = {None: (0, 3, "2"), "2": (3, 6, ""), "": (6, 7, None)}
"""From a cursor to the tools of its page and the next cursor; the empty string is a cursor like any other."""


def tool(number: int) -> types.Tool:
    return types.Tool(
        name=f"tool_{number}",
        title=f"Tool {number}",
        description="Adds two numbers.",
        input_schema={
            "type": "object",
            "properties": {"a": {"type": "integer", "x-mcp-header": "A"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
        output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}},
        annotations=types.ToolAnnotations(read_only_hint=True),
        _meta={"toolscout/repeatable": True, "toolscout/completion": {"arguments": ["a"]}},
    )


async def list_tools(context: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    first, last, following = PAGES[params.cursor if params else None]
    return types.ListToolsResult(tools=[tool(n) for n in range(first, last)], next_cursor=following)


async def main() -> None:
    server = Server("not-the-name-of-the-source", version="1", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
