"""The registry: one place that writes to the catalog, and that knows who runs each of its tools."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gateway.errors import ConfigurationError
from gateway.registry.executors import PythonToolCallback, SimulatedToolCallback, UnavailableTool
from gateway.registry.mcp_connect import connector
from gateway.registry.mcp_upstream import McpConnect, SupervisedMcpConnection
from gateway.registry.remembered_sources import python_place, server_place
from gateway.tools.callback import ToolCallback, ToolMetadata, spec_of
from gateway.tools.client_tool import CallerOwnedTool
from gateway.tools.context import ToolContext
from gateway.tools.mcp_callback import McpToolCallback
from indexer import (
    RegistrationReport,
    RejectedTool,
    SearchScope,
    ToolDefinition,
    ToolIndex,
    ToolKey,
)

logger = logging.getLogger(__name__)


class ToolRegistry:
    """Keeps the index and what can be called in step; makes the callbacks of catalog tools.

    A source's MCP connection is opened when one of its tools is first called, shared by all of them, and kept.
    """

    def __init__(
        self,
        index: ToolIndex,
        *,
        sources: Callable[[], Mapping[str, str]] = dict,
        connect: Callable[[str, str | None], McpConnect] = connector,
    ) -> None:
        self._index = index
        self._sources = sources
        self._connect = connect
        self._connections: dict[str, _Connected] = {}
        self._closing: set[asyncio.Future[None]] = set()

    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        """Add or change tools; the next search finds them, and what they call is what is registered now."""
        return await self._index.register(entries, progress=progress)

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """Delete tools; how many there were."""
        return await self._index.delete(keys)

    async def resolve(self, name: str, context: ToolContext) -> ToolCallback | None:
        """The callback behind a model-facing name, if this caller may use it."""
        found = await self._index.resolve([name], SearchScope(tenant=context.tenant))
        definition = found.get(name)
        return None if definition is None else self.callback_for(definition, name)

    def callback_for(self, definition: ToolDefinition, alias: str) -> ToolCallback:
        """The callback of a catalog tool; one that nothing here can run belongs to the caller."""
        spec = spec_of(definition, alias)
        metadata = ToolMetadata.of(definition)
        config = definition.executor.config
        match definition.executor.kind:
            case "simulated":
                return SimulatedToolCallback(spec=spec, definition=definition, metadata=metadata)
            case "python":
                checking = replace(metadata, checks_arguments=True)
                target = str(config.get("target", ""))
                return PythonToolCallback(spec=spec, target=target, folder_of=self._python_folder, metadata=checking)
            case "mcp":
                try:
                    connection = self._connection(str(config.get("source", "")))
                except ConfigurationError as error:
                    logger.error("the tool %s cannot be run: %s", definition.key, error)
                    return UnavailableTool(spec=spec, metadata=metadata)
                if connection is None:
                    return CallerOwnedTool(spec)
                tool_name = str(config.get("tool", definition.name))
                return McpToolCallback(spec=spec, tool_name=tool_name, caller=connection, metadata=metadata)
            case "client" | "http":
                # HTTP execution is not part of the gateway yet: such a call is the caller's to make.
                return CallerOwnedTool(spec)

    def _python_folder(self, module: str) -> str | None:
        try:
            return self._sources().get(python_place(module))
        except ConfigurationError as error:
            logger.error("the folder of the module %s is not known: %s", module, error)
            return None

    def _connection(self, source: str) -> SupervisedMcpConnection | None:
        """The one connection of a source; None for a source that the operator's list does not hold.

        The list counts as it is now: a source that was indexed anew, or taken out, loses the connection it had.
        Raises: ConfigurationError for a list that cannot be read, unless there is a connection already.
        """
        known = self._connections.get(source)
        try:
            sources = self._sources()
        except ConfigurationError:
            if known is None:
                raise
            return known.connection
        spec, folder = sources.get(source), sources.get(server_place(source))
        if known is not None and (known.spec, known.folder) == (spec, folder):
            return known.connection
        if known is not None:
            del self._connections[source]
            closing = asyncio.ensure_future(known.connection.aclose("the operator has changed its source"))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        if spec is None:
            return None
        connection = SupervisedMcpConnection(source, self._connect(spec, folder))
        self._connections[source] = _Connected(spec, folder, connection)
        return connection

    async def aclose(self) -> None:
        """Close every connection."""
        for known in self._connections.values():
            await known.connection.aclose()
        self._connections.clear()
        if self._closing:
            await asyncio.wait(self._closing)


class _Connected(NamedTuple):
    """A connection, and what the operator's list said of its source when it was made."""

    spec: str
    folder: str | None
    connection: SupervisedMcpConnection
