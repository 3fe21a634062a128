"""What is said in a conversation, in a form that no single model API owns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Content: TypeAlias = str | tuple[Mapping[str, Any], ...]
"""Plain text, or content parts in OpenAI's shape, passed on untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to run a tool; `arguments` is the JSON text just as the model wrote it."""

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Unknown wire fields of the call (a provider's signature, say), passed on untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """What the application tells the model, before or beside what the user says."""

    content: Content
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Unknown wire fields (`name`, `cache_control`), passed on untouched; `role` of developer messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What the user says."""

    content: Content
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """What the model says, the tools that it wants to run, or both."""

    content: Content = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """The model's thinking, where the provider returns it."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResponse:
    """What one call gave back, as text for the model."""

    id: str
    """The call's id."""
    name: str
    content: Content
    is_error: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Unknown wire fields of the message, passed on untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResponseMessage:
    """The responses to one assistant message's calls, in call order."""

    responses: tuple[ToolResponse, ...]


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResponseMessage


def text_of(content: Content) -> str:
    """The text of a content, parts joined by line breaks; parts that are not text are left out."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if isinstance(part.get("text"), str))
