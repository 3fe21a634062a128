"""A tool that the loop can show to a model and, if it is ours to run, run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class CompletionKeys:
    """What the calls of a tool are about: a target that was collected once is not collected again in the same run."""

    arguments: tuple[str, ...]
    """The arguments that name the target; one that is a list names several."""
    everything: frozenset[str] = frozenset({"all", "*"})
    """Values that mean every target there is."""


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


class ToolCallback(Protocol):
    """One tool: what the model sees, how the loop treats it, and how to run it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def metadata(self) -> ToolMetadata: ...

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """Run it; the result as the model reads it. Raises: ToolError."""
        ...
