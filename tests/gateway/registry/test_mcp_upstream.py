"""A connection that outlives its server."""

import asyncio
import shlex
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import CallToolResult, TextContent

from gateway.app import build_app
from gateway.errors import ConfigurationError, ToolExecutionError
from gateway.registry.mcp_connect import READ_TIMEOUT_SECONDS, connector
from gateway.registry.mcp_upstream import McpSession, SupervisedMcpConnection
from gateway.settings import GatewaySettings
from gateway.tools.mcp_callback import result_text
from tests.gateway.serving import served, services_of

SERVER = Path(__file__).parents[1] / "mortal_mcp_server.py"
ODD_SERVER = Path(__file__).parents[2] / "indexer" / "sources" / "odd_mcp_server.py"


def text_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


class FakeServer:
    """Connections to a server that can be up, down, or go away."""

    def __init__(self, *, up: bool = True) -> None:
        self.up = up
        self.connections = 0
        self.opened = asyncio.Event()
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self._on_gone: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def connect(self, on_gone: Callable[[], None]) -> AsyncGenerator[McpSession]:
        if not self.up:
            raise ConnectionRefusedError("nobody listens")
        self.connections += 1
        self._on_gone = on_gone
        self.opened.set()
        yield self

    def die(self) -> None:
        self._on_gone()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        match name:
            case "wait":
                self.started.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self.cancelled.set()
                    raise
            case "closed":
                raise MCPError(-32000, "Connection closed")
            case "refused":
                raise MCPError(-32602, "no such tool")
            case "refused at length":
                raise MCPError(-32602, "no " * 100_000)
            case "broken":
                raise RuntimeError("Invalid structured content returned by tool broken")
            case _:
                pass
        return text_result(f"{name} {arguments}")


@asynccontextmanager
async def connected(server: FakeServer) -> AsyncGenerator[SupervisedMcpConnection]:
    connection = SupervisedMcpConnection("shop", server.connect)
    try:
        with anyio.fail_after(20):
            yield connection
    finally:
        await connection.aclose()


async def test_calls_share_one_connection() -> None:
    server = FakeServer()
    async with connected(server) as connection:
        results = await asyncio.gather(*(connection.call_tool("echo", {"n": n}) for n in range(20)))
    assert [result_text(result) for result in results] == [f"echo {{'n': {n}}}" for n in range(20)]
    assert server.connections == 1


async def test_a_call_under_way_fails_at_once_when_the_server_goes_and_the_next_one_reconnects() -> None:
    server = FakeServer()
    async with connected(server) as connection:
        running = asyncio.create_task(connection.call_tool("wait", {}))
        await server.started.wait()
        server.die()
        with pytest.raises(ToolExecutionError, match="lost while the tool ran.*not known"):
            await running
        assert result_text(await connection.call_tool("echo", {})) == "echo {}"
    assert server.connections == 2


async def test_a_connection_that_a_call_finds_closed_is_replaced() -> None:
    server = FakeServer()
    async with connected(server) as connection:
        with pytest.raises(ToolExecutionError, match="lost"):
            await connection.call_tool("closed", {})
        assert result_text(await connection.call_tool("echo", {})) == "echo {}"


async def test_a_server_that_stays_down_fails_calls_quickly_and_one_that_comes_back_serves_again() -> None:
    server = FakeServer(up=False)
    async with connected(server) as connection:
        for _ in range(2):
            with pytest.raises(ToolExecutionError, match="'shop' cannot be reached .connecting.*go on without it"):
                await connection.call_tool("echo", {})
        server.up = True
        await server.opened.wait()
        assert connection.connected
        assert result_text(await connection.call_tool("echo", {})) == "echo {}"


