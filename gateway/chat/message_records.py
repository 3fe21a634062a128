"""Messages as JSON records, for whoever keeps them."""

from collections.abc import Mapping
from typing import Any

from gateway.chat.messages import (
    AssistantMessage,
    Content,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)


def message_to_record(message: Message) -> dict[str, Any]:
    """The JSON form of a message; `message_from_record` is its inverse."""
    match message:
        case SystemMessage():
            return {"kind": "system", "content": message.content, "extra": message.extra}
        case UserMessage():
            return {"kind": "user", "content": message.content, "extra": message.extra}
        case AssistantMessage():
            return {
                "kind": "assistant",
                "content": message.content,
                "reasoning": message.reasoning,
                "extra": message.extra,
                "tool_calls": [
                    {"id": call.id, "name": call.name, "arguments": call.arguments, "extra": call.extra}
                    for call in message.tool_calls
                ],
            }
        case ToolResponseMessage():
            return {
                "kind": "tool",
                "responses": [
                    {
                        "id": one.id,
                        "name": one.name,
                        "content": one.content,
                        "is_error": one.is_error,
                        "extra": one.extra,
                    }
                    for one in message.responses
                ],
            }


def message_from_record(record: Mapping[str, Any]) -> Message:
    """Read back what `message_to_record` wrote."""
    match record["kind"]:
        case "system":
            return SystemMessage(content=_content(record["content"]), extra=record["extra"])
        case "user":
            return UserMessage(content=_content(record["content"]), extra=record["extra"])
        case "assistant":
            return AssistantMessage(
                content=_content(record["content"]),
                reasoning=record["reasoning"],
                extra=record["extra"],
                tool_calls=tuple(ToolCall(**call) for call in record["tool_calls"]),
            )
        case "tool":
            return ToolResponseMessage(
                responses=tuple(
                    ToolResponse(
                        id=one["id"],
                        name=one["name"],
                        content=_content(one["content"]),
                        is_error=one["is_error"],
                        extra=one["extra"],
                    )
                    for one in record["responses"]
                )
            )
        case kind:
            raise ValueError(f"{kind!r} is no kind of message")


def _content(value: str | list[Mapping[str, Any]]) -> Content:
    return value if isinstance(value, str) else tuple(value)
