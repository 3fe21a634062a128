"""Prompts and answers in OpenAI's chat-completions JSON, in both directions.

Used by the model that speaks to an upstream and by the HTTP route that speaks to clients, so that what passes through
the gateway comes out as it went in: unknown fields, unknown content parts and the client's own tools included.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from gateway.chat.exchange import ChatResponse, Usage
from gateway.chat.json_text import encode_json as encode_json  # for whoever puts a body on the wire
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
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.errors import InvalidRequestError, ModelError

REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
"""Where OpenAI-compatible servers put a model's thinking: the first is DeepSeek's, the second OpenRouter's."""

_NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


# Requests


def prompt_from_wire(body: object) -> Prompt:
    """The prompt in a request body; fields we do not know are kept in `options.extra`.

    `stream` is left to whoever answers the request. Raises: InvalidRequestError, naming the place.
    """
    request = _object(body, "", "the body")
    entries = _array(request.get("messages"), "messages")
    if not entries:
        raise InvalidRequestError("messages", "must hold at least one message")
    model = request.get("model")
    if model is not None and not isinstance(model, str):
        raise InvalidRequestError("model", f"must be a string, got {_kind(model)}")
    tools = request.get("tools")
    return Prompt(
        messages=_messages_from_wire(entries),
        tools=() if tools is None else tools_from_wire(tools),
        options=ChatOptions(
            model=model or "",
            tool_choice=request.get("tool_choice"),
            extra={name: value for name, value in request.items() if name not in _KNOWN_BODY_FIELDS},
        ),
    )


_KNOWN_BODY_FIELDS: Final = frozenset({"model", "messages", "tools", "tool_choice", "stream"})


def prompt_to_wire(prompt: Prompt, *, stream: bool = False) -> dict[str, Any]:
    """The request body for a prompt; a stream asks for its usage."""
    options = prompt.options
    body: dict[str, Any] = {"model": options.model} if options.model else {}
    body["messages"] = [entry for message in prompt.messages for entry in message_to_wire(message)]
    if prompt.tools:
        body["tools"] = [tool_to_wire(tool) for tool in prompt.tools]
    if options.tool_choice is not None:
        body["tool_choice"] = options.tool_choice
    body.update(options.extra)
    stream_options = body.pop("stream_options", None)
    if stream:
        asked: Mapping[str, Any] = (
            cast("Mapping[str, Any]", stream_options) if isinstance(stream_options, Mapping) else {}
        )
        body["stream"] = True
        body["stream_options"] = {**asked, "include_usage": True}
    return body


def tools_from_wire(tools: object, place: str = "tools") -> tuple[ToolSpec, ...]:
    """The specs of a request's tools, each keeping the exact object. Raises: InvalidRequestError."""
    return tuple(
        _tool_from_wire(entry, f"{place}[{index}]")
        for index, entry in enumerate(_array(tools, place, may_be_empty=True))
    )


def _tool_from_wire(entry: object, place: str) -> ToolSpec:
    tool = _object(entry, place)
    kind = _string(tool.get("type"), f"{place}.type")
    if kind != "function":
        # Custom and provider-run tools keep their own shape; only their name, where they have one, matters to the loop.
        body = tool.get(kind)
        named = cast("Mapping[str, Any]", body) if isinstance(body, Mapping) else tool
        name = named.get("name")
        return ToolSpec(name=name if isinstance(name, str) else kind, description="", parameters={}, wire=tool)
    function = _object(tool.get("function"), f"{place}.function")
    name = _string(function.get("name"), f"{place}.function.name")
    if not name:
        raise InvalidRequestError(f"{place}.function.name", "must not be empty")
    description = function.get("description")
    parameters = function.get("parameters")
    if parameters is not None:
        parameters = _object(parameters, f"{place}.function.parameters")
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=_NO_PARAMETERS if parameters is None else parameters,
        wire=tool,
    )


def tool_to_wire(tool: ToolSpec) -> Mapping[str, Any]:
    """A tool as a request carries it; a client's own is the very object it sent."""
    if tool.wire is not None:
        return tool.wire
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


# Messages


