"""Who runs which tool of the catalog."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from gateway.chat.messages import ToolCall
from gateway.errors import ToolExecutionError
from gateway.registry.mcp_upstream import McpConnect, McpSession
from gateway.registry.registry import ToolRegistry
from gateway.registry.remembered_sources import SOURCES_FILE, remembered_sources, server_place
from gateway.tools.context import ToolContext
from gateway.tools.loop_safety import ToolExecutionMetrics
from gateway.tools.manager import ToolCallingManager
from gateway.tools.mcp_callback import result_text
from indexer import CompletionKeys, ToolAnnotations, ToolDefinition, ToolExecutor
from tests.gateway.serving import memory_index

ORDER_SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}


def tool(name: str, executor: ToolExecutor, **fields: Any) -> ToolDefinition:
    return ToolDefinition(name=name, input_schema=ORDER_SCHEMA, executor=executor, **fields)


class Shop:
    """An MCP server of which only the calls matter."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.opened: list[str] = []
        self.folders: list[str | None] = []

    def connector(self, spec: str, folder: str | None) -> McpConnect:
        @asynccontextmanager
        async def connect(on_gone: Callable[[], None]) -> AsyncGenerator[McpSession]:
            self.opened.append(spec)
            self.folders.append(folder)
            yield self

        return connect

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        self.calls.append((name, arguments))
        return CallToolResult(content=[TextContent(type="text", text="done")], is_error=name == "fail")


@asynccontextmanager
async def registry_of(
    shop: Shop | None = None, sources: Mapping[str, str] | None = None
) -> AsyncGenerator[ToolRegistry]:
    registry = ToolRegistry(memory_index(), sources=lambda: sources or {}, connect=(shop or Shop()).connector)
    try:
        yield registry
    finally:
        await registry.aclose()


async def run(registry: ToolRegistry, definition: ToolDefinition, **arguments: object) -> tuple[str, bool]:
    """The text and the error mark that the model would get."""
    callback = registry.callback_for(definition, definition.name)
    call = ToolCall(id="1", name=definition.name, arguments=json.dumps(arguments))
    [response] = (await ToolCallingManager().execute([call], [callback])).responses
    return str(response.content), response.is_error


async def test_a_tool_that_nobody_here_runs_belongs_to_the_caller() -> None:
    async with registry_of() as registry:
        for executor in (ToolExecutor(), ToolExecutor(kind="http"), ToolExecutor(kind="mcp", config={"source": "?"})):
            callback = registry.callback_for(tool("a", executor), "a")
            assert callback.metadata.runs_here is False
            with pytest.raises(ToolExecutionError):
                await callback.call({}, ToolContext())


@pytest.mark.parametrize(
    ("declared", "hints", "repeatable"),
    [
        (None, ToolAnnotations(), False),
        (True, ToolAnnotations(), True),
        (None, ToolAnnotations(read_only=True), False),
        (None, ToolAnnotations(idempotent=True), False),
        (None, ToolAnnotations(read_only=True, idempotent=True), True),
        (False, ToolAnnotations(read_only=True, idempotent=True), False),
    ],
)
async def test_a_catalog_tool_is_repeatable_if_it_says_so_or_changes_nothing_and_may_be_repeated(
    declared: bool | None, hints: ToolAnnotations, repeatable: bool
) -> None:
    async with registry_of() as registry:
        for kind in ("simulated", "python"):
            definition = tool("poll", ToolExecutor(kind=kind), repeatable=declared, annotations=hints)
            assert registry.callback_for(definition, "poll").metadata.repeatable is repeatable


async def test_a_catalog_tool_that_declares_what_it_completes_collects_each_target_once() -> None:
    shop = Shop()
    async with registry_of(shop, {"shop": "mcp:shop-server"}) as registry:
        executor = ToolExecutor(kind="mcp", config={"source": "shop", "tool": "collect"})
        definition = tool("collect", executor, completion=CompletionKeys(("order_id",)))
        callback, guard = registry.callback_for(definition, "collect"), ToolExecutionMetrics()
        said: list[str] = []
        for order in ("A-1", "A-1", "all", "A-2"):
            call = ToolCall(id=order, name="collect", arguments=json.dumps({"order_id": order}))
            [response] = (await ToolCallingManager().execute([call], [callback], guard=guard)).responses
            said.append(str(response.content).partition(":")[0])
    assert said == ["done", "BLOCKED", "done", "BLOCKED"]
    assert [arguments["order_id"] for _, arguments in shop.calls] == ["A-1", "all"]


