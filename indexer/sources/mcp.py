"""The tools of an MCP server, all pages of them, over stdio or streamable HTTP."""

import logging
import re
import shlex
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from indexer.definition import ToolDefinition, ToolExecutor
from indexer.errors import SourceError
from indexer.sources.entries import Entry, SourceOptions, placed, reported
from indexer.sources.json_text import as_object
from indexer.sources.mcp_listing import with_usable_lists
from indexer.validation import definition_from_json

if TYPE_CHECKING:
    from mcp import Client

TIMEOUT_SECONDS: Final = 60.0
"""For starting the server, connecting, and reading all pages."""
MAX_PAGES: Final = 1_000
MAX_TOOLS: Final = 100_000

_FIELDS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")
"""Of a listed tool; what else servers add to it says nothing about what it does."""
_STDERR_TAIL: Final = 600
_LAUNCHERS: Final = frozenset(
    {"npx", "uvx", "pipx", "bunx", "pnpm", "yarn", "npm", "bun", "deno", "node", "python", "python3", "uv", "docker"}
    | {"run", "exec", "dlx", "tool", "env", "sh", "bash", "x"}
)
_AFFIXES: Final = re.compile(r"^(?:mcp[-_])?(?:server[-_])?|(?:[-_]mcp)?(?:[-_]server)?$")


@dataclass(frozen=True)
class McpSource:
    """One MCP server. Its name, and so the namespace of its tools, is the operator's, never the server's own word."""

    target: str
    """A command line, or an http(s) URL."""
    options: SourceOptions = field(default_factory=SourceOptions)
    timeout_seconds: float = TIMEOUT_SECONDS

    @property
    def name(self) -> str:
        """The namespace that the operator gave, else what the command or the host is called."""
        return self.options.namespace or name_of_target(self.target)

    @property
    def spec(self) -> str:
        return f"mcp:{self.target}"

    @property
    def total(self) -> int | None:
        """Not known before the last page."""
        return None

    @cached_property
    def is_url(self) -> bool:
        return self.target.startswith(("http://", "https://"))

    @cached_property
    def command(self) -> list[str]:
        """The words of the command line. Raises: SourceError."""
        try:
            words = shlex.split(self.target)
        except ValueError as error:
            raise SourceError(self.spec, f"is no command line: {error}", fix="Check its quotes.") from error
        if not words:
            raise SourceError(self.spec, "names no server", fix="Write mcp:COMMAND ARGUMENTS or mcp:https://HOST/mcp")
        return words

    def entries(self) -> Iterator[Entry]:
        """Connects, reads every page and disconnects before the first entry is handed out."""
        return reported(self.name, placed(self._raw(), self._definition), self.options)

    def _raw(self) -> Iterator[tuple[str, object]]:
        yield from ((f"tools[{place}]", tool) for place, tool in enumerate(self._listed()))

    def _definition(self, tool: object, place: str) -> ToolDefinition:
        sent = as_object(tool)
        fields = {name: sent[name] for name in _FIELDS if sent.get(name) is not None}
        schema = fields.setdefault("inputSchema", {})
        if isinstance(schema, Mapping):
            fields["inputSchema"] = without_header_hints(cast(Mapping[str, Any], schema))
        return definition_from_json(
            fields if sent else tool,
            place=place,
            namespace=self.name,
            tenant=self.options.tenant,
            executor=ToolExecutor(kind="mcp", config={"source": self.name, "tool": sent.get("name", "")}),
        )

    def _listed(self) -> list[object]:
        """All tools, read in an event loop of its own: entries may be asked for inside another."""
        import tempfile

        from anyio.from_thread import start_blocking_portal

        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
            with _chatter_passed_over(), start_blocking_portal("asyncio") as portal:
                outcome = portal.call(self._attempt, stderr)
            if isinstance(outcome, list):
                return outcome
            cause = _innermost(outcome)
            reason = _told(cause, self.timeout_seconds) + _tail_of(stderr)
            raise SourceError(self.spec, reason, fix=self._fix(cause)) from outcome

    def _fix(self, error: BaseException) -> str:
        if isinstance(error, FileNotFoundError):
            return "Install it, or write its full path."
        if isinstance(error, SourceError):
            return error.fix
        return "Check that the server runs at that URL." if self.is_url else "Try the command in a terminal."

    async def _attempt(self, stderr: IO[str]) -> list[object] | BaseException:
        """The tools, or why there are none: the SDK cancels the task that owns a client whose server is gone."""
        import asyncio

        task = asyncio.create_task(self._read_all(stderr))
        try:
            await asyncio.wait({task}, timeout=self.timeout_seconds)
            timed_out = not task.done()
        finally:
            task.cancel()
            await asyncio.wait({task})
        if timed_out:
            return TimeoutError()
        if task.cancelled():
            return ConnectionError("the server closed the connection")
        return task.exception() or task.result()

    async def _read_all(self, stderr: IO[str]) -> list[object]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if self.is_url:
            server = streamable_http_client(self.target)
        else:
            words = self.command
            server = stdio_client(StdioServerParameters(command=words[0], args=words[1:]), errlog=cast(Any, stderr))
        tools: list[object] = []
        transport = with_usable_lists(server, on_tools=tools.extend)
        async with Client(transport, read_timeout_seconds=self.timeout_seconds) as client:
            await self._read_pages(client, tools)
        return tools

    async def _read_pages(self, client: "Client", tools: Sequence[object]) -> None:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen or len(tools) > MAX_TOOLS:
                break
            seen.add(cursor)
        raise SourceError(
            self.spec,
            f"its pages do not end: {len(tools):,} tools after {len(seen):,} cursors",
            fix="This is a fault of the server.",
        )


