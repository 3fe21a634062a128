"""HTTP/1.1 for httpx over asyncio's sockets and a parser in C.

Under a gateway a model's first token waits for whatever is done on the way to its endpoint. httpx's own transport takes
.9 ms there, this one .4 (one connection on loopback, a busy machine): it sends a request in one piece, and
reads an answer without turns of the event loop in between. All that httpx itself does stays httpx's, so do proxies.
"""

import asyncio
import select
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeAlias, final
from urllib.request import getproxies

import httptools
import httpx
from typing_extensions import override

_IDLE_SECONDS: Final = 5.0
"""As httpx has it: servers that drop idle connections wait longer, so that none is asked as it is being closed."""
_HELD_BYTES: Final = 1 << 20
"""Of an answer that nobody reads yet; past it the other side has to wait."""

_MAX_HEAD_BYTES: Final = 1 << 18
"""Of an answer before its body; no server means more, and the parser itself has no bound."""

_Origin: TypeAlias = tuple[str, str, int]
_Headers: TypeAlias = list[tuple[bytes, bytes]]


def endpoint_client() -> httpx.AsyncClient:
    """A client over this transport; over httpx's own where the environment names proxies."""
    return httpx.AsyncClient() if getproxies() else httpx.AsyncClient(transport=EndpointTransport())