async def test_a_simulated_tool_checks_its_arguments_and_marks_its_answer() -> None:
    async with registry_of() as registry:
        definition = tool("refund", ToolExecutor(kind="simulated"))
        text, failed = await run(registry, definition, order_id="A-1")
        assert (json.loads(text)["simulated"], failed) == (True, False)
        text, failed = await run(registry, definition, order="A-1")
        assert failed
        assert "order_id" in text


async def test_tools_of_one_mcp_source_share_a_connection_that_the_first_call_opens() -> None:
    shop = Shop()
    async with registry_of(shop, {"shop": "mcp:shop-server"}) as registry:
        definition = tool("refund", ToolExecutor(kind="mcp", config={"source": "shop", "tool": "refund_order"}))
        other = tool("fail", ToolExecutor(kind="mcp", config={"source": "shop"}), return_direct=True)
        assert registry.callback_for(other, "fail").metadata.return_direct is True
        assert shop.opened == []
        assert await run(registry, definition, order_id="A-1") == ("done", False)
        assert (await run(registry, other, order_id="A-2"))[1] is True
    assert shop.opened == ["mcp:shop-server"]
    assert shop.calls == [("refund_order", {"order_id": "A-1"}), ("fail", {"order_id": "A-2"})]


async def test_a_server_is_started_in_the_folder_in_which_its_command_was_given() -> None:
    shop = Shop()
    definition = tool("refund", ToolExecutor(kind="mcp", config={"source": "shop", "tool": "refund_order"}))
    sources = {"shop": "mcp:shop-server --repository .", server_place("shop"): "/srv/shop"}
    async with registry_of(shop, sources) as registry:
        assert await run(registry, definition, order_id="A-1") == ("done", False)
    assert (shop.opened, shop.folders) == (["mcp:shop-server --repository ."], ["/srv/shop"])


async def test_a_damaged_list_of_sources_costs_the_tools_that_need_it_and_says_where_it_is_in_the_log_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop()
    registry = ToolRegistry(memory_index(), sources=partial(remembered_sources, tmp_path), connect=shop.connector)
    definition = tool("refund", ToolExecutor(kind="mcp", config={"source": "shop", "tool": "refund_order"}))
    python = ToolDefinition(name="now", executor=ToolExecutor(kind="python", config={"target": "nowhere_at_all:now"}))
    file = tmp_path / SOURCES_FILE
    file.write_text('{"sources": ')
    for one, arguments in ((definition, {"order_id": "A-1"}), (python, {})):
        text, failed = await run(registry, one, **arguments)
        assert failed
        assert "not available" in text
        assert str(tmp_path) not in text
    assert f"{file} cannot be read" in caplog.text
    file.write_text('{"sources": {"shop": "mcp:shop-server"}}')
    assert await run(registry, definition, order_id="A-1") == ("done", False)
    await registry.aclose()


async def test_a_python_tool_runs_its_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_tools.py").write_text(
        "def refund(order_id: str) -> dict[str, str]:\n"
        '    """Refund an order."""\n'
        '    return {"refunded": order_id}\n'
        "class Orders:\n"
        "    @staticmethod\n"
        "    async def cancel(order_id: str) -> None:\n"
        '        """Cancel an order."""\n'
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    try:
        async with registry_of() as registry:
            refund = tool("refund", ToolExecutor(kind="python", config={"target": "shop_tools:refund"}))
            assert await run(registry, refund, order_id="A-1") == ('{"refunded":"A-1"}', False)
            cancel = tool("cancel", ToolExecutor(kind="python", config={"target": "shop_tools:Orders.cancel"}))
            assert await run(registry, cancel, order_id="A-1") == ("Done", False)
            assert (await run(registry, refund, order="A-1"))[1] is True
    finally:
        sys.modules.pop("shop_tools", None)


