"""One supervised connection to an MCP server.

A client of the MCP SDK that has lost its server stays dead, and takes the task it lives in with it. So a supervisor
starts each attempt as a task of its own, hands it calls through a queue, and starts the next attempt, after a pause,
when one ends. A call that was under way then fails at once and is never repeated: it may have run.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from gateway.errors import ToolExecutionError

if TYPE_CHECKING:
    from mcp_types import CallToolResult

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0
_PATIENT_FAILURES: Final = 3
"""Attempts in a row that may fail before calls stop waiting for the next one."""


_MAX_ERROR_TEXT: Final = 1000
"""Characters: a server's refusal may be of any length, and the SDK's complaint holds the whole result."""


class McpSession(Protocol):
    """What the supervisor needs of an open client."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> "CallToolResult": ...


McpConnect = Callable[[Callable[[], None]], AbstractAsyncContextManager[McpSession]]
"""Opens a fresh client; calls what it is given when the server is seen to be gone."""


class _ClosedError(ConnectionError):
    """The server ended a connection that was open."""


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: Mapping[str, Any]
    result: "asyncio.Future[CallToolResult]"


class SupervisedMcpConnection:
    """Keeps one MCP server connected from the first call on, until it is closed."""

    def __init__(self, name: str, connect: McpConnect, *, connect_timeout_seconds: float = 20.0) -> None:
        self.name = name
        self._connect = connect
        self._connect_timeout_seconds = connect_timeout_seconds
        self._supervisor: asyncio.Task[None] | None = None
        self._calls: asyncio.Queue[_Call] = asyncio.Queue()
        self._pending: set[asyncio.Future[CallToolResult]] = set()
        self._connected = False
        self._failures = 0
        self._last_error = ""
        self._closed_because = ""
        self._state_changed = asyncio.Event()

    @property
    def connected(self) -> bool:
        return self._connected

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> "CallToolResult":
        """Run a tool there; connects first if need be.

        Raises: ToolExecutionError when the server cannot be reached or was lost while the call ran.
        """
        if self._supervisor is None:
            self._supervisor = asyncio.create_task(self._supervise(), name=f"mcp:{self.name}")
        await self._until_connected()
        result: asyncio.Future[CallToolResult] = asyncio.get_running_loop().create_future()
        self._pending.add(result)
        result.add_done_callback(self._pending.discard)
        self._calls.put_nowait(_Call(name, arguments, result))
        return await result

    async def aclose(self, reason: str = "the gateway is shutting down") -> None:
        """Disconnect, and end the server if it was started here; calls under way hear the reason."""
        supervisor, self._supervisor = self._supervisor, None
        self._closed_because = reason
        if supervisor is not None:
            supervisor.cancel()
            await asyncio.wait({supervisor})

    async def _until_connected(self) -> None:
        while not self._connected:
            if self._failures >= _PATIENT_FAILURES:
                raise ToolExecutionError(
                    f"The MCP server {self.name!r} cannot be reached ({self._last_error}); it is tried again in the "
                    "background. Do not call it again now: go on without it and say that it is unavailable."
                )
            await self._state_changed.wait()

    async def _supervise(self) -> None:
        """Start one attempt after the other; ends only by being cancelled."""
        while True:
            attempt = asyncio.create_task(self._serve(), name=f"mcp:{self.name}:attempt")
            try:
                await asyncio.wait({attempt})
            except asyncio.CancelledError:
                attempt.cancel()
                await asyncio.wait({attempt})
                self._disconnected(self._closed_because)
                raise
            self._attempt_ended(None if attempt.cancelled() else attempt.exception())
            pause = _FIRST_PAUSE_SECONDS * 2 ** max(0, self._failures - 1)
            await asyncio.sleep(min(pause, _LONGEST_PAUSE_SECONDS))

    def _attempt_ended(self, error: BaseException | None) -> None:
        # Only the first failure in a row is news: the supervisor may go on for days.
        level = logging.DEBUG if self._failures else logging.WARNING
        logger.log(level, "MCP server %r: not connected (%s)", self.name, _plain(error))
        self._failures += 1
        self._disconnected(_told(error))

    def _disconnected(self, reason: str) -> None:
        """Nothing reaches the server from now on; calls under way fail at once."""
        self._connected = False
        self._last_error = reason
        self._calls = asyncio.Queue()
        for result in tuple(self._pending):
            if not result.done():
                result.set_exception(
                    ToolExecutionError(
                        f"The MCP server {self.name!r} was lost while the tool ran ({reason}); whether the call took "
                        "effect is not known. Check before you repeat it."
                    )
                )
        self._announce()

    def _announce(self) -> None:
        changed, self._state_changed = self._state_changed, asyncio.Event()
        changed.set()

    async def _serve(self) -> None:
        """One connection: opened, used until it dies, closed; always in a task of its own."""
        gone = asyncio.Event()
        async with asyncio.timeout(self._connect_timeout_seconds) as limit, self._connect(gone.set) as session:
            limit.reschedule(None)
            self._failures = 0
            self._connected = True
            self._announce()
            async with asyncio.TaskGroup() as running:
                await self._hand_out_calls(session, gone, running)
                # Before the connection is closed in good order, which may take seconds.
                closed = _ClosedError("it closed the connection")
                self._disconnected(_told(closed))
                raise closed

    async def _hand_out_calls(self, session: McpSession, gone: asyncio.Event, running: asyncio.TaskGroup) -> None:
        watch = running.create_task(gone.wait())
        while not watch.done():
            take = running.create_task(self._calls.get())
            await asyncio.wait({watch, take}, return_when=asyncio.FIRST_COMPLETED)
            if not take.done():
                take.cancel()
                return
            call = take.result()
            if call.result.done():
                continue  # nobody waits for it any more
            task = running.create_task(self._run(session, call, gone))
            call.result.add_done_callback(_canceller(task))

    async def _run(self, session: McpSession, call: _Call, gone: asyncio.Event) -> None:
        import anyio
        from mcp import MCPError

        try:
            result = await session.call_tool(call.name, dict(call.arguments))
        except MCPError as error:
            if error.code == _CONNECTION_CLOSED:
                gone.set()
                return
            _fail(call, f"The MCP server {self.name!r} refused the call: {error.message[:_MAX_ERROR_TEXT]}")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            gone.set()
        except (RuntimeError, ValueError) as error:
            # The SDK's ways to say that a result is not what the tool's output schema or the protocol promises.
            told = str(error)[:_MAX_ERROR_TEXT]
            logger.warning("MCP server %r: bad result of %r: %s", self.name, call.name, told)
            _fail(call, f"The MCP server {self.name!r} gave a result of {call.name!r} that is not valid: {told}")
        else:
            if not call.result.done():
                call.result.set_result(result)


