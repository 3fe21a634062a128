"""The way to a model's endpoint, before servers that are real sockets."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx
import pytest

from gateway.models.endpoint_transport import EndpointTransport, endpoint_client

PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Server:
    """Answers each request of a connection with the next of its answers, and closes after the last."""

    answers: tuple[bytes, ...]
    closes: bool = False
    requests: list[bytes] = field(default_factory=list[bytes])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            for answer in self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")), 0
                )
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                writer.write(answer)
                await writer.drain()
            if not self.closes:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def serving(
    *answers: bytes, closes: bool = False, ssl_context: ssl.SSLContext | None = None
) -> AsyncGenerator[Server]:
    server = Server(answers, closes)
    listening = await asyncio.start_server(server, "127.0.0.1", 0, ssl=ssl_context)
    scheme = "http" if ssl_context is None else "https"
    server.url = f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/chat?x=1"
    with anyio.fail_after(10):
        yield server
    listening.close()


@asynccontextmanager
async def client_of(ssl_context: ssl.SSLContext | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=EndpointTransport(ssl_context)) as client:
        yield client


async def test_a_request_arrives_whole_and_its_answer_is_read() -> None:
    async with serving(PLAIN) as server, client_of() as client:
        answer = await client.post(server.url, content=b"body", headers={"x-own": "1"})
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"ok", "2")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/chat?x=1 HTTP/1.1"
    assert {b"x-own: 1", b"Content-Length: 4"} <= set(lines)
    assert body == b"body"


async def test_one_connection_serves_request_after_request_and_two_serve_two_at_once() -> None:
    async with serving(PLAIN, PLAIN, PLAIN) as server, client_of() as client:
        for _ in range(2):
            await client.post(server.url, content=b"x")
        assert server.connections == 1
        async with client.stream("POST", server.url, content=b"x") as first:
            await client.post(server.url, content=b"y")
            assert await first.aread() == b"ok"
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "closes", "body"),
    [
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", False, b"abcde"),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", True, b"to the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", True, b"to the end"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, False, b"ok"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + PLAIN, False, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False, b""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", False, b""),
    ],
)
async def test_bodies_end_as_their_heads_say(answer: bytes, closes: bool, body: bytes) -> None:
    async with serving(answer, closes=closes) as server, client_of() as client:
        read = await client.post(server.url, content=b"x")
    assert read.content == body
    assert "link" not in read.headers


async def test_what_comes_is_handed_on_before_the_answer_is_complete() -> None:
    begun = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
    async with serving(begun) as server, client_of() as client:
        async with client.stream("POST", server.url, content=b"x") as answer:
            async for chunk in answer.aiter_bytes():
                assert chunk == b"abc"
                break
        await server.gone.wait()  # an answer left unread closes its connection


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-len",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a size\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * 400_000,
        b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 10_000,
    ],
)
async def test_a_broken_answer_is_an_error_and_its_connection_is_not_used_again(answer: bytes) -> None:
    async with serving(answer, closes=True) as server, client_of() as client:
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.post(server.url, content=b"x")
        assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        PLAIN + b"HTTP/1.1 200 OK\r\nx-own: 1\r\ncontent-length: 7\r\n\r\nnobody's",
        PLAIN + b"neither",
    ],
)
async def test_a_connection_that_ends_or_says_too_much_is_not_used_again(answer: bytes) -> None:
    async with serving(answer, answer) as server, client_of() as client:
        for _ in range(2):
            read = await client.post(server.url, content=b"x")
            assert read.content == b"ok"
            assert "x-own" not in read.headers
            await server.gone.wait()
            server.gone.clear()
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_while_it_rested_is_not_used_again() -> None:
    async with serving(PLAIN, closes=True) as server, client_of() as client:
        await client.post(server.url, content=b"x")
        await server.gone.wait()
        await anyio.wait_all_tasks_blocked()
        assert (await client.post(server.url, content=b"x")).content == b"ok"


async def test_every_wait_has_an_end() -> None:
    silent = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"
    async with serving(b"") as server, serving(silent) as half, client_of() as client:
        for url in (server.url, half.url):
            with pytest.raises(httpx.ReadTimeout):
                await client.post(url, content=b"x", timeout=httpx.Timeout(10, read=0.01))
            await server.gone.wait()


async def test_a_cancelled_request_closes_its_connection() -> None:
    async with serving(b"") as server, client_of() as client:
        asking = asyncio.create_task(client.post(server.url, content=b"x"))
        await server.asked.wait()
        asking.cancel()
        await asyncio.wait({asking})
        await server.gone.wait()


async def test_nobody_there_is_a_connect_error() -> None:
    async with serving(PLAIN) as server:
        pass
    async with client_of() as client:
        with pytest.raises(httpx.ConnectError):
            await client.post(server.url, content=b"x")
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.post("ftp://127.0.0.1/x", content=b"x")


async def test_a_header_cannot_smuggle_in_another() -> None:
    async with serving(PLAIN) as server, client_of() as client:
        for value in ("1\r\nx-own: 2", "1\n", "1\0"):
            with pytest.raises(httpx.LocalProtocolError):
                await client.post(server.url, content=b"x", headers={"traceparent": value})
    assert not server.requests


async def test_an_answer_that_nobody_reads_makes_the_server_wait_and_arrives_whole() -> None:
    body = bytes(range(256)) * (1 << 16)
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    async with serving(answer, answer) as server, client_of() as client:
        for _ in range(2):
            async with client.stream("POST", server.url, content=body) as begun:
                await anyio.wait_all_tasks_blocked()
                assert await begun.aread() == body
        assert server.connections == 1
    assert server.requests[1].endswith(body)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_an_endpoint_over_tls_is_asked_if_its_certificate_is_good(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(  # noqa: ASYNC221  a moment
        [*command.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=certificate)
    async with serving(PLAIN, PLAIN, ssl_context=own) as server:
        async with client_of(trusting) as client:
            for _ in range(2):
                assert (await client.post(server.url, content=b"x")).content == b"ok"
            assert server.connections == 1
        async with client_of() as client:
            with pytest.raises(httpx.ConnectError, match="certificate"):
                await client.post(server.url, content=b"x")


async def test_proxies_of_the_environment_are_left_to_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    proxied: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        proxied.append(await reader.readuntil(b"\r\n"))
        writer.write(PLAIN)
        writer.close()

    listening = await asyncio.start_server(proxy, "127.0.0.1", 0)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    async with endpoint_client() as client:
        assert (await client.post("http://model.invalid/v1", content=b"x")).content == b"ok"
    listening.close()
    assert proxied == [b"POST http://model.invalid/v1 HTTP/1.1\r\n"]
