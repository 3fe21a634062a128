"""Catalog tools that the caller runs: shown to the model, never called here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.tools.callback import ToolCallback, ToolMetadata, spec_of
from gateway.tools.context import ToolContext
from indexer import ToolDefinition

_NOT_HERE: Final = ToolMetadata(runs_here=False)


@dataclass(frozen=True, slots=True)
class CallerOwnedTool:
    """A tool whose calls are returned to the caller."""

    spec: ToolSpec

    @property
    def metadata(self) -> ToolMetadata:
        return _NOT_HERE

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        raise ToolExecutionError(f"{self.spec.name} is run by the caller, not here")


@dataclass(frozen=True, slots=True)
class RenamedTool:
    """A callback under the name that the model sees."""

    callback: ToolCallback
    spec: ToolSpec

    @property
    def metadata(self) -> ToolMetadata:
        return self.callback.metadata

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        return await self.callback.call(arguments, context)


class ClientToolFactory:
    """Callbacks of catalog tools for programs without a registry: given ones run here, the rest is the caller's."""

    def __init__(self, callbacks: Iterable[ToolCallback] = ()) -> None:
        """`callbacks` are found by the name of the catalog tool, which `definitions_of` gives them."""
        self._callbacks = {callback.spec.name: callback for callback in callbacks}

    def callback_for(self, definition: ToolDefinition, alias: str) -> ToolCallback:
        spec = spec_of(definition, alias)
        callback = self._callbacks.get(definition.name)
        return CallerOwnedTool(spec) if callback is None else RenamedTool(callback, spec)


def definitions_of(callbacks: Iterable[ToolCallback], **fields: Any) -> list[ToolDefinition]:  # noqa: ANN401 - any field of a definition
    """Definitions to register for callbacks that this program runs itself; `fields` go into each of them."""
    return [
        ToolDefinition(
            name=callback.spec.name,
            description=callback.spec.description,
            input_schema=callback.spec.parameters,
            return_direct=callback.metadata.return_direct,
            repeatable=callback.metadata.repeatable or None,
            completion=callback.metadata.completion,
            **fields,
        )
        for callback in callbacks
    ]