def _messages_from_wire(entries: Sequence[object]) -> tuple[Message, ...]:
    """Messages in order, the results of one assistant message gathered in one ToolResponseMessage."""
    messages: list[Message] = []
    results: list[ToolResponse] = []
    names: dict[str, str] = {}
    for index, value in enumerate(entries):
        place = f"messages[{index}]"
        entry = _object(value, place)
        role = _string(entry.get("role"), f"{place}.role")
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
    extra = _rest(entry, "content", "role")
    return SystemMessage(
        content=content, extra=extra if entry["role"] == "system" else {"role": entry["role"], **extra}
    )


def _user(entry: Mapping[str, Any], place: str) -> Message:
    return UserMessage(
        content=_content(entry.get("content"), f"{place}.content"), extra=_rest(entry, "content", "role")
    )


def _legacy_function_result(entry: Mapping[str, Any], place: str) -> Message:
    """A result of the retired `functions` API: passed on as it is, for there is no call id to pair it with."""
    content = entry.get("content")
    return UserMessage(
        content="" if content is None else _content(content, f"{place}.content"), extra=_rest(entry, "content")
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
    extra = _rest(entry, "role", "content", "tool_calls")
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
            for index, call in enumerate(_array(calls, f"{place}.tool_calls", may_be_empty=True))
        ),
        reasoning=next((entry[name] for name in REASONING_FIELDS if isinstance(entry.get(name), str)), ""),
        extra=extra,
    )


def _call_from_wire(value: object, place: str) -> ToolCall:
    call = _object(value, place)
    call_id = _string(call.get("id"), f"{place}.id")
    if call.get("type", "function") != "function":
        kind = _string(call.get("type"), f"{place}.type")
        body = _object(call.get(kind), f"{place}.{kind}")
        return ToolCall(id=call_id, name=str(body.get("name", kind)), arguments="", extra=_rest(call, "id"))
    function = _object(call.get("function"), f"{place}.function")
    extra = _rest(call, "id", "type", "function", "index")
    if rest := _rest(function, "name", "arguments"):
        extra["function"] = rest
    arguments = function.get("arguments", "")
    return ToolCall(
        id=call_id,
        name=_string(function.get("name"), f"{place}.function.name"),
        arguments=_string(arguments, f"{place}.function.arguments", hint=" holding a JSON object"),
        extra=extra,
    )


def call_to_wire(call: ToolCall) -> dict[str, Any]:
    """A tool call as an assistant message carries it."""
    if "type" in call.extra:  # not a function call: the whole of it is in `extra`
        return {"id": call.id, **call.extra}
    function = {"name": call.name, "arguments": call.arguments, **call.extra.get("function", {})}
    rest = {name: value for name, value in call.extra.items() if name != "function"}
    return {"id": call.id, "type": "function", "function": function, **rest}


