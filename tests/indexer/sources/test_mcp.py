"""The tools of real MCP servers, and of ones that fail."""

import shlex
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import mcp_types as types
import pytest
from mcp.server import Server

from indexer.definition import CompletionKeys, ToolExecutor
from indexer.sources import SourceOptions, open_source
from indexer.sources.mcp import McpSource, name_of_target, without_header_hints
from indexer.validation import judge
from tests.gateway.serving import served
from tests.indexer.sources.reading import failure, read

PROGRAM = Path(__file__).with_name("mcp_server_program.py")
ODD_PROGRAM = Path(__file__).with_name("odd_mcp_server.py")


def running(code: str) -> str:
    """The command that runs a line of Python as a server that knows nothing of MCP."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("npx -y @modelcontextprotocol/server-everything", "everything"),
        ("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp", "filesystem"),
        ("uvx mcp-server-git --repository .", "git"),
        ("uv run tools/weather_mcp.py", "weather"),
        ("python /opt/server.py", "server"),
        ("/usr/local/bin/github-mcp-server stdio", "github"),
        ("docker run -i mcp/time", "time"),
        ("https://mcp.example.com/mcp", "mcp.example.com"),
        ("http://localhost:3000/mcp", "localhost-3000"),
        ("npx", "npx"),
    ],
)
def test_a_source_is_named_by_its_command_or_host(target: str, name: str) -> None:
    assert name_of_target(target) == name


def test_every_page_of_a_server_on_stdio_is_read() -> None:
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))}"
    taken, refused = read(open_source(f"mcp:{command}", SourceOptions(namespace="adder")))
    assert refused == []
    assert [definition.name for definition in taken] == [f"tool_{n}" for n in range(7)]
    first = taken[0]
    assert (first.namespace, first.title, first.annotations.read_only) == ("adder", "Tool 0", True)
    assert first.input_schema["properties"]["a"] == {"type": "integer"}
    assert first.output_schema == {"type": "object", "properties": {"sum": {"type": "integer"}}}
    assert first.executor == ToolExecutor(kind="mcp", config={"source": "adder", "tool": "tool_0"})
    assert (first.repeatable, first.completion) == (True, CompletionKeys(("a",)))
    assert judge(first) is None


def bad_tools() -> list[types.Tool]:
    schema = {"type": "object"}
    return [
        types.Tool(name="good", input_schema=schema),
        types.Tool(name="good", input_schema=schema),
        types.Tool(name="a\u202eb", input_schema=schema),
        types.Tool(name="long", description="x" * 1_000_000, input_schema=schema),
        types.Tool(name="remote", input_schema={"type": "object", "allOf": [{"$ref": "http://127.0.0.1:9/x"}]}),
    ]


async def test_a_server_over_http_is_read_inside_a_running_loop_and_bad_tools_are_told() -> None:
    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=bad_tools())

    server = Server("says-it-is-github", on_list_tools=list_tools)
    async with served(server.streamable_http_app(stateless_http=True), lifespan=True) as url:
        source = open_source(f"mcp:{url}/mcp")
        taken, refused = await anyio.to_thread.run_sync(read, source)
    assert source.name.startswith("127.0.0.1-")
    assert [(definition.namespace, definition.name) for definition in taken] == [
        (source.name, "good"),
        (source.name, "remote"),
    ]
    assert [(entry.place, entry.field) for entry in refused] == [
        ("tools[1]", "name"),
        ("tools[2]", "name"),
        ("tools[3]", "description"),
    ]
    problem = judge(taken[1])
    assert problem is not None
    assert "nothing is fetched" in problem.reason


def test_a_server_that_greets_on_stdout_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    greeting = f"echo Welcome!; exec {shlex.quote(sys.executable)} {shlex.quote(str(ODD_PROGRAM))}"
    taken, _ = read(McpSource(f"sh -c {shlex.quote(greeting)}"))
    assert taken[0].name == "first"
    assert caplog.records == []


def test_a_tool_that_breaks_the_types_of_the_protocol_does_not_stop_the_rest() -> None:
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(ODD_PROGRAM))}"
    taken, refused = read(open_source(f"mcp:{command}", SourceOptions(namespace="odd")))
    assert [definition.name for definition in taken] == ["first", "listing", "no_schema", "bad_icons", "last"]
    assert taken[1].output_schema == {"type": "array"}
    assert [judge(definition) for definition in taken] == [None] * 5
    assert [(entry.place, entry.field) for entry in refused] == [
        ("tools[4]", "name"),
        ("tools[5]", "tools[5]"),
        ("tools[6]", "input_schema"),
    ]


@pytest.mark.parametrize(("answer", "said"), [("empty", "holds no tools"), ("circular", "its pages do not end")])
async def test_a_server_without_tools_or_without_end_is_told(answer: str, said: str) -> None:
    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        if answer == "empty":
            return types.ListToolsResult(tools=[])
        return types.ListToolsResult(tools=bad_tools()[:1], next_cursor="again")

    server = Server("odd", on_list_tools=list_tools)
    async with served(server.streamable_http_app(stateless_http=True), lifespan=True) as url:
        error = await anyio.to_thread.run_sync(failure, open_source(f"mcp:{url}/mcp"))
    assert said in error.reason


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no such setting: TOKEN')", "it last wrote: no such setting: TOKEN"),
        ("import sys; input(); sys.stderr.write('out of\\nmemory'); sys.exit(3)", "it last wrote: out of / memory"),
    ],
    ids=["at its start", "when it is asked"],
)
def test_a_server_that_dies_leaves_its_last_words(code: str, said: str) -> None:
    error = failure(McpSource(running(code), timeout_seconds=20))
    assert said in error.reason
    assert error.fix


def test_a_server_that_never_answers_is_given_up() -> None:
    error = failure(McpSource(running("import sys\nfor line in sys.stdin: pass"), timeout_seconds=0.5))
    assert "did not answer within 0.5 seconds" in error.reason


def test_a_command_that_is_not_there_is_named() -> None:
    error = failure(open_source("mcp:no-such-command --flag"))
    assert "there is no command 'no-such-command'" in error.reason


def test_a_command_line_with_open_quotes_is_told() -> None:
    assert "is no command line" in failure(open_source("mcp:npx 'x")).reason


def test_a_url_that_cannot_be_reached_is_told() -> None:
    error = failure(open_source("mcp:http://127.0.0.1:9/mcp"))
    assert error.reason.startswith("failed: ")
    assert "Check that the server runs" in error.fix


def test_header_hints_are_taken_out_and_nothing_else() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {}}}
    cleaned: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}
    assert without_header_hints(schema) == cleaned
    assert without_header_hints({"type": "object"}) == {"type": "object"}
