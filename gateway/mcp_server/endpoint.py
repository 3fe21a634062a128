"""The MCP server as part of the HTTP application, started by the first request that needs it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send


class McpEndpoint:
    """An ASGI application for `/mcp`; the MCP SDK takes a second to import, which start-up does not wait for."""

    def __init__(self, make_server: "Callable[[], Server[Any]]") -> None:
        self._make_server = make_server
        self._served: ASGIApp | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._started = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Stands by until the block ends; entered by the application's lifespan."""
        # A task of its own, because the SDK's session manager must be left by the task that entered it.
        self._keeper = asyncio.create_task(self._keep(), name="mcp-endpoint")
        try:
            yield
        finally:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})

    async def _keep(self) -> None:
        await self._wanted.wait()
        server = await asyncio.to_thread(self._make_server)
        # Stateless, so that any replica can serve any request; Host and Origin are checked in front of all routes.
        from mcp.server.transport_security import TransportSecuritySettings

        app = server.streamable_http_app(
            streamable_http_path="/mcp",
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with server.session_manager.run():
            self._served = app
            self._started.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["method"] == "GET":
            # A stream for what a server says unasked: this one says nothing, and each client would hold eight tasks.
            await _refuse(send)
            return
        app = self._served or await self._start()
        await app(scope, receive, send)

    async def _start(self) -> "ASGIApp":
        if self._keeper is None:
            raise RuntimeError("the application's lifespan has not been entered")
        self._wanted.set()
        starting = asyncio.ensure_future(self._started.wait())
        await asyncio.wait({starting, self._keeper}, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        if self._keeper.done():
            self._keeper.result()
        assert self._served is not None
        return self._served


async def _refuse(send: "Send") -> None:
    """405 in JSON-RPC's shape: by the protocol's revisions that know such streams, the word that there is none."""
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Method Not Allowed: send requests by POST"}}'
    headers = [(b"content-type", b"application/json"), (b"allow", b"POST"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": body})
