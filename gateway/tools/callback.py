"""A tool that the loop can show to a model and, if it is ours to run, run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.tools.context import ToolContext
from indexer import CompletionKeys, ToolDefinition

__all__ = ["CompletionKeys", "ToolCallback", "ToolMetadata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMetadata:
    """How the loop treats a tool."""

    return_direct: bool = False
    """Its result is the run's answer, if every tool of the round says so."""
    runs_here: bool = True
    """False: the call belongs to the caller, and is returned to it."""
    checks_arguments: bool = False
    """The tool checks its arguments itself; others are held to their schema before they run."""
    repeatable: bool = False
    """The same call may be made again and again: a poller, or `next_page`."""
    completion: CompletionKeys | None = None
    """What its calls collect, if it is a tool of which one call a target is enough."""

    @classmethod
    def of(cls, definition: ToolDefinition) -> "ToolMetadata":
        """How the loop treats a catalog tool, as its owner declares it.

        Where `repeatable` is not said, the hints of MCP are asked. They are the publisher's word, and a guard is
        loosened by it only for a tool that says both that it changes nothing and that a call may be repeated:
        `readOnlyHint` alone is true of most tools that loops hang on, and a write that is idempotent is done once.
        """
        hints = definition.annotations
        hinted = hints.read_only is True and hints.idempotent is True
        return cls(
            return_direct=definition.return_direct,
            repeatable=hinted if definition.repeatable is None else definition.repeatable,
            completion=definition.completion,
        )


def spec_of(definition: ToolDefinition, alias: str) -> ToolSpec:
    """A catalog tool as the model sees it, under the name that it has there."""
    return ToolSpec(
        name=alias, description=definition.description or definition.title, parameters=definition.input_schema
    )


class ToolCallback(Protocol):
    """One tool: what the model sees, how the loop treats it, and how to run it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def metadata(self) -> ToolMetadata: ...

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """Run it; the result as the model reads it. Raises: ToolError."""
        ...
