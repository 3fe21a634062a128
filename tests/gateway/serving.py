"""A gateway as users meet it: its parts over a catalog in memory, its application in process or on a loopback port."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx
import uvicorn
from starlette.types import ASGIApp

from gateway.app import build_app, make_services
from gateway.models.base import ChatModel
from gateway.services import Services
from gateway.settings import GatewaySettings
from indexer import ToolDefinition
from indexer.embedders.hashing import HashingEmbedder
from indexer.stores.memory import MemoryToolStore
from indexer.validation import judge
from indexer.vector_index import VectorToolIndex
from indexer.writing import CatalogWriter

OPERATOR_TOKEN = "operator-token-of-the-tests"


def memory_index() -> VectorToolIndex:
    """A real index over a store in memory."""
    embedder = HashingEmbedder()
    writer = CatalogWriter(MemoryToolStore(embedder.dimensions), embedder, judge, store_id="memory")
    return VectorToolIndex(writer, embedder, store_kind="memory")


@asynccontextmanager
async def services_of(
    *tools: ToolDefinition, settings: GatewaySettings | None = None, model: ChatModel | None = None
) -> AsyncGenerator[Services]:
    """A gateway's parts over a catalog of these tools."""
    services = make_services(memory_index(), settings or GatewaySettings(), model=model)
    try:
        if tools:
            await services.registry.register(tools)
        yield services
    finally:
        await services.aclose()


@asynccontextmanager
async def http_client(services: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of the application, in process."""
    app = build_app(services, operator_token=OPERATOR_TOKEN)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client,
    ):
        yield client


@asynccontextmanager
async def served(app: ASGIApp, *, lifespan: bool = False) -> AsyncGenerator[str]:
    """The application on a loopback port of this event loop; yields its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on" if lifespan else "off", timeout_graceful_shutdown=1
    )
    server = _AnnouncingServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        with anyio.fail_after(10):
            await server.ready.wait()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.wait({serving})
        listener.close()


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
