"""What a client of OpenAI's API sees that has changed nothing but its base URL."""

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from gateway.app import build_app
from gateway.errors import ModelHTTPError
from gateway.models.scripted import Cut, wish, with_calls
from gateway.settings import GatewaySettings
from tests.end_to_end.conftest import Stage
from tests.gateway.serving import served, services_of

QUESTION: list[Any] = [{"role": "user", "content": "Give order A-1 its money back."}]
OWN_TOOL: Any = {
    "type": "function",
    "function": {
        "name": "ask_user",
        "description": "Ask the user.",
        "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
        "strict": False,
    },
}


def extra(answer: Any) -> dict[str, Any]:
    """What the gateway says beside the answer."""
    return answer.model_extra["x_toolscout"]


def tool_names(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


async def chunks_of(stream: AsyncIterator[ChatCompletionChunk]) -> list[ChatCompletionChunk]:
    return [chunk async for chunk in stream]


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def test_a_plain_answer_comes_back_and_the_model_was_shown_the_search_tool(stage: Stage) -> None:
    stage.script.enqueue("Hello.")
    answer = await stage.client.chat.completions.create(
        model="m",
        messages=QUESTION,
        temperature=0.2,
        extra_body={"vendor_field": {"a": 1}},
        extra_headers={"traceparent": "00-1-2-01", "cookie": "secret=1"},
    )
    assert answer.choices[0].message.content == "Hello."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "m"
    assert extra(answer) == {"rounds": 1, "stop_reason": "answer"}
    [received] = stage.upstream.received
    assert tool_names(received.body) == ["search_tools"]
    assert received.body["messages"] == QUESTION
    assert received.body["temperature"] == 0.2
    assert received.body["vendor_field"] == {"a": 1}
    assert received.headers["authorization"] == "Bearer upstream-key"
    assert received.headers["traceparent"] == "00-1-2-01"
    assert "cookie" not in received.headers


async def test_hidden_rounds_find_and_run_a_catalog_tool_and_their_usage_is_summed(stage: Stage) -> None:
    stage.script.enqueue(
        wish("search_tools", queries=["list S3 buckets"]), wish("aws-s3__ListBuckets"), "You have one bucket."
    )
    raw = await stage.client.chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": "Which S3 buckets do I have?"}]
    )
    answer = raw.parse()
    assert raw.headers["x-toolscout-rounds"] == "3"
    assert raw.headers["x-toolscout-stop"] == "answer"
    assert answer.choices[0].message.content == "You have one bucket."
    assert answer.choices[0].message.tool_calls is None
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (300, 30, 330)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 120
    second, third = stage.upstream.received[1:]
    assert tool_names(second.body) == ["search_tools", "aws-s3__ListBuckets"]
    assert json.loads(third.body["messages"][-1]["content"])["simulated"] is True


async def test_a_stream_says_its_text_and_hides_its_rounds(stage: Stage) -> None:
    stage.script.enqueue(
        wish("search_tools", queries=["list S3 buckets"]), wish("aws-s3__ListBuckets"), "You have one bucket."
    )
    stream = await stage.client.chat.completions.create(
        model="m", messages=QUESTION, stream=True, stream_options={"include_usage": True}
    )
    chunks = await chunks_of(stream)
    assert text_of(chunks) == "You have one bucket."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert not any(choice.delta.tool_calls for chunk in chunks for choice in chunk.choices)
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert extra(chunks[-2]) == {"rounds": 3, "stop_reason": "answer"}
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 330
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_text_beside_hidden_calls_is_in_the_answer_streamed_or_not(stage: Stage) -> None:
    script = [with_calls("Let me look.", wish("search_tools", queries=["list S3 buckets"])), "You have one bucket."]
    stage.script.enqueue(*script, *script)
    whole = await stage.client.chat.completions.create(model="m", messages=QUESTION)
    stream = await stage.client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    assert (
        whole.choices[0].message.content == text_of(await chunks_of(stream)) == "Let me look.\n\nYou have one bucket."
    )