@final
class EndpointTransport(httpx.AsyncBaseTransport):
    """Keeps connections open between requests, one request at a time on each; bodies of requests are in memory."""

    def __init__(self, ssl_context: ssl.SSLContext | None = None) -> None:
        """Without a context, httpx's: the environment's or certifi's authorities."""
        self._ssl_context = ssl_context
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._open: set[_Connection] = set()

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises: httpx.TransportError."""
        timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
        origin = _origin_of(request.url)
        message = _head_of(request) + await request.aread()
        connection = self._rested(origin) or await self._connect(origin, timeouts.get("connect"))
        try:
            await connection.ask(message, timeouts.get("write"), timeouts.get("read"))
        except BaseException:  # a cancelled request too: its answer would be taken for the next one's
            connection.close()
            raise
        body = _Body(connection, timeouts.get("read"), lambda: self._keep(origin, connection))
        return httpx.Response(connection.status, headers=connection.headers, stream=body)

    def _rested(self, origin: _Origin) -> "_Connection | None":
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if not connection.is_readable():
                return connection
            connection.close()  # by the other side, or it said something that nobody asked for
        return None

    async def _connect(self, origin: _Origin, seconds: float | None) -> "_Connection":
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        secure: dict[str, Any] = {"ssl": await self._secured(), "server_hostname": host} if scheme == "https" else {}
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._forget), host, port, happy_eyeballs_delay=0.25, **secure
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:  # certificates that do not fit are among them
            raise httpx.ConnectError(str(error)) from error
        self._open.add(connection)
        return connection

    async def _secured(self) -> ssl.SSLContext:
        if self._ssl_context is None:
            context = await asyncio.to_thread(httpx.create_ssl_context)  # it reads every authority
            context.set_alpn_protocols(["http/1.1"])
            self._ssl_context = context
        return self._ssl_context

    def _keep(self, origin: _Origin, connection: "_Connection") -> None:
        """Take a connection back once its answer is done with."""
        if connection.rest():
            self._idle.setdefault(origin, []).append(connection)

    def _forget(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        for idle in self._idle.values():
            if connection in idle:
                idle.remove(connection)

    @override
    async def aclose(self) -> None:
        for connection in tuple(self._open):
            connection.close()
        await asyncio.sleep(0)  # sockets are closed in the event loop's next turn


def _origin_of(url: httpx.URL) -> _Origin:
    if url.scheme not in ("http", "https"):
        raise httpx.UnsupportedProtocol(f"Request URL has an unsupported protocol {url.scheme!r}.")
    return url.scheme, url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)


def _head_of(request: httpx.Request) -> bytes:
    fields = request.headers.raw
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % field for field in fields]
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(fields) or head.count(b"\r") != len(fields) or b"\0" in head:
        raise httpx.LocalProtocolError("Illegal header value")
    return head + b"\r\n\r\n"


@final
class _Connection(asyncio.Protocol):
    """A connection and the answer that it reads."""

    def __init__(self, forget: "Callable[[_Connection], None]") -> None:
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: _Headers = []
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._head_bytes = 0
        self._complete = False
        self._ends_with_connection = False
        self._reusable = False
        self._failure: httpx.TransportError | None = None

    # What a request does

    async def ask(self, message: bytes, write_seconds: float | None, read_seconds: float | None) -> None:
        """Send a request and wait for the head of its answer. Raises: httpx.TransportError."""
        assert self._transport is not None
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        self._begin()
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(message)
        if not self._writable.is_set():
            try:
                async with asyncio.timeout(write_seconds):
                    await self._writable.wait()
            except TimeoutError:
                raise httpx.WriteTimeout("") from None
        while not self.status:
            await self._more(read_seconds)

    async def chunks(self, seconds: float | None) -> AsyncIterator[bytes]:
        """The body as it comes. Raises: httpx.TransportError."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._hold(-len(chunk))
                yield chunk
            if self._complete:
                return
            await self._more(seconds)

    async def _more(self, seconds: float | None) -> None:
        """Wait until something new has been read."""
        if self._failure is not None:
            raise self._failure
        self._waiter = self._loop.create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._waiter
        except TimeoutError:
            raise httpx.ReadTimeout("") from None
        finally:
            self._waiter = None

    def is_readable(self) -> bool:
        """Whether the other side has sent or ended something that the event loop has not come to yet."""
        assert self._transport is not None
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))

    def rest(self) -> bool:
        """The answer is done with; whether the next request may be sent here. If not, it is closed."""
        if not (self._complete and self._reusable):
            self.close()
            return False
        self._parser = None
        self._resting = self._loop.call_later(_IDLE_SECONDS, self.close)
        return True

    def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if self._transport is not None:
            # Of an unfinished exchange nothing more is to be sent, nor waited for.
            self._transport.close() if self._complete else self._transport.abort()
        self._forget(self)

    # What the socket does

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._complete:  # nobody has asked: it cannot be told what this would answer
            self._reusable = False
            self.close()
            return
        try:
            self._parser.feed_data(data)
            self._head_bytes += 0 if self.status else len(data)
            if self._head_bytes > _MAX_HEAD_BYTES:
                raise httptools.HttpParserError("the head of the answer has no end")
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._reusable = False
            if not self._complete:
                self._failed(httpx.RemoteProtocolError(str(error)))
        self._wake()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._reusable = False
        self._writable.set()
        if self.status and self._ends_with_connection and exc is None:
            self._complete = True
        elif not self._complete:
            self._failed(
                httpx.ReadError(str(exc))
                if exc is not None
                else httpx.RemoteProtocolError("the server closed the connection before its answer was complete")
            )
        self._wake()
        self.close()

    @override
    def pause_writing(self) -> None:
        self._writable.clear()

    @override
    def resume_writing(self) -> None:
        self._writable.set()

    def _failed(self, failure: httpx.TransportError) -> None:
        self._failure = self._failure or failure

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _hold(self, size: int) -> None:
        assert self._transport is not None
        before, self._held = self._held, self._held + size
        if before <= _HELD_BYTES < self._held:
            self._transport.pause_reading()
        elif self._held <= _HELD_BYTES < before:
            self._transport.resume_reading()

    # What the parser reads; of what comes after the answer nothing counts

    def on_message_begin(self) -> None:
        if self._complete:
            self._reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._complete:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if self._complete:
            return
        if status < 200:  # the answer is still to come
            self.headers = []
            return
        self.status = status
        self._reusable = self._parser.should_keep_alive()
        names = {name.lower(): value.lower() for name, value in self.headers}
        self._ends_with_connection = b"content-length" not in names and b"chunked" not in names.get(
            b"transfer-encoding", b""
        )

    def on_body(self, body: bytes) -> None:
        if self._complete:
            return
        self._chunks.append(body)
        self._hold(len(body))

    def on_message_complete(self) -> None:
        self._complete = self.status > 0


@final
class _Body(httpx.AsyncByteStream):
    """The body of an answer; closed, it gives its connection back."""

    def __init__(self, connection: _Connection, seconds: float | None, done: "Callable[[], None]") -> None:
        self._connection = connection
        self._seconds = seconds
        self._done: Callable[[], None] | None = done

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._connection.chunks(self._seconds):
            yield chunk

    @override
    async def aclose(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            done()
