"""The MCP server, driven by the official client."""

from collections.abc import AsyncGenerator, Iterable
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from gateway.app import build_app, make_mcp_server
from gateway.mcp_server.catalog_tools import without_transport_hints
from gateway.mcp_server.server import build_mcp_server
from gateway.remote import RemoteError
from gateway.settings import GatewaySettings, ToolLoopSettings
from indexer import SearchScope, StoreUnavailableError, ToolDefinition, ToolSearchRequest, ToolSearchResponse
from indexer.forwarding import ForwardingToolIndex
from tests.gateway.serving import http_client, memory_index, served, services_of

REFUND = ToolDefinition(
    name="refund_order",
    namespace="shop",
    description="Refund a paid order.",
    input_schema={"type": "object", "properties": {"order_id": {"type": "string", "x-mcp-header": "Order"}}},
)
LIST_ORDERS = ToolDefinition(name="list_orders", namespace="shop", description="List the orders of a customer.")


@pytest.fixture(params=["auto", "legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest) -> AsyncGenerator[Client]:
    """A client over HTTP, in each era of the protocol."""
    async with (
        services_of(REFUND, LIST_ORDERS) as services,
        served(build_app(services), lifespan=True) as url,
        Client(f"{url}/mcp", mode=request.param) as client,
    ):
        yield client


async def test_both_tools_are_listed_always_shown_and_read_only(client: Client) -> None:
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == ["search_tools", "get_tool_details"]
    for tool in listed.tools:
        assert tool.meta == {"anthropic/alwaysLoad": True}
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.input_schema["additionalProperties"] is False


async def test_a_search_finds_tools_and_leaves_the_list_as_it_was(client: Client) -> None:
    before = await client.list_tools(cache_mode="refresh")
    result = await client.call_tool("search_tools", {"queries": ["refund an order"], "max_results": 1})
    assert result.is_error is False
    assert result.structured_content is not None
    found = result.structured_content["tools"]
    assert [tool["name"] for tool in found] == ["shop__refund_order"]
    assert found[0]["namespace"] == "shop"
    assert (await client.list_tools(cache_mode="refresh")).tools == before.tools


async def test_details_hold_the_whole_schema_and_name_what_is_unknown(client: Client) -> None:
    names = ["shop__refund_order", "shop__nothing", "shop__refund_order"]
    result = await client.call_tool("get_tool_details", {"names": names})
    assert result.structured_content is not None
    [tool] = result.structured_content["tools"]
    assert tool["input_schema"] == {"type": "object", "properties": {"order_id": {"type": "string"}}}
    assert result.structured_content["unknown"] == ["shop__nothing"]


async def test_a_tool_left_out_for_another_parent_is_named_so_that_it_can_be_read_and_found() -> None:
    """By the name that is its own: many namespaces hold a tool that is plainly called the same."""
    about = {
        "logging": "Creates a sink that exports specified log entries to a destination. Export begins upon ingress, "
        "unless the sink's writer identity is not permitted to write to the destination.",
        "kitchen": "Installs a basin for the dishes below the window.",
    }
    tools = [
        ToolDefinition(name=f"{parent}.sinks.create", namespace=namespace, description=text)
        for namespace, text in about.items()
        for parent in ("projects", "folders")
    ]
    async with services_of(*tools) as services, Client(make_mcp_server(services)) as client:
        found = await client.call_tool("search_tools", {"queries": ["export log entries"], "max_results": 1})
        assert found.structured_content is not None
        [tool] = found.structured_content["tools"]
        assert (tool["name"], tool["also_as"]) == (
            "logging__projects--sinks--create",
            ["logging__folders--sinks--create"],
        )
        details = await client.call_tool("get_tool_details", {"names": tool["also_as"]})
        assert details.structured_content is not None
        assert details.structured_content["unknown"] == []
        asked = await client.call_tool("search_tools", {"queries": tool["also_as"], "max_results": 1})
        assert asked.structured_content is not None
        assert [one["name"] for one in asked.structured_content["tools"]] == tool["also_as"]


async def test_bad_arguments_are_results_that_the_model_can_read() -> None:
    bad: list[tuple[str, dict[str, Any], str]] = [
        ("search_tools", {}, "queries"),
        ("search_tools", {"queries": []}, "queries"),
        ("search_tools", {"queries": ["a"] * 6}, "queries"),
        ("search_tools", {"queries": ["a"], "max_results": "many"}, "max_results"),
        ("search_tools", {"query": "refund"}, "did you mean 'queries'"),
        ("get_tool_details", {"names": "x"}, "names"),
    ]
    async with services_of() as services, Client(make_mcp_server(services)) as client:
        for name, arguments, word in bad:
            result = await client.call_tool(name, arguments)
            assert result.is_error is True
            assert isinstance(result.content[0], TextContent)
            assert word in result.content[0].text


async def test_an_unknown_tool_is_a_protocol_error(client: Client) -> None:
    with pytest.raises(MCPError, match="Unknown tool") as caught:
        await client.call_tool("delete_everything", {})
    assert caught.value.code == -32602


async def test_an_empty_answer_says_where_to_look(client: Client) -> None:
    result = await client.call_tool("search_tools", {"queries": ["refund"], "namespace": "elsewhere"})
    assert result.structured_content is not None
    assert result.structured_content["tools"] == []
    assert "Namespaces there are: shop" in result.structured_content["note"]


async def test_the_list_may_be_cached_by_its_reader_only() -> None:
    async with services_of() as services, Client(make_mcp_server(services)) as client:
        listed = await client.list_tools()
    assert listed.cache_scope == "private"
    assert listed.ttl_ms == 300_000


async def test_a_model_may_not_ask_for_more_results_than_the_operator_allows() -> None:
    settings = GatewaySettings(loop=ToolLoopSettings(max_results=1))
    async with (
        services_of(REFUND, LIST_ORDERS, settings=settings) as services,
        Client(make_mcp_server(services)) as client,
    ):
        result = await client.call_tool("search_tools", {"queries": ["orders of a customer"], "max_results": 20})
    assert result.structured_content is not None
    assert len(result.structured_content["tools"]) == 1


async def test_many_clients_may_call_at_once() -> None:
    async with services_of(REFUND) as services, served(build_app(services), lifespan=True) as url:

        async def search() -> None:
            async with Client(f"{url}/mcp") as client:
                result = await client.call_tool("search_tools", {"queries": ["refund an order"]})
                assert result.is_error is False

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(search)


def test_hints_for_another_hop_are_left_out_at_every_depth() -> None:
    schema = {"properties": {"a": {"x-mcp-header": "A", "items": [{"x-mcp-header": "B", "type": "string"}]}}}
    assert without_transport_hints(schema) == {"properties": {"a": {"items": [{"type": "string"}]}}}


class Away(ForwardingToolIndex):
    """A catalog that cannot be read right now."""

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        raise StoreUnavailableError("http://qdrant.internal:6333 refused")

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        raise RemoteError("the gateway at http://gateway.internal cannot be reached")


@pytest.mark.parametrize(
    ("tool", "arguments"), [("search_tools", {"queries": ["a"]}), ("get_tool_details", {"names": ["a"]})]
)
async def test_a_catalog_that_is_away_is_a_result_that_the_model_can_go_on_with(
    tool: str, arguments: dict[str, Any]
) -> None:
    index = Away(memory_index())
    async with Client(build_mcp_server(index)) as client:
        result = await client.call_tool(tool, arguments)
    await index.aclose()
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    assert content.text.startswith("The catalog cannot answer right now.")
    assert "internal" not in content.text


async def test_nobody_is_given_a_stream_on_which_nothing_is_ever_said() -> None:
    async with services_of(REFUND) as services, http_client(services) as client:
        answer = await client.get("/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["code"] == -32600