def _fail(call: _Call, message: str) -> None:
    if not call.result.done():
        call.result.set_exception(ToolExecutionError(message))


_CONNECTION_CLOSED: Final = -32000
"""JSON-RPC code by which the SDK says that its connection is gone for good."""


def _canceller(task: "asyncio.Task[None]") -> "Callable[[asyncio.Future[CallToolResult]], None]":
    """Hands a caller's cancellation on to the running call, so that the server hears of it."""

    def cancel(result: "asyncio.Future[CallToolResult]") -> None:
        if result.cancelled():
            task.cancel()

    return cancel


def _innermost(error: BaseException | None) -> BaseException | None:
    """The SDK wraps errors in groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _plain(error: BaseException | None) -> str:
    """The reason as the operator reads it, in the log."""
    error = _innermost(error)
    return _told(None) if error is None else f"{type(error).__name__}: {error}"


def _told(error: BaseException | None) -> str:
    """The reason as a model may read it: an error's own text can name the server's command, its paths or its URL."""
    match _innermost(error):
        case None:
            return "the connection was dropped"
        case TimeoutError():
            return "it did not answer in time"
        case FileNotFoundError() | PermissionError() | NotADirectoryError():
            return "it cannot be started"
        case _ClosedError():
            return "it closed the connection"
        case _:
            return "connecting to it failed"
