"""Lists of tools as an MCP server sent them: the SDK's client refuses a whole list for one tool of another shape."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mcp.client._transport import Transport, TransportStreams


@asynccontextmanager
async def with_usable_lists(
    transport: "Transport",
    *,
    on_tools: Callable[[Sequence[object]], object] | None = None,
    on_end: Callable[[], object] | None = None,
) -> "AsyncGenerator[TransportStreams, None]":
    """The same transport, whose lists of tools hold only what the SDK can take.

    `on_tools` is told each list as it was sent. `on_end` is called when the server's output ends, which the SDK's
    client keeps to itself.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    async with transport as (inner, write):
        send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        lists = _Lists(on_tools)

        async def forward() -> None:
            async with send:
                async for message in inner:
                    if isinstance(message, SessionMessage):
                        lists.mend(message)
                    await send.send(message)
            if on_end is not None:
                on_end()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward)
            yield read, write
            tasks.cancel_scope.cancel()


class _Lists:
    """Reads the answers of one connection, which say by themselves what they answer."""

    def __init__(self, on_tools: Callable[[Sequence[object]], object] | None) -> None:
        from mcp_types.version import LATEST_MODERN_VERSION

        self._on_tools = on_tools
        self._version: str = LATEST_MODERN_VERSION  # only the older handshake names another

    def mend(self, message: Any) -> None:  # noqa: ANN401  an SDK's message, imported late
        """Note a list of tools, and leave what the SDK cannot take out of it."""
        from mcp_types import JSONRPCResponse

        answer = message.message
        if not isinstance(answer, JSONRPCResponse):
            return
        version = answer.result.get("protocolVersion")
        if isinstance(version, str):
            self._version = version
        tools = answer.result.get("tools")
        if isinstance(tools, list):
            sent = cast(list[object], tools)
            if self._on_tools is not None:
                self._on_tools(sent)
            answer.result["tools"] = usable_tools(answer.result, self._version)


def usable_tools(result: Mapping[str, Any], version: str) -> list[object]:
    """The tools of a `tools/list` result that fit the protocol; all of them where the result itself does not."""
    tools = cast(list[object], result["tools"])
    if _fits(result, version) or not _fits({**result, "tools": []}, version):
        return tools
    return [tool for tool in tools if _fits({**result, "tools": [tool]}, version)]


def _fits(result: Mapping[str, Any], version: str) -> bool:
    from mcp_types import ListToolsResult
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError

    try:
        validate_server_result("tools/list", version, result)
        ListToolsResult.model_validate(result, by_name=False)
    except ValidationError:
        return False
    except (KeyError, ValueError):  # a version that the SDK has no types for, and checks nothing of
        return True
    return True
