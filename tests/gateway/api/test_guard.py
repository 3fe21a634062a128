"""Who is let in, and what is said to those who are not."""

import logging
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Message, Scope

from gateway.api import chat, search
from gateway.app import build_app, make_services
from gateway.errors import ConfigurationError
from gateway.listening import check_listening, is_loopback
from gateway.settings import GatewaySettings
from indexer import IndexStats
from indexer.forwarding import ForwardingToolIndex
from tests.gateway.api.conftest import REFUND
from tests.gateway.serving import http_client, memory_index, services_of


async def test_without_a_key_only_loopback_is_listened_on() -> None:
    with pytest.raises(ConfigurationError, match="TOOLSCOUT_API_KEY"):
        check_listening(GatewaySettings(host="0.0.0.0"))
    check_listening(GatewaySettings(host="0.0.0.0", api_key="k"))
    async with services_of(settings=GatewaySettings(host="192.0.2.1")) as services:
        with pytest.raises(ConfigurationError, match="openssl rand"):
            build_app(services)


@pytest.mark.parametrize(
    ("host", "answer"),
    [("127.0.0.1", True), ("::1", True), ("LOCALHOST", True), ("127.8.0.9", True), ("10.0.0.1", False), ("h", False)],
)
def test_loopback_is_told_from_the_network(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer


async def test_a_key_is_asked_for_and_only_the_right_one_is_taken() -> None:
    async with services_of(settings=GatewaySettings(api_key="secret")) as services, http_client(services) as client:
        refused = await client.get("/v1/stats")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in refused.json()["detail"]
        assert (await client.get("/metrics")).status_code == 401
        for given in ("Bearer wrong", "Basic secret", "Bearer", "Bearer s\xe9cret"):
            headers = {b"authorization": given.encode("latin-1")}
            assert (await client.get("/v1/stats", headers=headers)).status_code == 401
        assert (await client.get("/v1/stats", headers={"authorization": "Bearer secret"})).status_code == 200
        assert (await client.get("/healthz")).status_code == 200
        model_route = await client.get("/v1/models")
        assert model_route.status_code == 401
        assert model_route.json()["error"]["type"] == "authentication_error"
        assert (await client.post("/mcp", json={})).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8080", "", "[::2]"])
async def test_a_foreign_host_name_is_refused(client: httpx.AsyncClient, host: str) -> None:
    for path in ("/v1/stats", "/healthz", "/mcp"):
        answer = await client.get(path, headers={"host": host})
        assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8080", "LocalHost."])
async def test_every_loopback_name_is_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/healthz", headers={"host": host})).status_code == 200


async def test_a_host_name_that_was_let_in_lets_no_other_one_in(client: httpx.AsyncClient) -> None:
    for host, status in (("localhost", 200), ("evil.example", 421), ("evil.example", 421), ("localhost", 200)):
        assert (await client.get("/healthz", headers={"host": host})).status_code == status


async def test_of_two_host_names_the_first_one_counts(client: httpx.AsyncClient) -> None:
    for hosts, status in ((("localhost", "evil.example"), 200), (("evil.example", "localhost"), 421)):
        headers = [("host", host) for host in hosts]
        assert (await client.get("/healthz", headers=headers)).status_code == status


async def test_pages_of_other_origins_are_refused_and_local_ones_let_in(client: httpx.AsyncClient) -> None:
    for origin in ("https://evil.example", "null", "http://[bad"):
        answer = await client.post("/v1/tools", json={"name": "x"}, headers={"origin": origin})
        assert answer.status_code == 403
    assert (await client.get("/v1/stats", headers={"origin": "http://localhost:3000"})).status_code == 200


async def test_every_answer_has_a_request_id(client: httpx.AsyncClient) -> None:
    good = await client.get("/healthz")
    bad = await client.get("/v1/tools/no/such")
    assert good.headers["x-toolscout-request-id"] != bad.headers["x-toolscout-request-id"]
    assert bad.json()["request_id"] == bad.headers["x-toolscout-request-id"]


async def test_an_unknown_route_and_a_wrong_method_are_problems_too(client: httpx.AsyncClient) -> None:
    missing = await client.get("/v1/nothing")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:toolscout:problem:no-such-route")
    assert "/docs" in missing.json()["detail"]
    wrong = await client.patch("/v1/search")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "urn:toolscout:problem:method-not-allowed")