async def test_a_stream_without_include_usage_has_none(stage: Stage) -> None:
    stage.script.enqueue("Hello there.")
    stream = await stage.client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    chunks = await chunks_of(stream)
    assert text_of(chunks) == "Hello there."
    assert all(chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("stream", [False, True])
async def test_the_clients_own_tool_is_passed_on_untouched_and_its_call_returned(stage: Stage, stream: bool) -> None:
    stage.script.enqueue(with_calls("One moment.", wish("ask_user", question="Why?")))
    if stream:
        answer = await stage.client.chat.completions.create(model="m", messages=QUESTION, tools=[OWN_TOOL], stream=True)
        chunks = await chunks_of(answer)
        [call] = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        outcome, finish, text = extra(chunks[-1]), chunks[-1].choices[0].finish_reason, text_of(chunks)
    else:
        whole = await stage.client.chat.completions.create(model="m", messages=QUESTION, tools=[OWN_TOOL])
        message = whole.choices[0].message
        [call] = message.tool_calls or []
        outcome, finish, text = extra(whole), whole.choices[0].finish_reason, message.content
    assert call.type == "function"
    assert call.function is not None
    assert (call.function.name, json.loads(call.function.arguments or "")) == ("ask_user", {"question": "Why?"})
    assert text == "One moment."
    assert finish == "tool_calls"
    assert outcome == {"rounds": 1, "stop_reason": "client_tools"}
    assert stage.upstream.received[0].body["tools"][0] == OWN_TOOL


@pytest.mark.parametrize("stream", [False, True])
async def test_a_catalog_tool_of_the_callers_is_returned_with_its_definition_and_the_loop_goes_on(
    stage: Stage, stream: bool
) -> None:
    stage.script.enqueue(
        wish("search_tools", queries=["refund an order"]), wish("shop__refund_order", order_id="A-1"), "It is refunded."
    )
    messages = list(QUESTION)
    if stream:
        answer = await stage.client.chat.completions.create(model="m", messages=messages, stream=True)
        chunks = await chunks_of(answer)
        [call] = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        outcome = extra(chunks[-1])
        messages.append({"role": "assistant", "tool_calls": [call.model_dump(exclude={"index"})]})
    else:
        whole = await stage.client.chat.completions.create(model="m", messages=messages)
        [call] = whole.choices[0].message.tool_calls or []
        outcome = extra(whole)
        messages.append(whole.choices[0].message.model_dump(exclude_none=True))
    assert call.type == "function"
    assert call.function is not None
    assert call.function.name == "shop__refund_order"
    [definition] = outcome["tools"]
    assert definition["function"]["name"] == "shop__refund_order"
    assert definition["function"]["parameters"]["required"] == ["order_id"]

    messages.append({"role": "tool", "tool_call_id": call.id, "content": "done"})
    final = await stage.client.chat.completions.create(model="m", messages=messages)
    assert final.choices[0].message.content == "It is refunded."
    assert "shop__refund_order" in tool_names(stage.upstream.received[-1].body)


async def test_of_a_mixed_turn_only_the_callers_calls_are_returned_and_nothing_is_run(stage: Stage) -> None:
    stage.script.enqueue(
        wish("search_tools", queries=["list S3 buckets"]),
        [wish("aws-s3__ListBuckets"), wish("ask_user", question="Which?")],
    )
    answer = await stage.client.chat.completions.create(model="m", messages=QUESTION, tools=[OWN_TOOL])
    calls = answer.choices[0].message.tool_calls or ()
    assert [call.function.name for call in calls if call.type == "function"] == ["ask_user"]
    assert len(stage.upstream.received) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstreams_error_is_passed_on_byte_for_byte(stage: Stage, stream: bool) -> None:
    body = b'{"error": {"message": "Slow down.", "type": "tokens", "param": null, "code": "rate_limit_exceeded"}}'
    headers = {
        "content-type": "application/json",
        "retry-after": "7",
        "x-ratelimit-limit-tokens": "9",
        "x-ratelimit-policy": "caf\xe9",  # kept out, for no client expects one that is not ASCII
        "set-cookie": "a",
    }
    stage.script.enqueue(wish("search_tools", queries=["x"]), ModelHTTPError(429, body, headers))
    with pytest.raises(openai.RateLimitError) as caught:
        await stage.client.chat.completions.create(model="m", messages=QUESTION, stream=stream)
    response = caught.value.response
    assert await response.aread() == body
    assert response.headers["retry-after"] == "7"
    assert response.headers["x-ratelimit-limit-tokens"] == "9"
    assert "set-cookie" not in response.headers
    assert "x-ratelimit-policy" not in response.headers


async def test_a_stream_that_the_upstream_cuts_ends_with_an_error_frame(stage: Stage) -> None:
    stage.script.enqueue(Cut(text="You have one bucket.", after=2))
    stream = await stage.client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    seen: list[ChatCompletionChunk] = []
    with pytest.raises(openai.APIError, match="without a finish reason"):
        async for chunk in stream:
            seen.append(chunk)  # noqa: PERF401  a comprehension would lose what came before the error
    assert text_of(seen) == "You have "


async def test_an_upstream_error_in_mid_stream_is_its_own_error_object(stage: Stage) -> None:
    body = b'{"error": {"message": "Overloaded.", "type": "server_error", "code": "overloaded"}}'
    stage.script.enqueue(with_calls("Let me look.", wish("search_tools", queries=["x"])), ModelHTTPError(503, body, {}))
    stream = await stage.client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    with pytest.raises(openai.APIError, match="Overloaded.") as caught:
        await chunks_of(stream)
    assert caught.value.code == "overloaded"


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstream_that_cannot_be_reached_is_not_named_to_the_caller(stream: bool) -> None:
    settings = GatewaySettings(upstream_url="http://127.0.0.1:1/v1/internal")
    async with (
        services_of(settings=settings) as services,
        served(build_app(services)) as url,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
    ):
        with pytest.raises(openai.InternalServerError, match="cannot be reached") as caught:
            await client.chat.completions.create(model="m", messages=QUESTION, stream=stream)
    assert caught.value.status_code == 502
    assert "internal" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "param", "word"),
    [
        ({"n": 2}, "n", "must be 1"),
        ({"messages": []}, "messages", "at least one message"),
        ({"messages": "hi"}, "messages", "array"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role", "'robot' is not a role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "missing"),
        (
            {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]},
            "messages[0].tool_call_id",
            "no assistant message",
        ),
        ({"tools": [{"type": "function"}]}, "tools[0].function", "object"),
        ({"tools": {}}, "tools", "array"),
        ({"stream": "yes"}, "stream", "true or false"),
        ({"stream_options": []}, "stream_options", "object"),
        ({"model": 3}, "model", "string"),
    ],
)
async def test_a_bad_request_has_openais_shape_and_names_the_parameter(
    stage: Stage, changes: dict[str, Any], param: str, word: str
) -> None:
    body = {"model": "m", "messages": QUESTION, **changes}
    with pytest.raises(openai.BadRequestError) as caught:
        await stage.client.post("/chat/completions", body=body, cast_to=object)
    assert caught.value.param == param
    assert word in caught.value.message
    assert stage.upstream.received == []


