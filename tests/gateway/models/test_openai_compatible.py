"""The model behind an endpoint, over httpx's own transport seam."""

import json
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, cast

import anyio
import httpx
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.chat.exchange import ModelEvent, ReasoningDelta, RoundFinished, TextDelta, Usage
from gateway.chat.messages import UserMessage
from gateway.chat.prompt import ChatOptions, Prompt
from gateway.errors import ModelError, ModelHTTPError, ModelUnavailableError, TruncatedStreamError
from gateway.models.openai_compatible import OpenAICompatibleChatModel
from tests.gateway.serving import served

PROMPT = Prompt(messages=(UserMessage(content="weather in Jeju?"),), options=ChatOptions(model="m"))

RECORDED = (
    ": keep-alive\n\n"
    'data: {"id":"r","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    'data: {"id":"r","choices":[{"index":0,"delta":{"content":"Let me\u2028 see, 제주"}}]}\r\n\r\n'
    'data: {"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function",'
    '"function":{"name":"get_weather","arguments":""}}]}}]}\n\n'
    'data: {"id":"r","choices":[{"index":0,"delta":'
    '{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\":"}}]}}]}\n\n'
    ": again\n\n"
    "event: message\n"
    'data: {"id":"r","choices":[{"index":0,"delta":'
    '{"tool_calls":[{"index":0,"function":{"arguments":"\\"Jeju\\"}"}}]}}]}\n\n'
)
FINISH = 'data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
END = (
    'data: {"id":"r","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}\n\n'
    "data: [DONE]\n\n"
)


class Body(httpx.AsyncByteStream):
    """A response body in chosen chunks that tells when it was closed, and may then wait for ever."""

    def __init__(self, *chunks: bytes, hang: bool = False) -> None:
        self.closed = False
        self._chunks = chunks
        self._hang = hang

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if self._hang:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self.closed = True


def model(
    answer: Callable[[httpx.Request], httpx.Response] | Body,
    *,
    timeout_seconds: float = 5.0,
    key: str | None = "secret",
) -> OpenAICompatibleChatModel:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Body):
            return httpx.Response(200, stream=answer, headers={"content-type": "text/event-stream"})
        return answer(request)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    return OpenAICompatibleChatModel("http://up/v1/", key, client=client, timeout_seconds=timeout_seconds)


async def events_of(body: Body) -> list[ModelEvent]:
    return [event async for event in model(body).stream(PROMPT)]


async def test_a_call_sends_the_prompt_and_reads_the_answer() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(
            200, json={"choices": [{"message": {"role": "assistant", "content": "sunny"}, "finish_reason": "stop"}]}
        )

    response = await model(answer).call(PROMPT)
    assert response.message.content == "sunny"
    assert str(seen[0].url) == "http://up/v1/chat/completions"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {
        "model": "m",
        "messages": [{"role": "user", "content": "weather in Jeju?"}],
    }


async def test_a_callers_headers_travel_but_cannot_replace_the_endpoints_key() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer secret"
        assert request.headers["openai-organization"] == "org"
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}}]})

    headers = {"authorization": "Bearer theirs", "openai-organization": "org"}
    await model(answer).call(Prompt(messages=PROMPT.messages, options=ChatOptions(headers=headers)))


async def test_a_stream_yields_deltas_and_then_the_whole() -> None:
    events = await events_of(Body((RECORDED + FINISH + END).encode()))
    assert events[0] == TextDelta(text="Let me\u2028 see, 제주")
    finished = events[-1]
    assert isinstance(finished, RoundFinished)
    assert finished.response.message.tool_calls[0].arguments == '{"city":"Jeju"}'
    assert finished.response.usage == Usage(prompt_tokens=5, completion_tokens=6)


async def test_a_stream_reads_the_same_however_its_bytes_are_cut_into_chunks() -> None:
    whole = (RECORDED + FINISH + END).encode()
    expected = await events_of(Body(whole))
    for size in (1, 2, 3, 7):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        assert await events_of(Body(*pieces)) == expected
    carriage_returns = whole.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    assert await events_of(Body(*[carriage_returns[start : start + 1] for start in range(len(whole))])) == expected


