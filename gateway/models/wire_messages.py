"""Messages and tool calls in OpenAI's chat-completions JSON, in both directions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import uuid4

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
from gateway.errors import InvalidRequestError
from gateway.models.wire_checks import array_at, kind_of, object_at, rest_of, string_at

REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
"""Where OpenAI-compatible servers put a model's thinking: the first is DeepSeek's, the second OpenRouter's."""


def messages_from_wire(entries: Sequence[object]) -> tuple[Message, ...]:
    """Messages in order, the results of one assistant message gathered in one ToolResponseMessage."""
    messages: list[Message] = []
    results: list[ToolResponse] = []
    names: dict[str, str] = {}
    for index, value in enumerate(entries):
        place = f"messages[{index}]"
        entry = object_at(value, place)
        role = string_at(entry.get("role"), f"{place}.role")
        if role == "tool":
            results.append(_tool_result(entry, place, names))
            continue
        if results:
            messages.append(ToolResponseMessage(responses=tuple(results)))
            results = []
        parse = _PARSERS.get(role)
        if parse is None:
            known = ", ".join(sorted([*_PARSERS, "tool"]))
            raise InvalidRequestError(f"{place}.role", f"{role!r} is not a role; it must be one of {known}")
        message = parse(entry, place)
        if isinstance(message, AssistantMessage):
            names.update((call.id, call.name) for call in message.tool_calls)
        messages.append(message)
    if results:
        messages.append(ToolResponseMessage(responses=tuple(results)))
    return tuple(messages)


def _system(entry: Mapping[str, Any], place: str) -> Message:
    content = _content(entry.get("content"), f"{place}.content")
    extra = rest_of(entry, "content", "role")
    return SystemMessage(
        content=content, extra=extra if entry["role"] == "system" else {"role": entry["role"], **extra}
    )


def _user(entry: Mapping[str, Any], place: str) -> Message:
    return UserMessage(
        content=_content(entry.get("content"), f"{place}.content"), extra=rest_of(entry, "content", "role")
    )


def _legacy_function_result(entry: Mapping[str, Any], place: str) -> Message:
    """A result of the retired `functions` API: passed on as it is, for there is no call id to pair it with."""
    content = entry.get("content")
    return UserMessage(
        content="" if content is None else _content(content, f"{place}.content"), extra=rest_of(entry, "content")
    )


def _assistant(entry: Mapping[str, Any], place: str) -> Message:
    return assistant_from_wire(entry, place)


_PARSERS: Final[Mapping[str, Callable[[Mapping[str, Any], str], Message]]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "function": _legacy_function_result,
}


def assistant_from_wire(entry: Mapping[str, Any], place: str = "message") -> AssistantMessage:
    """An assistant message of a request or of an answer. Raises: InvalidRequestError, naming the place."""
    given = entry.get("content")
    calls = entry.get("tool_calls")
    extra = rest_of(entry, "role", "content", "tool_calls")
    if calls and given == "":
        extra["content"] = ""  # null is what we write there ourselves; the client wrote "", so it stays ""
    if calls is None and given is None and not extra:
        raise InvalidRequestError(f"{place}.content", "is missing: an assistant message needs content or tool_calls")
    return AssistantMessage(
        content="" if given is None else _content(given, f"{place}.content"),
        tool_calls=()
        if calls is None
        else tuple(
            _call_from_wire(call, f"{place}.tool_calls[{index}]")
            for index, call in enumerate(array_at(calls, f"{place}.tool_calls", may_be_empty=True))
        ),
        reasoning=next((entry[name] for name in REASONING_FIELDS if isinstance(entry.get(name), str)), ""),
        extra=extra,
    )


def _call_from_wire(value: object, place: str) -> ToolCall:
    call = object_at(value, place)
    call_id = string_at(call.get("id"), f"{place}.id")
    if call.get("type", "function") != "function":
        kind = string_at(call.get("type"), f"{place}.type")
        body = object_at(call.get(kind), f"{place}.{kind}")
        return ToolCall(id=call_id, name=str(body.get("name", kind)), arguments="", extra=rest_of(call, "id"))
    function = object_at(call.get("function"), f"{place}.function")
    extra = rest_of(call, "id", "type", "function", "index")
    if rest := rest_of(function, "name", "arguments"):
        extra["function"] = rest
    arguments = function.get("arguments", "")
    return ToolCall(
        id=call_id,
        name=string_at(function.get("name"), f"{place}.function.name"),
        arguments=string_at(arguments, f"{place}.function.arguments", hint=" holding a JSON object"),
        extra=extra,
    )


def new_call_id() -> str:
    """An id for a call that came without; unlike any other of its conversation, whose results are told apart by it."""
    return f"call_{uuid4().hex[:24]}"


def call_to_wire(call: ToolCall) -> dict[str, Any]:
    """A tool call as an assistant message carries it."""
    if "type" in call.extra:  # not a function call: the whole of it is in `extra`
        return {"id": call.id, **call.extra}
    function = {"name": call.name, "arguments": call.arguments, **call.extra.get("function", {})}
    rest = {name: value for name, value in call.extra.items() if name != "function"}
    return {"id": call.id, "type": "function", "function": function, **rest}


def _tool_result(entry: Mapping[str, Any], place: str, names: Mapping[str, str]) -> ToolResponse:
    call_id = string_at(entry.get("tool_call_id"), f"{place}.tool_call_id")
    if call_id not in names:
        raise InvalidRequestError(
            f"{place}.tool_call_id", f"no assistant message before it made a call with the id {call_id!r}"
        )
    return ToolResponse(
        id=call_id,
        name=names[call_id],
        content=_content(entry.get("content"), f"{place}.content"),
        extra=rest_of(entry, "role", "tool_call_id", "content"),
    )


def message_to_wire(message: Message) -> list[dict[str, Any]]:
    """A message as requests carry it: one object, or one for each tool result."""
    match message:
        case SystemMessage():
            return [{"role": "system", "content": _content_to_wire(message.content), **message.extra}]
        case UserMessage():
            return [{"role": "user", "content": _content_to_wire(message.content), **message.extra}]
        case AssistantMessage():
            return [assistant_to_wire(message)]
        case ToolResponseMessage():
            return [
                {
                    "role": "tool",
                    "tool_call_id": response.id,
                    "content": _content_to_wire(response.content),
                    **response.extra,
                }
                for response in message.responses
            ]


def assistant_to_wire(message: AssistantMessage) -> dict[str, Any]:
    """An assistant message with its calls; content is null where there are only calls."""
    content = _content_to_wire(message.content)
    entry: dict[str, Any] = {"role": "assistant", "content": content}
    if message.tool_calls:
        entry["content"] = content or None
        entry["tool_calls"] = [call_to_wire(call) for call in message.tool_calls]
    entry.update(message.extra)
    return entry


def _content(value: object, place: str) -> Content:
    if isinstance(value, str):
        return value
    if value is None:
        raise InvalidRequestError(place, "is missing")
    if not isinstance(value, list):
        raise InvalidRequestError(place, f"must be a string or an array of content parts, got {kind_of(value)}")
    parts = cast("list[object]", value)
    return tuple(object_at(part, f"{place}[{index}]") for index, part in enumerate(parts))


def _content_to_wire(content: Content) -> str | list[Mapping[str, Any]]:
    return content if isinstance(content, str) else list(content)