async def test_a_python_tool_is_found_again_in_the_folder_that_it_was_indexed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corner_shop.py").write_text("def greet(order_id: str) -> str:\n    return f'hello {order_id}'\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        async with registry_of(sources={"python:corner_shop": str(tmp_path)}) as registry:
            greet = tool("greet", ToolExecutor(kind="python", config={"target": "corner_shop:greet"}))
            assert await run(registry, greet, order_id="A-1") == ("hello A-1", False)
    finally:
        sys.modules.pop("corner_shop", None)


@pytest.mark.parametrize("target", ["no_such_module:f", "json:nothing", "json", "", "json:__name__"])
async def test_a_python_tool_that_is_gone_fails_alone_and_does_not_say_where_it_was(target: str) -> None:
    async with registry_of() as registry:
        text, failed = await run(
            registry, tool("x", ToolExecutor(kind="python", config={"target": target})), order_id="1"
        )
    assert failed
    assert "cannot load its code" in text
    assert "no_such_module" not in text


async def test_a_name_resolves_to_what_is_registered_now_and_to_nothing_once_deleted() -> None:
    async with registry_of() as registry:
        definition = tool("refund", ToolExecutor(kind="simulated"))
        await registry.register([definition])
        found = await registry.resolve("refund", ToolContext())
        assert found is not None
        assert found.metadata.runs_here is True
        assert await registry.resolve("refund", ToolContext(tenant="other")) is None
        await registry.delete([definition.key])
        assert await registry.resolve("refund", ToolContext()) is None


def test_parts_of_a_result_that_are_no_text_are_described() -> None:
    result = CallToolResult(
        content=[TextContent(type="text", text="a"), ImageContent(type="image", data="AAAA", mime_type="image/png")]
    )
    assert result_text(result) == "a\n[image, image/png, 3 bytes]"
    assert result_text(CallToolResult(content=[], structured_content={"a": 1})) == '{"a": 1}'
    huge = CallToolResult(content=[TextContent(type="text", text="x" * 300_000)])
    assert result_text(huge).endswith("[cut here: 100000 more characters]")


async def test_a_source_that_is_indexed_anew_or_taken_out_loses_the_connection_that_it_had() -> None:
    """A gateway that runs for weeks must not go on with the command, or the server, of the day before."""
    before = asyncio.all_tasks()
    shop = Shop()
    sources = {"shop": "mcp:old-server"}
    definition = tool("refund", ToolExecutor(kind="mcp", config={"source": "shop", "tool": "refund_order"}))
    async with registry_of(shop, sources) as registry:
        first = registry.callback_for(definition, "refund")
        for _ in range(2):
            assert await run(registry, definition, order_id="A-1") == ("done", False)
        sources["shop"] = "mcp:new-server"
        assert await run(registry, definition, order_id="A-2") == ("done", False)
        assert shop.opened == ["mcp:old-server", "mcp:new-server"]
        del sources["shop"]
        assert not registry.callback_for(definition, "refund").metadata.runs_here
        assert first.metadata.runs_here
    assert asyncio.all_tasks() == before


async def test_a_list_of_sources_that_gets_damaged_keeps_the_connections_there_are(tmp_path: Path) -> None:
    shop = Shop()
    registry = ToolRegistry(memory_index(), sources=partial(remembered_sources, tmp_path), connect=shop.connector)
    definition = tool("refund", ToolExecutor(kind="mcp", config={"source": "shop", "tool": "refund_order"}))
    (tmp_path / SOURCES_FILE).write_text('{"sources": {"shop": "mcp:shop-server"}}')
    assert await run(registry, definition, order_id="A-1") == ("done", False)
    (tmp_path / SOURCES_FILE).write_text('{"sources": ')
    assert await run(registry, definition, order_id="A-2") == ("done", False)
    assert shop.opened == ["mcp:shop-server"]
    await registry.aclose()