def _tool_result(entry: Mapping[str, Any], place: str, names: Mapping[str, str]) -> ToolResponse:
    call_id = _string(entry.get("tool_call_id"), f"{place}.tool_call_id")
    if call_id not in names:
        raise InvalidRequestError(
            f"{place}.tool_call_id", f"no assistant message before it made a call with the id {call_id!r}"
        )
    return ToolResponse(
        id=call_id,
        name=names[call_id],
        content=_content(entry.get("content"), f"{place}.content"),
        extra=_rest(entry, "role", "tool_call_id", "content"),
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
        raise InvalidRequestError(place, f"must be a string or an array of content parts, got {_kind(value)}")
    parts = cast("list[object]", value)
    return tuple(_object(part, f"{place}[{index}]") for index, part in enumerate(parts))


def _content_to_wire(content: Content) -> str | list[Mapping[str, Any]]:
    return content if isinstance(content, str) else list(content)


# Answers


def response_from_wire(body: object) -> ChatResponse:
    """The answer in a response body. Raises: ModelError if it holds an error, or no message."""
    answer = _answer_object(body)
    if answer.get("error"):
        raise error_from_wire(answer["error"])
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ModelError("the model's answer has no choices")
    try:
        choice = _object(cast("list[object]", choices)[0], "choices[0]")
        entry = _object(choice.get("message"), "choices[0].message")
        # Null and empty fields (`refusal`, `annotations`) say nothing, and stricter servers refuse them when replayed.
        told = {name: value for name, value in entry.items() if name == "content" or value not in (None, [], {})}
        if told.get("content") is None and "tool_calls" not in told:
            told["content"] = ""
        if isinstance(told.get("tool_calls"), list):
            told["tool_calls"] = [_mended_call(call, place) for place, call in enumerate(told["tool_calls"])]
        message = assistant_from_wire(told, "choices[0].message")
    except InvalidRequestError as error:
        raise ModelError(f"the model's answer cannot be read: {error}") from error
    return ChatResponse(
        message=message,
        finish_reason=str(choice.get("finish_reason") or ("tool_calls" if message.tool_calls else "stop")),
        usage=usage_from_wire(answer.get("usage")),
        id=str(answer.get("id") or ""),
        model=str(answer.get("model") or ""),
        raw=answer,
    )


def _mended_call(value: object, place: int) -> object:
    """A call of an answer as it should have been: some servers give it no id, or arguments that are no string."""
    if not isinstance(value, Mapping):
        return value
    call = {**cast("Mapping[str, Any]", value)}
    call["id"] = call.get("id") or f"call_{place}"
    function = call.get("function")
    if isinstance(function, Mapping):
        arguments = cast("Mapping[str, Any]", function).get("arguments")
        if not isinstance(arguments, str):
            text = "" if arguments is None else encode_json(arguments).decode()
            call["function"] = {**cast("Mapping[str, Any]", function), "arguments": text}
    return call


def response_to_wire(response: ChatResponse, *, created: int, id: str = "", model: str = "") -> dict[str, Any]:
    """The response body for an answer; what else the provider said (`system_fingerprint`, `logprobs`) is kept."""
    choices = response.raw.get("choices")
    said: list[Mapping[str, Any]] = (
        cast("list[Mapping[str, Any]]", choices) if isinstance(choices, list) and choices else [{}]
    )
    body: dict[str, Any] = {
        **response.raw,
        "id": id or response.id,
        "object": "chat.completion",
        "created": created,
        "model": model or response.model,
        "choices": [
            {
                **said[0],
                "index": 0,
                "message": assistant_to_wire(response.message),
                "finish_reason": response.finish_reason,
            },
            *said[1:],
        ],
    }
    body.pop("usage", None)
    if response.usage is not None:
        body["usage"] = usage_to_wire(response.usage)
    return body


def usage_from_wire(value: object) -> Usage | None:
    """Token counts; None where the provider gives none."""
    if not isinstance(value, Mapping):
        return None
    usage = cast("Mapping[str, Any]", value)
    return Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        details={
            name: count
            for name, count in usage.items()
            if name not in ("prompt_tokens", "completion_tokens", "total_tokens") and count is not None
        },
    )


def usage_to_wire(usage: Usage) -> dict[str, Any]:
    """Token counts with their total, and the provider's details."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        **usage.details,
    }


def error_from_wire(value: object) -> ModelError:
    """The error that a provider reports inside an answer or a stream."""
    if isinstance(value, Mapping):
        error = cast("Mapping[str, Any]", value)
        parts = [str(error[name]) for name in ("code", "type", "message") if error.get(name)]
        return ModelError("the model's endpoint reports: " + (": ".join(parts) or json.dumps(dict(error))))
    return ModelError(f"the model's endpoint reports: {value}")


def _answer_object(body: object) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise ModelError(f"the model's answer is {_kind(body)}, not a JSON object")
    return cast("Mapping[str, Any]", body)


# Checks


def _object(value: object, place: str, what: str = "") -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequestError(place, f"{what} must be an object, got {_kind(value)}".strip())
    return cast("Mapping[str, Any]", value)


def _array(value: object, place: str, *, may_be_empty: bool = False) -> list[object]:
    if value is None and not may_be_empty:
        raise InvalidRequestError(place, "is missing")
    if not isinstance(value, list):
        raise InvalidRequestError(place, f"must be an array, got {_kind(value)}")
    return cast("list[object]", value)


def _string(value: object, place: str, *, hint: str = "") -> str:
    if value is None:
        raise InvalidRequestError(place, "is missing")
    if not isinstance(value, str):
        raise InvalidRequestError(place, f"must be a string{hint}, got {_kind(value)}")
    return value


def _rest(entry: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in known}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _kind(value: object) -> str:
    """The JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
