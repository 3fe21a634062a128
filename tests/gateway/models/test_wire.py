"""OpenAI's chat-completions JSON, in both directions."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.chat.exchange import Usage
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, SystemMessage, ToolCall, ToolResponseMessage, UserMessage
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.errors import InvalidRequestError, ModelError
from gateway.models.wire import (
    prompt_from_wire,
    prompt_to_wire,
    response_from_wire,
    response_to_wire,
    usage_from_wire,
    usage_to_wire,
)
from gateway.models.wire_stream import ChunkAssembler

WEATHER = {
    "type": "function",
    "function": {
        "description": "Weather of a city.",
        "name": "get_weather",
        "strict": False,
        "parameters": {"properties": {"city": {"type": "string"}}, "type": "object"},
    },
    "x_vendor": {"cache": True},
}

FULL_BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "policy"},
        {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "never_heard_of", "x": [1, None]}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Jeju"}'},
                    "extra_content": {"google": {"thought_signature": "abc"}},
                },
                {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
            ],
            "reasoning_content": "thinking",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sunny", "cache_control": {"type": "ephemeral"}},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "a b"}]},
        {"role": "assistant", "content": "It is sunny.", "refusal": None},
        {"role": "function", "name": "old", "content": "legacy"},
        {"role": "user", "content": "제주 날씨\u2028?"},
    ],
    "tools": [WEATHER, {"type": "custom", "custom": {"name": "shell"}}, {"type": "web_search", "user_location": {}}],
    "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
    "temperature": 0.25,
    "prompt_cache_key": "k",
    "something_new": {"deep": [1, 2]},
}


def test_a_request_comes_out_as_it_went_in() -> None:
    assert prompt_to_wire(prompt_from_wire(FULL_BODY)) == FULL_BODY


def test_a_clients_tools_keep_every_byte_and_the_order_of_their_keys() -> None:
    sent = json.loads(encode_json(prompt_to_wire(prompt_from_wire(FULL_BODY))))
    assert encode_json(sent["tools"]) == encode_json(FULL_BODY["tools"])
    assert list(sent["tools"][0]["function"]) == ["description", "name", "strict", "parameters"]


def test_an_empty_string_beside_calls_stays_an_empty_string() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}
    assert prompt_to_wire(prompt_from_wire(body)) == body


def test_results_of_one_assistant_message_are_gathered_and_named_after_their_calls() -> None:
    prompt = prompt_from_wire(FULL_BODY)
    developer, _, user, assistant, results, *_ = prompt.messages
    assert isinstance(developer, SystemMessage) and developer.extra["role"] == "developer"
    assert isinstance(user, UserMessage)
    assert isinstance(assistant, AssistantMessage)
    assert assistant.tool_calls[0] == ToolCall(
        id="c1",
        name="get_weather",
        arguments='{"city": "Jeju"}',
        extra={"extra_content": {"google": {"thought_signature": "abc"}}},
    )
    assert assistant.reasoning == "thinking"
    assert isinstance(results, ToolResponseMessage)
    assert [(one.id, one.name) for one in results.responses] == [("c1", "get_weather"), ("c2", "shell")]


def test_a_stream_is_asked_for_with_its_usage_and_a_call_without_stream_options() -> None:
    prompt = prompt_from_wire(
        {
            "messages": [{"role": "user", "content": "x"}],
            "stream": True,
            "stream_options": {"include_usage": False, "include_obfuscation": False},
        }
    )
    assert prompt_to_wire(prompt, stream=True)["stream_options"] == {
        "include_usage": True,
        "include_obfuscation": False,
    }
    assert prompt_to_wire(prompt) == {"messages": [{"role": "user", "content": "x"}]}


def test_a_tool_without_a_wire_form_is_written_as_a_function() -> None:
    spec = ToolSpec(name="f", description="d", parameters={"type": "object"})
    body = prompt_to_wire(Prompt(messages=(UserMessage(content="x"),), tools=(spec,)))
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    ]


def test_a_lone_surrogate_stays_escaped() -> None:
    assert encode_json({"a": "\ud800é"}) == b'{"a":"\\ud800\\u00e9"}'
    assert encode_json({"a": "é한"}) == '{"a":"é한"}'.encode()


MALFORMED: list[tuple[object, str]] = [
    ([], ""),
    ({}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [{"content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]"),
    ({"messages": [{"role": "assistant"}]}, "messages[0].content"),
    ({"messages": [{"role": "assistant", "tool_calls": {}}]}, "messages[0].tool_calls"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}, "messages[0].tool_calls[0].function"),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}]},
        "messages[0].tool_calls[0].function.arguments",
    ),
    (
        {"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "y"}]},
        "messages[1].tool_call_id",
    ),
    (
        {"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c9", "content": "y"}]},
        "messages[1].tool_call_id",
    ),
    ({"messages": [{"role": "user", "content": "x"}], "model": 4}, "model"),
    ({"messages": [{"role": "user", "content": "x"}], "tools": {}}, "tools"),
    ({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}, "tools[0].function"),
    (
        {"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {}}]},
        "tools[0].function.name",
    ),
    (
        {
            "messages": [{"role": "user", "content": "x"}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": []}}],
        },
        "tools[0].function.parameters",
    ),
]


@pytest.mark.parametrize(("body", "param"), MALFORMED)
def test_a_malformed_request_is_refused_with_its_place(body: object, param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        prompt_from_wire(body)
    assert caught.value.param == param
    assert caught.value.reason


ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m-2026",
    "system_fingerprint": "fp",
    "service_tier": "default",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello", "reasoning": "hm"},
            "logprobs": {"content": []},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


def test_an_answer_comes_out_as_it_went_in() -> None:
    response = response_from_wire(ANSWER)
    assert response.message.content == "Hello"
    assert response.message.reasoning == "hm"
    assert response.usage is not None
    assert response.usage.details == {"prompt_tokens_details": {"cached_tokens": 4}}
    assert response_to_wire(response, created=7) == ANSWER


def test_usage_of_two_rounds_adds_up_with_its_details() -> None:
    usage = response_from_wire(ANSWER).usage
    assert usage is not None
    total = usage + usage
    assert (total.prompt_tokens, total.completion_tokens) == (20, 4)
    assert total.details == {"prompt_tokens_details": {"cached_tokens": 8}}


def test_null_fields_of_an_answer_are_not_replayed_to_stricter_servers() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": [call]}
    response = response_from_wire({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    replayed = prompt_to_wire(Prompt(messages=(response.message,)))["messages"]
    assert replayed == [{"role": "assistant", "content": None, "tool_calls": [call]}]


UNREADABLE: list[object] = [
    [],
    {},
    {"choices": []},
    {"choices": [{}]},
    {"choices": [{"message": {"tool_calls": [{"id": 3}]}}]},
    {"error": {"message": "no credit", "type": "billing"}},
]


@pytest.mark.parametrize("body", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_a_model_error(body: object) -> None:
    with pytest.raises(ModelError):
        response_from_wire(body)


@pytest.mark.parametrize(
    ("call", "id", "arguments"),
    [
        ({"function": {"name": "x", "arguments": "{}"}}, None, "{}"),
        ({"id": "", "function": {"name": "x", "arguments": None}}, None, ""),
        ({"id": None, "function": {"name": "x"}}, None, ""),
        ({"id": "a", "function": {"name": "x", "arguments": {"q": 1}}}, "a", '{"q":1}'),
    ],
)
def test_a_call_that_a_server_wrote_carelessly_is_read_as_in_a_stream(
    call: dict[str, Any], id: str | None, arguments: str
) -> None:
    response = response_from_wire({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    [read] = response.message.tool_calls
    assert (read.name, read.arguments) == ("x", arguments)
    assert read.id == id if id else read.id.startswith("call_")
    assembler = ChunkAssembler()
    assembler.feed({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    [streamed] = assembler.finish(done=True).message.tool_calls
    assert replace(streamed, id=read.id) == read


def test_usage_of_rounds_is_summed_as_the_provider_counts() -> None:
    """Totals that hold thinking, counters that a round leaves open, and what is no counter at all."""
    first = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40, "is_byok": False, "cost": 0.5}
    second = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "is_byok": False, "cost": 0.25}
    rounds = [
        usage_from_wire({**first, "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": None}}),
        usage_from_wire({**second, "prompt_tokens_details": {"cached_tokens": None}}),
    ]
    assert rounds[0] is not None and rounds[1] is not None
    assert usage_to_wire(rounds[0] + rounds[1]) == {
        "prompt_tokens": 30,
        "completion_tokens": 10,
        "total_tokens": 65,
        "is_byok": False,
        "cost": 0.75,
        "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": None},
    }


def test_counts_written_with_a_point_are_counts() -> None:
    usage = usage_from_wire({"prompt_tokens": 12.0, "completion_tokens": 3.5, "total_tokens": 15.0})
    assert usage == Usage(prompt_tokens=12, completion_tokens=0, other_tokens=3)
