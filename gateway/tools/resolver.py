"""From a name or a definition to a tool that can be called."""

from typing import Protocol

from gateway.tools.callback import ToolCallback
from gateway.tools.context import ToolContext
from indexer import ToolDefinition


class ToolCallbackResolver(Protocol):
    """Finds the callback behind the name a model used."""

    async def resolve(self, name: str, context: ToolContext) -> ToolCallback | None:
        """The callback this caller may use under that name, or None."""
        ...


class ToolCallbackFactory(Protocol):
    """Makes callbacks of catalog definitions, by who executes them."""

    def callback_for(self, definition: ToolDefinition, alias: str) -> ToolCallback:
        """A callback for an active definition in the caller's scope; one nobody here can run belongs to the caller."""
        ...
