"""Chunks put together and taken apart."""

from typing import Any

import pytest

from gateway.chat.exchange import (
    ChatClientResponse,
    ChatResponse,
    ReasoningDelta,
    RoundFinished,
    RunEvent,
    RunFinished,
    TextDelta,
    Usage,
)
from gateway.chat.messages import AssistantMessage, ToolCall
from gateway.errors import ModelError, TruncatedStreamError
from gateway.models.wire import call_to_wire, response_from_wire
from gateway.models.wire_stream import ChunkAssembler, ChunkWriter


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **top: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **top}


def assembled(*chunks: dict[str, Any], done: bool = True) -> ChatResponse:
    assembler = ChunkAssembler()
    for one in chunks:
        assembler.feed(one)
    return assembler.finish(done=done)


def fragment(index: int | None, arguments: str = "", id: str = "", name: str = "", **rest: Any) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"arguments": arguments}, **rest}
    if index is not None:
        call["index"] = index
    if id:
        call |= {"id": id, "type": "function"}
        call["function"]["name"] = name
    return chunk({"tool_calls": [call]})


def test_fragments_of_interleaved_calls_are_joined_by_index() -> None:
    response = assembled(
        chunk({"role": "assistant", "content": None}),
        fragment(0, "", "a", "first"),
        fragment(1, '{"y"', "b", "second"),
        fragment(0, '{"x":'),
        fragment(0, "1}"),
        fragment(1, ":2}"),
        chunk(finish="tool_calls"),
        {"id": "x", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
    )
    assert response.message.tool_calls == (
        ToolCall(id="a", name="first", arguments='{"x":1}'),
        ToolCall(id="b", name="second", arguments='{"y":2}'),
    )
    assert response.finish_reason == "tool_calls"
    assert response.usage == Usage(prompt_tokens=3, completion_tokens=4)
    assert (response.id, response.model) == ("x", "m")


@pytest.mark.parametrize("index", [0, None])
def test_servers_that_do_not_count_parallel_calls_are_understood(index: int | None) -> None:
    response = assembled(
        fragment(index, "{}", "a", "first"), fragment(index, "{}", "b", "second"), chunk(finish="tool_calls")
    )
    assert [call.name for call in response.message.tool_calls] == ["first", "second"]


def test_a_call_without_id_gets_one() -> None:
    response = assembled(
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}), chunk(finish="stop")
    )
    [call] = response.message.tool_calls
    assert call == ToolCall(id=call.id, name="f", arguments="{}")
    assert call.id.startswith("call_")