@pytest.mark.parametrize(
    "failure",
    [
        FileNotFoundError(2, "No such file or directory", "/opt/hidden/server"),
        PermissionError(13, "Permission denied", "/opt/hidden/server"),
        ConnectionError("https://hidden.example/mcp?token=hidden refused"),
        ExceptionGroup("hidden", [ExceptionGroup("hidden", [ValueError("hidden --token=hidden")])]),
    ],
)
async def test_why_a_server_cannot_be_reached_is_told_without_its_command_or_address(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def connect(on_gone: Callable[[], None]) -> AsyncGenerator[McpSession]:
        raise failure
        yield FakeServer()

    connection = SupervisedMcpConnection("shop", connect)
    try:
        with anyio.fail_after(20), pytest.raises(ToolExecutionError, match="'shop' cannot be reached") as told:
            await connection.call_tool("echo", {})
    finally:
        await connection.aclose()
    assert "hidden" not in str(told.value)
    assert "hidden" in caplog.text


async def test_a_command_that_is_not_there_is_not_named() -> None:
    connection = SupervisedMcpConnection("shop", connector("mcp:/opt/hidden/server --token=hidden"))
    try:
        with anyio.fail_after(30), pytest.raises(ToolExecutionError, match="'shop' cannot be reached") as told:
            await connection.call_tool("echo", {})
    finally:
        await connection.aclose()
    assert "hidden" not in str(told.value)


async def test_refusals_and_bad_results_fail_the_call_and_keep_the_connection() -> None:
    server = FakeServer()
    async with connected(server) as connection:
        with pytest.raises(ToolExecutionError, match="refused the call: no such tool"):
            await connection.call_tool("refused", {})
        with pytest.raises(ToolExecutionError, match="not valid"):
            await connection.call_tool("broken", {})
        await connection.call_tool("echo", {})
    assert server.connections == 1


async def test_a_cancelled_caller_cancels_the_call_on_the_server() -> None:
    server = FakeServer()
    async with connected(server) as connection:
        running = asyncio.create_task(connection.call_tool("wait", {}))
        await server.started.wait()
        running.cancel()
        await server.cancelled.wait()
        await connection.call_tool("echo", {})
    assert server.connections == 1


async def test_closing_ends_calls_and_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    server = FakeServer()
    connection = SupervisedMcpConnection("shop", server.connect)
    running = asyncio.create_task(connection.call_tool("wait", {}))
    await server.started.wait()
    await connection.aclose()
    with pytest.raises(ToolExecutionError, match="shutting down"):
        await running
    assert asyncio.all_tasks() == before


async def test_a_real_server_that_is_killed_in_mid_call_is_started_again() -> None:
    connection = SupervisedMcpConnection("mortal", connector(f"mcp:{sys.executable} {SERVER}"))
    try:
        with anyio.fail_after(60):
            first = result_text(await connection.call_tool("pid", {}))
            waiting = asyncio.create_task(connection.call_tool("wait", {}))
            for call in (connection.call_tool("die", {}), waiting):
                with pytest.raises(ToolExecutionError, match="lost while the tool ran"):
                    await call
            assert result_text(await connection.call_tool("pid", {})) != first
    finally:
        await connection.aclose()


async def test_a_command_with_a_relative_path_runs_in_its_folder_if_that_is_still_there(tmp_path: Path) -> None:
    for folder, server in ((str(SERVER.parent), SERVER.name), (str(tmp_path / "gone"), str(SERVER))):
        connection = SupervisedMcpConnection("mortal", connector(f"mcp:{sys.executable} {server}", folder))
        try:
            with anyio.fail_after(60):
                assert result_text(await connection.call_tool("pid", {})).isdigit()
        finally:
            await connection.aclose()


async def test_a_listed_tool_that_breaks_the_protocol_stops_no_call() -> None:
    connect = connector(f"mcp:{shlex.quote(sys.executable)} {shlex.quote(str(ODD_SERVER))}")
    connection = SupervisedMcpConnection("odd", connect)
    try:
        with anyio.fail_after(30):
            for name in ("first", "listing", "no_schema"):
                assert result_text(await connection.call_tool(name, {"a": "x"})) == f"ran {name}"
    finally:
        await connection.aclose()


@pytest.mark.parametrize(
    ("spec", "word"), [("mcp:", "names no server"), ("mcp:   ", "names no server"), ("mcp:a 'b", "quotes")]
)
def test_a_specification_that_names_no_server_says_what_to_write(spec: str, word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        connector(spec)


def test_a_tool_may_run_as_long_as_the_operator_lets_it() -> None:
    """A connection that gave up sooner would fail calls that the tool loop still waits for."""
    longest = GatewaySettings.from_environment({"TOOLSCOUT_TOOL_TIMEOUT": "3600"}).loop.tool_timeout_seconds
    assert longest < READ_TIMEOUT_SECONDS


async def test_a_call_that_is_never_answered_fails_and_keeps_the_connection() -> None:
    connect = connector(f"mcp:{shlex.quote(sys.executable)} {shlex.quote(str(SERVER))}", read_timeout_seconds=0.5)
    connection = SupervisedMcpConnection("mortal", connect)
    try:
        with anyio.fail_after(60):
            pid = result_text(await connection.call_tool("pid", {}))
            with pytest.raises(ToolExecutionError, match="refused the call"):
                await connection.call_tool("wait", {})
            assert result_text(await connection.call_tool("pid", {})) == pid
    finally:
        await connection.aclose()


async def test_what_a_server_says_of_a_failure_is_cut() -> None:
    async with connected(FakeServer()) as connection:
        with pytest.raises(ToolExecutionError, match="refused the call: no no") as refused:
            await connection.call_tool("refused at length", {})
    assert len(str(refused.value)) < 1100


async def test_a_server_over_http_is_reached() -> None:
    async with services_of() as services, served(build_app(services), lifespan=True) as url:
        connection = SupervisedMcpConnection("http", connector(f"mcp:{url}/mcp"))
        try:
            with anyio.fail_after(30):
                result = await connection.call_tool("search_tools", {"queries": ["anything"]})
        finally:
            await connection.aclose()
    assert "holds no tools yet" in result_text(result)
