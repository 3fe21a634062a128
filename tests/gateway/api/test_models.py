"""The list of models: the upstream's, or what stands in for it."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, NotFoundError

from gateway.app import build_app
from gateway.models.openai_compatible import OpenAICompatibleChatModel
from gateway.settings import GatewaySettings
from tests.gateway.serving import http_client, served, services_of

UPSTREAM = "http://upstream.test/v1"
LISTED = [{"id": "gpt-5.4", "object": "model", "created": 7, "owned_by": "openai"}, {"id": "small", "x_new": True}]


async def listed(
    handler: Callable[[httpx.Request], httpx.Response], *, configured: str = ""
) -> list[dict[str, object]]:
    settings = GatewaySettings(upstream_url=UPSTREAM, upstream_key="k", upstream_model=configured)
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as http:
        model = OpenAICompatibleChatModel(UPSTREAM, "k", client=http)
        async with services_of(settings=settings, model=model) as services, http_client(services) as client:
            answer = await client.get("/v1/models")
    assert answer.status_code == 200
    assert answer.json()["object"] == "list"
    return answer.json()["data"]


def upstream(request: httpx.Request) -> httpx.Response:
    assert request.url == f"{UPSTREAM}/models"
    assert request.headers["authorization"] == "Bearer k"
    return httpx.Response(200, json={"object": "list", "data": LISTED})


async def test_the_upstreams_models_are_listed_as_it_lists_them() -> None:
    assert await listed(upstream) == LISTED
    assert await listed(upstream, configured="small") == LISTED


async def test_the_configured_model_is_listed_even_where_the_upstream_does_not_name_it() -> None:
    assert [one["id"] for one in await listed(upstream, configured="own")] == ["own", "gpt-5.4", "small"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ConnectError("nobody listens"),
        httpx.ReadTimeout("too slow"),
        {"status_code": 404, "json": {"error": "no such route"}},
        {"status_code": 200, "text": "<html>"},
        {"status_code": 200, "json": {"data": "none"}},
        {"status_code": 200, "json": {"data": [3]}},
    ],
)
async def test_an_upstream_without_a_list_leaves_the_configured_model(answer: dict[str, Any] | Exception) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(**answer)

    assert [one["id"] for one in await listed(handler, configured="own")] == ["own"]
    assert [one["id"] for one in await listed(handler)] == ["default"]


async def test_without_an_upstream_the_scripted_model_is_listed() -> None:
    async with services_of() as services, http_client(services) as client:
        assert [one["id"] for one in (await client.get("/v1/models")).json()["data"]] == ["scripted"]


async def test_one_model_is_read_by_its_id_as_openais_client_does() -> None:
    names = {"id": "org/large:v1", "object": "model", "created": 3, "owned_by": "org"}

    def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"object": "list", "data": [names, *LISTED]})

    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as http:
        model = OpenAICompatibleChatModel(UPSTREAM, "k", client=http)
        settings = GatewaySettings(upstream_url=UPSTREAM, upstream_key="k")
        async with (
            services_of(settings=settings, model=model) as services,
            served(build_app(services), lifespan=True) as url,
            AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
        ):
            assert (await client.models.retrieve("gpt-5.4")).created == 7
            assert (await client.models.retrieve("org/large:v1")).owned_by == "org"
            with pytest.raises(NotFoundError, match="the model 'nothing' does not exist here") as missing:
                await client.models.retrieve("nothing")
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