def test_calls_without_id_of_several_answers_can_be_told_apart() -> None:
    """Their results stand in one conversation, each under the id of its call."""
    nameless = chunk({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "tool_calls")
    whole = {"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}] * 2}}]}
    answers = [assembled(nameless), assembled(nameless), response_from_wire(whole)]
    assert len({call.id for answer in answers for call in answer.message.tool_calls}) == 4


def test_unknown_fields_of_a_call_are_kept_for_the_next_request() -> None:
    response = assembled(
        fragment(0, "{}", "a", "f", extra_content={"google": {"thought_signature": "s"}}), chunk(finish="tool_calls")
    )
    assert response.message.tool_calls[0].extra == {"extra_content": {"google": {"thought_signature": "s"}}}


def test_thinking_is_shown_once_and_kept_in_the_field_it_came_in() -> None:
    assembler = ChunkAssembler()
    deltas = [
        *assembler.feed(chunk({"reasoning": "hm ", "reasoning_content": "hm "})),
        *assembler.feed(chunk({"reasoning": "so", "reasoning_content": "so"})),
        *assembler.feed(chunk({"content": "Hi"}, "stop")),
    ]
    assert deltas == [ReasoningDelta(text="hm "), ReasoningDelta(text="so"), TextDelta(text="Hi")]
    message = assembler.finish(done=True).message
    assert (message.reasoning, message.extra) == ("hm so", {"reasoning": "hm so"})


def test_other_choices_are_left_alone() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    assert assembled(chunk({"content": "A"}), second, chunk(finish="stop")).message.content == "A"


def test_arguments_that_come_as_an_object_are_written_out() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    response = assembled(chunk({"tool_calls": [call]}), chunk(finish="tool_calls"))
    assert response.message.tool_calls[0].arguments == '{"x":1}'


def test_an_error_in_the_stream_is_raised_with_its_words() -> None:
    with pytest.raises(ModelError, match="overloaded"):
        assembled({"error": {"message": "overloaded", "type": "server_error"}})


@pytest.mark.parametrize("done", [True, False])
def test_calls_without_a_finish_reason_are_never_believed(done: bool) -> None:
    with pytest.raises(TruncatedStreamError):
        assembled(fragment(0, "{}", "a", "f"), done=done)


def test_text_without_a_finish_reason_is_believed_only_after_the_terminal_event() -> None:
    assert assembled(chunk({"content": "A"})).message.content == "A"
    with pytest.raises(TruncatedStreamError):
        assembled(chunk({"content": "A"}), done=False)


def run_of(*events: RunEvent, include_usage: bool = False) -> list[dict[str, Any]]:
    writer = ChunkWriter(id="run-1", model="m", created=5, include_usage=include_usage)
    return [one for event in events for one in writer.chunks(event)]


def finished(message: AssistantMessage, reason: str = "stop") -> RunFinished:
    usage = Usage(prompt_tokens=8, completion_tokens=1)
    return RunFinished(
        response=ChatClientResponse(response=ChatResponse(message=message, finish_reason=reason, usage=usage))
    )


def test_chunks_that_are_written_can_be_read_back() -> None:
    call = ToolCall(id="c", name="f", arguments='{"a":1}')
    message = AssistantMessage(content="Let me see.", tool_calls=(call,))
    events = [TextDelta(text="Let me "), TextDelta(text="see."), finished(message, "tool_calls")]
    chunks = run_of(*events, include_usage=True)
    response = assembled(*chunks)
    assert response.message == message
    assert response.finish_reason == "tool_calls"
    assert response.usage == Usage(prompt_tokens=8, completion_tokens=1)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"] == []


def test_rounds_that_ran_here_show_their_text_but_not_their_calls() -> None:
    hidden = ChatResponse(
        message=AssistantMessage(content="Searching.", tool_calls=(ToolCall(id="s", name="search", arguments="{}"),))
    )
    chunks = run_of(
        TextDelta(text="Searching."),
        RoundFinished(response=hidden),
        TextDelta(text="Done."),
        finished(AssistantMessage(content="Done.")),
    )
    response = assembled(*chunks)
    assert response.message == AssistantMessage(content="Searching.\n\nDone.")
    assert all("usage" not in one for one in chunks)


def test_an_answer_that_no_delta_carried_is_still_shown() -> None:
    assert assembled(*run_of(finished(AssistantMessage(content="42")))).message.content == "42"


def test_what_a_model_says_beside_text_and_calls_is_streamed_too() -> None:
    """Fields that only some answers have: a refusal came out as an empty answer."""
    response = assembled(
        chunk({"refusal": "I can"}),
        chunk({"refusal": "not.", "annotations": [{"n": 1}]}),
        chunk({"annotations": [{"n": 2}], "function_call": {"name": "f", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}, "audio": {"id": "a", "data": "AA", "expires_at": 1}}),
        chunk({"audio": {"data": "BB", "expires_at": 2}}, "stop"),
    )
    chunks = run_of(RunFinished(response=ChatClientResponse(response=response)))
    assert chunks[0]["choices"][0]["delta"] == {
        "role": "assistant",
        "content": "",
        "refusal": "I cannot.",
        "annotations": [{"n": 1}, {"n": 2}],
        "function_call": {"name": "f", "arguments": '{"a":1}'},
        "audio": {"id": "a", "data": "AABB", "expires_at": 2},
    }
    assert assembled(*chunks).message == response.message


def test_a_thought_that_was_streamed_is_not_said_twice() -> None:
    response = assembled(chunk({"reasoning_content": "hm"}), chunk({"content": "Hi"}, "stop"))
    chunks = run_of(
        ReasoningDelta(text="hm"), TextDelta(text="Hi"), RunFinished(response=ChatClientResponse(response=response))
    )
    assert [one["choices"][0]["delta"].get("reasoning_content") for one in chunks] == ["hm", None, None]


def test_what_stands_beside_the_message_is_streamed_too() -> None:
    first: dict[str, Any] = {**chunk({"content": "A"}), "system_fingerprint": "fp"}
    first["choices"][0]["logprobs"] = {"content": [{"token": "A", "logprob": -0.5}], "refusal": None}
    last = chunk({"content": "B"}, "stop", service_tier="default")
    last["choices"][0]["logprobs"] = {"content": [{"token": "B", "logprob": -0.1}], "refusal": None}
    response = assembled(first, last)
    end = run_of(TextDelta(text="AB"), RunFinished(response=ChatClientResponse(response=response)))[-1]
    assert (end["system_fingerprint"], end["service_tier"], end["id"]) == ("fp", "default", "run-1")
    assert [one["token"] for one in end["choices"][0]["logprobs"]["content"]] == ["A", "B"]
    assert end["choices"][0]["finish_reason"] == "stop"


def test_a_call_of_a_custom_tool_is_put_together_from_its_pieces() -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT"}}
    more = {"index": 0, "type": "custom", "custom": {"input": " 1"}}
    response = assembled(chunk({"tool_calls": [custom]}), chunk({"tool_calls": [more]}, "tool_calls"))
    [call] = response.message.tool_calls
    assert call.name == "run_sql"
    assert call_to_wire(call) == {"id": "c", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}


def test_content_in_parts_is_read_as_its_text() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "Hi"},
        {"type": "text", "text": " you"},
    ]
    assert assembled(chunk({"content": parts}), chunk(finish="stop")).message.content == "Hi you"


def test_a_stream_whose_model_counts_nothing_claims_no_counts() -> None:
    response = assembled(chunk({"content": "A"}, "stop"))
    chunks = run_of(RunFinished(response=ChatClientResponse(response=response)), include_usage=True)
    assert [one["usage"] for one in chunks] == [None, None]


def test_log_probabilities_of_a_long_answer_are_gathered_in_linear_time_and_chunks_are_left_as_they_are() -> None:
    one = chunk({"content": "a"})
    one["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.5}]}
    assembler = ChunkAssembler()
    for _ in range(50_000):
        assembler.feed(one)
    assembler.feed(chunk(finish="stop"))
    gathered = assembler.finish(done=True).raw["choices"][0]["logprobs"]["content"]
    assert len(gathered) == 50_000
    assert one["choices"][0]["logprobs"] == {"content": [{"token": "a", "logprob": -0.5}]}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "too long", "code": 400}},
        {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400},
        {"message": "too long", "code": 400},
    ],
)
def test_an_error_in_any_of_the_usual_shapes_is_told_in_its_own_words(body: dict[str, Any]) -> None:
    for read in (assembled, response_from_wire):
        with pytest.raises(ModelError, match="400.*too long") as caught:
            read(body)
        assert not isinstance(caught.value, TruncatedStreamError)
