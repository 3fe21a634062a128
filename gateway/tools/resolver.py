"""From a name or a definition to a tool that can be called."""

from collections.abc import Iterable
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


class StaticToolCallbackResolver:
    """Finds tools in a fixed list; the first of a name counts."""

    def __init__(self, callbacks: Iterable[ToolCallback]) -> None:
        self._callbacks: dict[str, ToolCallback] = {}
        for callback in callbacks:
            self._callbacks.setdefault(callback.spec.name, callback)

    async def resolve(self, name: str, context: ToolContext) -> ToolCallback | None:
        return self._callbacks.get(name)


class DelegatingToolCallbackResolver:
    """Asks several resolvers in turn; the first that knows the name answers."""

    def __init__(self, *resolvers: ToolCallbackResolver) -> None:
        self._resolvers = resolvers

    async def resolve(self, name: str, context: ToolContext) -> ToolCallback | None:
        for resolver in self._resolvers:
            if (callback := await resolver.resolve(name, context)) is not None:
                return callback
        return None