async def test_a_stream_cut_at_any_byte_never_yields_its_calls() -> None:
    before, whole = RECORDED.encode(), (RECORDED + FINISH + END).encode()
    complete_from = len(before + FINISH.encode())
    for length in range(len(whole)):
        body = Body(whole[:length])
        try:
            events = await events_of(body)
        except TruncatedStreamError:
            assert length < complete_from
        else:
            assert length >= complete_from
            finished = events[-1]
            assert isinstance(finished, RoundFinished)
            assert finished.response.message.tool_calls[0].arguments == '{"city":"Jeju"}'
        assert body.closed


async def test_an_error_inside_the_stream_is_raised() -> None:
    body = Body(b'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n')
    with pytest.raises(ModelError, match="overloaded"):
        await events_of(body)
    assert body.closed


async def test_a_chunk_that_is_not_json_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="not JSON"):
        await events_of(Body(b"data: {oops\n\n"))
    with pytest.raises(ModelError, match="not an object"):
        await events_of(Body(b"data: 3\n\n"))


async def test_a_server_that_does_not_stream_is_understood() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]})

    events = [event async for event in model(answer).stream(PROMPT)]
    assert events[0] == TextDelta(text="all at once")
    assert isinstance(events[1], RoundFinished)


async def test_an_error_status_keeps_its_body_and_headers() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(429, content=b'{"error":{"message":"slow down"}}', headers={"retry-after": "7"})

    async def stream() -> None:
        async for _ in model(answer).stream(PROMPT):
            raise AssertionError("nothing can be streamed")

    for attempt in (lambda: model(answer).call(PROMPT), stream):
        with pytest.raises(ModelHTTPError, match="slow down") as caught:
            await attempt()
        assert caught.value.status == 429
        assert caught.value.body == b'{"error":{"message":"slow down"}}'
        assert caught.value.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("refused"), httpx.ReadError("reset"), httpx.ReadTimeout("slow")]
)
async def test_an_endpoint_that_cannot_be_reached_is_named(failure: Exception) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise failure

    with pytest.raises(ModelUnavailableError, match="http://up/v1/chat/completions"):
        await model(answer).call(PROMPT)


async def test_leaving_a_stream_early_closes_the_response() -> None:
    body = Body(RECORDED.encode(), hang=True)
    stream = cast("Any", model(body).stream(PROMPT))
    async with aclosing(stream):
        async for _ in stream:
            break
    assert body.closed


async def test_cancelling_a_waiting_stream_closes_the_response() -> None:
    body = Body(RECORDED.encode(), hang=True)
    first = anyio.Event()

    async def read() -> None:
        async for _ in model(body).stream(PROMPT):
            first.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await first.wait()
            group.cancel_scope.cancel()
    assert body.closed


async def test_reasoning_streams_too() -> None:
    events = await events_of(
        Body(
            b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n'
            b'data: {"choices":[{"index":0,"delta":{"content":"4"},"finish_reason":"stop"}]}\n\n'
        )
    )
    assert events[0] == ReasoningDelta(text="hm")


async def test_the_default_model_is_used_where_a_request_names_none() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": json.loads(request.content)["model"]}}]})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    chat = OpenAICompatibleChatModel("http://up/v1", client=client, default_model="fallback")
    assert (await chat.call(Prompt(messages=PROMPT.messages))).message.content == "fallback"
    assert (await chat.call(PROMPT)).message.content == "m"


async def test_only_a_client_of_its_own_is_closed() -> None:
    shared = httpx.AsyncClient()
    await OpenAICompatibleChatModel("http://up/v1", client=shared).aclose()
    assert not shared.is_closed
    await shared.aclose()
    own = OpenAICompatibleChatModel("http://up/v1")
    await own.aclose()
    with pytest.raises(RuntimeError):
        await own.call(PROMPT)


