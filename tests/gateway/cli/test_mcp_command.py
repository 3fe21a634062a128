"""`toolscout mcp`, driven by the official client, with and without a gateway that owns the catalog."""

import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent


async def test_an_mcp_client_searches_the_catalog_over_stdio(catalog: str) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "gateway.cli", "mcp"], env=dict(os.environ))
    with anyio.fail_after(60):
        async with Client(stdio_client(parameters)) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["search_tools", "get_tool_details"]
            found = await client.call_tool("search_tools", {"queries": ["refund an order"]})
            details = await client.call_tool("get_tool_details", {"names": ["shop__refund_order"]})
    assert isinstance(found.content[0], TextContent)
    assert "shop__refund_order" in found.content[0].text
    assert isinstance(details.content[0], TextContent)
    assert "order_id" in details.content[0].text
