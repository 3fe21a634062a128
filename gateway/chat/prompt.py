"""What one model call is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.chat.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    wire: Mapping[str, Any] | None = None
    """The exact object a client sent for its own tool: passed on byte for byte instead of being rebuilt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How the model is called; `extra` holds wire fields we do not know, passed on untouched."""

    model: str = ""
    tool_choice: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`temperature`, `max_tokens`, `response_format` and the like."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """HTTP headers for the model's endpoint, beside its own; never part of the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages, the tools of this round in their order, and options."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: ChatOptions = field(default_factory=ChatOptions)

    @property
    def tool_choice_forbids_calls(self) -> bool:
        """Whether the model is told to call nothing."""
        return self.options.tool_choice == "none"
