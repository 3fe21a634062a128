"""Runs that take their time: kept alive while they last, ended when nobody waits for them."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

from gateway.app import build_app
from gateway.chat.exchange import ChatResponse, ModelEvent, RoundFinished, TextDelta
from gateway.chat.messages import AssistantMessage
from gateway.chat.prompt import Prompt
from gateway.settings import GatewaySettings
from tests.gateway.serving import served, services_of

BODY = {"model": "m", "messages": [{"role": "user", "content": "Take your time."}]}


class SlowModel:
    """Says one word if it should, then waits to be let go on; knows whether it was given up."""

    def __init__(self, *, first_word: str = "") -> None:
        self.first_word = first_word
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.given_up = asyncio.Event()

    async def call(self, prompt: Prompt) -> ChatResponse:
        self.asked.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return ChatResponse(message=AssistantMessage(content="Done."))

    async def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
        if self.first_word:
            yield TextDelta(text=self.first_word)
        yield RoundFinished(response=await self.call(prompt))

    async def aclose(self) -> None: ...


async def test_a_silent_stream_is_kept_alive_by_comments_until_there_is_something_to_say() -> None:
    model = SlowModel()
    settings = GatewaySettings(keep_alive_seconds=0.02)
    async with (
        services_of(settings=settings, model=model) as services,
        served(build_app(services)) as url,
        httpx.AsyncClient() as client,
        client.stream("POST", f"{url}/v1/chat/completions", json={**BODY, "stream": True}) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        lines: list[str] = []
        with anyio.fail_after(10):
            async for line in answer.aiter_lines():
                lines.append(line)
                if lines.count(": keep-alive") == 3:
                    model.go_on.set()
    assert lines[0] == ": keep-alive"
    data = [line for line in lines if line.startswith("data: ")]
    assert '"content":"Done."' in "".join(data)
    assert data[-1] == "data: [DONE]"


@pytest.mark.parametrize(("stream", "first_word"), [(False, ""), (True, ""), (True, "Well")])
async def test_a_client_that_leaves_ends_the_run(stream: bool, first_word: str) -> None:
    model = SlowModel(first_word=first_word)
    async with services_of(model=model) as services, served(build_app(services)) as url:

        async def ask() -> None:
            async with (
                httpx.AsyncClient() as client,
                client.stream("POST", f"{url}/v1/chat/completions", json={**BODY, "stream": stream}) as answer,
            ):
                await answer.aread()

        asking = asyncio.create_task(ask())
        with anyio.fail_after(10):
            await model.asked.wait()
            asking.cancel()
            await model.given_up.wait()
        await asyncio.wait({asking})


async def test_a_running_stream_does_not_keep_other_requests_waiting() -> None:
    model = SlowModel(first_word="Well")
    async with (
        services_of(model=model) as services,
        served(build_app(services)) as url,
        httpx.AsyncClient(base_url=url) as client,
        client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as answer,
    ):
        with anyio.fail_after(10):
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.post("/v1/search", json={"query": "x"})).status_code == 200
            model.go_on.set()
            assert b"[DONE]" in await answer.aread()