async def test_an_unexpected_failure_tells_the_log_everything_and_the_caller_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with services_of() as services, http_client(services) as client:
        await services.index.aclose()
        services.index = None  # pyright: ignore[reportAttributeAccessIssue]  anything that fails will do
        with caplog.at_level(logging.ERROR):
            answer = await client.get("/v1/stats")
        services.index = services.registry._index  # pyright: ignore[reportPrivateUsage]
    assert answer.status_code == 500
    assert "AttributeError" not in answer.text
    assert "AttributeError" in caplog.text


async def test_health_says_who_is_alive_and_ready(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/readyz"):  # what watches over a service often asks for the head only
        head = await client.head(path)
        assert (head.status_code, head.content) == (200, b"")
    health = (await client.get("/healthz")).json()
    assert (health["status"], health["service"]) == ("ok", "toolscout")
    ready = (await client.get("/readyz")).json()
    assert (ready["status"], ready["tools"], ready["catalog_revision"]) == ("ready", 1, 1)
    assert (ready["stale"], ready["silence_seconds"], ready["problem"]) == (False, 0, "")


async def test_the_documentation_shows_an_example_for_every_body(client: httpx.AsyncClient) -> None:
    assert (await client.get("/docs")).status_code == 200
    paths = (await client.get("/openapi.json")).json()["paths"]
    bodies = [
        operation["requestBody"]
        for operations in paths.values()
        for method, operation in operations.items()
        if method in ("post", "put")
    ]
    assert len(bodies) == 5
    assert all(media["examples"] for body in bodies for media in body["content"].values())


async def test_what_the_guard_calls_by_itself_stands_in_the_description_too(client: httpx.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    for method, path in {**search.DIRECT, **chat.DIRECT}:
        assert paths[path][method.lower()]["requestBody"]


@pytest.mark.parametrize(
    "body", ['{"query": "refund an order"}', '{"query": 3}', "{", '{"query": "a", "query": "b"}', ""]
)
async def test_a_search_is_answered_alike_by_the_guard_and_through_the_router(body: str) -> None:
    async with services_of(REFUND) as services:
        app = build_app(services)
        inside = Starlette(routes=[Mount("/inside", app)])  # under a prefix the guard leaves the path to the router
        answers: list[tuple[int, str | None, dict[str, object]]] = []
        for served, path in ((app, "/v1/search"), (inside, "/inside/v1/search")):
            transport = httpx.ASGITransport(app=served)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                answer = await client.post(path, content=body)
            assert answer.headers["x-toolscout-request-id"]
            said = {
                name: value
                for name, value in answer.json().items()
                if name not in ("took_ms", "request_id", "instance")
            }
            answers.append((answer.status_code, answer.headers["content-type"], said))
    assert answers[0] == answers[1]


class Troubled(ForwardingToolIndex):
    """A catalog whose store is away."""

    async def stats(self) -> IndexStats:
        return replace(await super().stats(), stale=True, problem="http://qdrant.internal:6333 refused")


async def test_why_a_catalog_is_stale_is_told_to_key_holders_only() -> None:
    for key in (None, "secret"):
        services = make_services(Troubled(memory_index()), GatewaySettings(api_key=key))
        try:
            async with http_client(services) as client:
                nobody = (await client.get("/readyz")).json()
                holder = (await client.get("/readyz", headers={"authorization": "Bearer secret"})).json()
        finally:
            await services.aclose()
        assert nobody["stale"] and holder["stale"]
        assert holder["problem"] == "http://qdrant.internal:6333 refused"
        assert ("internal" in nobody["problem"]) == (key is None)
        assert nobody["problem"]


@pytest.mark.parametrize("path", ["/v1/tools/bulk", "/v1/tools", "/v1/search", "/v1/chat/completions"])
async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_failure(
    caplog: pytest.LogCaptureFixture, path: str
) -> None:
    sent: list[Message] = []
    parts: list[Message] = [
        {"type": "http.request", "body": b'{"name":', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return parts.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    async with services_of() as services:
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
        }
        await build_app(services)(scope, receive, send)
        assert (await services.index.stats()).tools == 0
    assert sent[0]["status"] == 499
    assert caplog.records == []