async def test_a_hundred_waiting_requests_do_not_keep_the_next_ones_from_the_model() -> None:
    """httpx opens a hundred connections unless it is told otherwise; the rest would wait for an answer of theirs."""
    wanted, arrived, all_there = 130, 0, anyio.Event()

    async def slow_model(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == wanted:
            all_there.set()
        await all_there.wait()
        await Response(b'{"choices":[{"message":{"content":"hi"}}]}', media_type="application/json")(
            scope, receive, send
        )

    async with served(slow_model) as url:
        chat = OpenAICompatibleChatModel(f"{url}/v1")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(wanted):
                    group.start_soon(chat.call, PROMPT)
        await chat.aclose()
    assert arrived == wanted


async def test_a_callers_header_of_any_bytes_travels_as_it_came() -> None:
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.extend(value for name, value in request.headers.raw if name.lower() == b"baggage")
        return httpx.Response(200, json={"choices": [{"message": {"content": "ok"}}]})

    for value in ("caf\u00e9", "\u00e6\u0097\u00a5", "\u65e5"):
        await model(answer).call(Prompt(messages=PROMPT.messages, options=ChatOptions(headers={"baggage": value})))
    assert seen == [b"caf\xe9", "\u65e5".encode(), "\u65e5".encode()]


@pytest.mark.parametrize("status", [301, 302, 304, 307])
async def test_an_endpoint_that_leads_elsewhere_is_a_model_error_and_is_not_followed(status: int) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"location": "https://elsewhere/v1"})

    for attempt in (lambda: model(answer).call(PROMPT), lambda: model(answer).models()):
        with pytest.raises(ModelError, match=f"answered {status}") as caught:
            await attempt()
        assert not isinstance(caught.value, ModelHTTPError)


async def test_the_endpoints_key_is_taken_out_of_what_it_answers() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, text=f"bad {request.headers['authorization']}")

    with pytest.raises(ModelHTTPError) as caught:
        await model(answer, key="sk-0123456789abcdef").call(PROMPT)
    assert caught.value.body == b"bad Bearer [hidden]"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://user:pass-word@127.0.0.1:1/v1?sig=pass-word", None),
        ("http://user:pass-word@[127.0.0.1/v1", None),
        ("http://user:pass-word/x@127.0.0.1:1/v1", None),
        ("http://127.0.0.1:1/v1", "pass-word\n"),
    ],
)
async def test_neither_key_nor_password_stands_in_an_error(url: str, key: str | None) -> None:
    chat = OpenAICompatibleChatModel(url, key)
    for attempt in (lambda: chat.call(PROMPT), chat.models):
        with pytest.raises(ModelUnavailableError) as caught:
            await attempt()
        assert "pass-word" not in "".join(traceback.format_exception(caught.value))
    await chat.aclose()


async def test_the_query_of_an_endpoint_stays_behind_its_paths() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200, json={"choices": [{"message": {"content": "ok"}}], "data": []})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    chat = OpenAICompatibleChatModel("http://up/deployments/m/?api-version=1", client=client)
    await chat.call(PROMPT)
    await chat.models()
    assert seen == [
        "http://up/deployments/m/chat/completions?api-version=1",
        "http://up/deployments/m/models?api-version=1",
    ]


@pytest.mark.parametrize("headers", [{"content-type": "text/html; charset=utf-8"}, {}])
async def test_a_page_in_place_of_a_stream_is_told_as_that(headers: dict[str, str]) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"<html>Please log in</html>", headers=headers)

    with pytest.raises(ModelError, match=headers.get("content-type", "no content type")) as caught:
        async for _ in model(answer).stream(PROMPT):
            pass
    assert not isinstance(caught.value, TruncatedStreamError)


async def test_a_server_that_does_not_stream_has_its_thoughts_and_parts_shown_too() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        message = {
            "content": [{"type": "text", "text": "all "}, {"type": "text", "text": "at once"}],
            "reasoning": "hm",
        }
        return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})

    thought, text, _ = [event async for event in model(answer).stream(PROMPT)]
    assert thought == ReasoningDelta(text="hm")
    assert isinstance(text, TextDelta)
    assert "".join(text.text.split()) == "allatonce"


async def test_a_byte_order_mark_costs_no_event() -> None:
    mark = "\ufeff".encode()
    event = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    for body in (Body(mark + event), Body(mark[:1], mark[1:] + event[:3], event[3:])):
        first, *_ = await events_of(body)
        assert first == TextDelta(text="Hi")
