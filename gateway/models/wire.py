"""Prompts and answers in OpenAI's chat-completions JSON, in both directions.

Used by the model that speaks to an upstream and by the HTTP route that speaks to clients, so that what passes through
the gateway comes out as it went in: unknown fields, unknown content parts and the client's own tools included.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from gateway.chat.exchange import ChatResponse, Usage
from gateway.chat.json_text import encode_json as encode_json  # for whoever puts a body on the wire
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.chat.tool_layout import tool_to_wire as tool_to_wire
from gateway.errors import InvalidRequestError, ModelError
from gateway.models.wire_checks import array_at, kind_of, object_at, string_at
from gateway.models.wire_messages import REASONING_FIELDS as REASONING_FIELDS
from gateway.models.wire_messages import assistant_from_wire, assistant_to_wire, message_to_wire, messages_from_wire
from gateway.models.wire_messages import call_to_wire as call_to_wire
from gateway.models.wire_messages import new_call_id as new_call_id

_NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


# Requests


def prompt_from_wire(body: object) -> Prompt:
    """The prompt in a request body; fields we do not know are kept in `options.extra`.

    `stream` is left to whoever answers the request. Raises: InvalidRequestError, naming the place.
    """
    request = object_at(body, "", "the body")
    entries = array_at(request.get("messages"), "messages")
    if not entries:
        raise InvalidRequestError("messages", "must hold at least one message")
    model = request.get("model")
    if model is not None and not isinstance(model, str):
        raise InvalidRequestError("model", f"must be a string, got {kind_of(model)}")
    tools = request.get("tools")
    return Prompt(
        messages=messages_from_wire(entries),
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
        for index, entry in enumerate(array_at(tools, place, may_be_empty=True))
    )


def _tool_from_wire(entry: object, place: str) -> ToolSpec:
    tool = object_at(entry, place)
    kind = string_at(tool.get("type"), f"{place}.type")
    if kind != "function":
        # Custom and provider-run tools keep their own shape; only their name, where they have one, matters to the loop.
        body = tool.get(kind)
        named = cast("Mapping[str, Any]", body) if isinstance(body, Mapping) else tool
        name = named.get("name")
        return ToolSpec(name=name if isinstance(name, str) else kind, description="", parameters={}, wire=tool)
    function = object_at(tool.get("function"), f"{place}.function")
    name = string_at(function.get("name"), f"{place}.function.name")
    if not name:
        raise InvalidRequestError(f"{place}.function.name", "must not be empty")
    description = function.get("description")
    parameters = function.get("parameters")
    if parameters is not None:
        parameters = object_at(parameters, f"{place}.function.parameters")
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=_NO_PARAMETERS if parameters is None else parameters,
        wire=tool,
    )


# Answers


def response_from_wire(body: object) -> ChatResponse:
    """The answer in a response body. Raises: ModelError if it holds an error, or no message."""
    answer = _answer_object(body)
    if (fault := error_in(answer)) is not None:
        raise error_from_wire(fault)
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ModelError("the model's answer has no choices")
    try:
        choice = object_at(cast("list[object]", choices)[0], "choices[0]")
        entry = object_at(choice.get("message"), "choices[0].message")
        # Null and empty fields (`refusal`, `annotations`) say nothing, and stricter servers refuse them when replayed.
        told = {name: value for name, value in entry.items() if name == "content" or value not in (None, [], {})}
        if told.get("content") is None and "tool_calls" not in told:
            told["content"] = ""
        if isinstance(told.get("tool_calls"), list):
            told["tool_calls"] = [_mended_call(call) for call in told["tool_calls"]]
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


def _mended_call(value: object) -> object:
    """A call of an answer as it should have been: some servers give it no id, or arguments that are no string."""
    if not isinstance(value, Mapping):
        return value
    call = {**cast("Mapping[str, Any]", value)}
    call["id"] = call.get("id") or new_call_id()
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
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    total = usage.get("total_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        other_tokens=0 if total is None else _count(total) - prompt - completion,
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
        "total_tokens": usage.total_tokens,
        **usage.details,
    }


def error_in(body: Mapping[str, Any]) -> object:
    """The error that an answer, or a chunk of one, holds or is; None if it is none."""
    if body.get("error"):
        return body["error"]
    # vLLM's shape, `{"object": "error", "message": ...}`, and what some servers send as `event: error`.
    is_error = "choices" not in body and isinstance(body.get("message"), str)
    return body if is_error else None


def error_from_wire(value: object) -> ModelError:
    """The error that a provider reports inside an answer or a stream."""
    if isinstance(value, Mapping):
        error = cast("Mapping[str, Any]", value)
        parts = [str(error[name]) for name in ("code", "type", "message") if error.get(name)]
        return ModelError("the model's endpoint reports: " + (": ".join(parts) or json.dumps(dict(error))))
    return ModelError(f"the model's endpoint reports: {value}")


def _answer_object(body: object) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise ModelError(f"the model's answer is {kind_of(body)}, not a JSON object")
    return cast("Mapping[str, Any]", body)


def _count(value: object) -> int:
    """A count, which some servers write as `12.0`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else 0