def name_of_target(target: str) -> str:
    """A short name out of a command or URL: the package or script behind launchers, or the host."""
    if target.startswith(("http://", "https://")):
        parts = urlsplit(target)
        return f"{parts.hostname}-{parts.port}" if parts.port else parts.hostname or "mcp"
    words = [word for word in target.split() if not word.startswith("-")]
    named = next((word for word in words if PurePath(word).name.lower() not in _LAUNCHERS), words[0] if words else "")
    stem = PurePath(named.rpartition("@")[0] or named).name
    stem = re.sub(r"\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", stem)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", _AFFIXES.sub("", stem) or stem).strip("-._") or "mcp"


def without_header_hints(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without `x-mcp-header`, which speaks to the server's own clients and not to a gateway's."""
    declared = as_object(schema.get("properties"))
    if not any("x-mcp-header" in as_object(value) for value in declared.values()):
        return dict(schema)
    kept = {
        name: {k: v for k, v in as_object(value).items() if k != "x-mcp-header"} for name, value in declared.items()
    }
    return {**schema, "properties": kept}


@contextmanager
def _chatter_passed_over() -> Generator[None]:
    """Many servers greet on stdout; the SDK passes such lines over, and writes a page into the log for each."""
    log = logging.getLogger("mcp.client.stdio")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _told(cause: BaseException, timeout_seconds: float) -> str:
    if isinstance(cause, SourceError):
        return cause.reason
    if isinstance(cause, TimeoutError):
        return f"did not answer within {timeout_seconds:g} seconds"
    if isinstance(cause, FileNotFoundError):
        return f"there is no command {cause.filename!r}"
    return f"failed: {' '.join(str(cause).split())[:300] or type(cause).__name__}"


def _tail_of(stderr: IO[str]) -> str:
    """The last lines that the server wrote before it died."""
    end = stderr.seek(0, 2)
    stderr.seek(max(0, end - 8 * _STDERR_TAIL))
    lines = [" ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", line).split()) for line in stderr]
    text = " / ".join([line for line in lines if line][-3:])
    return f"; it last wrote: {text[-_STDERR_TAIL:]}" if text else ""
