"""What one request says about its tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.tools.callback import ToolCallback
from gateway.tools.context import ToolContext
from indexer import SearchScope

TOOL_OPTIONS: Final = "tool_options"
"""Where `ToolCallingChatOptions` stand in a request's context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallingChatOptions:
    """The tools that a run may use beside those in its prompt, and whom they run for."""

    callbacks: tuple[ToolCallback, ...] = ()
    """Shown in every round, before anything from the catalog."""
    names: tuple[str, ...] = ()
    """Tools to be found by the loop's resolver, and shown after the callbacks."""
    context: ToolContext = field(default_factory=ToolContext)
    scope: SearchScope | None = None
    """The caller's view of the catalog; None: everything of the context's tenant."""
    max_rounds: int | None = None
    """Rounds in which tools may run; None: what the advisor allows."""
    eligible: Callable[[Any], str | None] | None = None
    """This request's own check beside that of `LoopLimits`, given the `ToolLoopRun`: why no more tools may run."""

    @property
    def search_scope(self) -> SearchScope:
        return self.scope if self.scope is not None else SearchScope(tenant=self.context.tenant)


def tool_options(context: Mapping[str, Any]) -> ToolCallingChatOptions:
    """The options in a request's context, or the defaults."""
    options = context.get(TOOL_OPTIONS)
    return options if isinstance(options, ToolCallingChatOptions) else ToolCallingChatOptions()