async def test_the_wrong_key_is_an_authentication_error(stage: Stage) -> None:
    with pytest.raises(openai.AuthenticationError, match="asks for its key"):
        await stage.client.with_options(api_key="wrong").chat.completions.create(model="m", messages=QUESTION)


async def test_models_are_listed(stage: Stage) -> None:
    models = await stage.client.models.list()
    assert [model.id for model in models.data] == ["default"]


async def test_a_picture_of_some_megabytes_reaches_the_model(stage: Stage) -> None:
    stage.script.enqueue("a cat")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 6_000_000}}
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
    answer = await stage.client.chat.completions.create(model="m", messages=messages)
    assert answer.choices[0].message.content == "a cat"
    assert stage.upstream.received[0].body["messages"][0]["content"][1] == picture


async def test_a_body_above_the_bound_has_openais_shape_too(stage: Stage) -> None:
    messages: list[Any] = [{"role": "user", "content": "x" * (32 * 1024 * 1024)}]
    with pytest.raises(openai.APIStatusError, match="larger than 32 MiB") as caught:
        await stage.client.chat.completions.create(model="m", messages=messages)
    assert caught.value.status_code == 413


async def test_a_client_that_brings_a_tool_of_the_search_tools_name_is_told_so(stage: Stage) -> None:
    function = {"name": "search_tools", "description": "Mine.", "parameters": {"type": "object"}}
    tools: list[Any] = [{"type": "function", "function": function}]
    with pytest.raises(openai.BadRequestError, match="search_tools"):
        await stage.client.chat.completions.create(model="m", messages=QUESTION, tools=tools)


def failing(status: int) -> ModelHTTPError:
    body = b'{"error": {"message": "overloaded", "type": "server_error"}}'
    return ModelHTTPError(status, body, {"content-type": "application/json", "x-should-retry": "true"})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_request_whose_tools_have_run_is_not_repeated_by_the_client(
    stage: Stage, stream: bool, status: int
) -> None:
    stage.script.enqueue(wish("search_tools", queries=["list buckets"]), wish("aws-s3__ListBuckets"), failing(status))
    stage.script.enqueue("the answer to a repetition")
    with pytest.raises(openai.APIStatusError) as caught:
        await stage.client.with_options(max_retries=2).chat.completions.create(
            model="m", messages=QUESTION, stream=stream
        )
    assert caught.value.status_code == status
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(stage.upstream.received) == 3


async def test_a_request_that_has_only_searched_may_be_repeated(stage: Stage) -> None:
    stage.script.enqueue(wish("search_tools", queries=["list buckets"]), failing(503), "answered")
    client = stage.client.with_options(max_retries=1)
    answer = await client.chat.completions.create(model="m", messages=QUESTION)
    assert answer.choices[0].message.content == "answered"


async def test_a_stream_that_cannot_go_on_after_tools_says_so_in_its_status(stage: Stage) -> None:
    stage.script.enqueue(
        wish("search_tools", queries=["list buckets"]), wish("aws-s3__ListBuckets"), Cut(text="", after=0)
    )
    with pytest.raises(openai.APIStatusError) as caught:
        await stage.client.chat.completions.create(model="m", messages=QUESTION)
    assert caught.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_of_the_retired_functions_goes_on_without_a_catalog(stage: Stage, stream: bool) -> None:
    """Providers refuse `functions` and `tools` in one request."""
    functions: Any = [{"name": "ask_user", "parameters": {"type": "object", "properties": {}}}]
    stage.script.enqueue("Hello.")
    answer: Any = await stage.client.chat.completions.create(
        model="m", messages=QUESTION, functions=functions, function_call="auto", stream=stream
    )
    if stream:
        assert text_of(await chunks_of(answer)) == "Hello."
    else:
        assert answer.choices[0].message.content == "Hello."
    [received] = stage.upstream.received
    assert "tools" not in received.body
    assert (received.body["functions"], received.body["function_call"]) == (functions, "auto")
