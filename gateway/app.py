"""The composition root: the one place that picks concrete classes, for the server and for the command line.

What is heavy to import (fastapi, uvicorn, httpx, mcp) is imported by the function that needs it: a search from the
command line needs none of them, and the server's first search only two.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.errors import ConfigurationError
from gateway.home import ServerRecord, remove_server_record, write_server_record
from gateway.registry.registry import ToolRegistry
from gateway.registry.remembered_sources import remembered_sources
from gateway.services import Services
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, ToolIndex, arguments_problem, open_index

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server import Server

    from gateway.chat.tokens import TokenCounter
    from gateway.client import ChatClient
    from gateway.models.base import ChatModel

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_services(gateway: GatewaySettings, indexer: IndexerSettings) -> AsyncGenerator[Services, None]:
    """A gateway's parts over the catalog that the settings name, closed at the end of the block.

    Raises: StoreLockedError, StoreError, UnknownEncoderError.
    """
    index = await open_index(indexer)
    services = make_services(index, gateway, home=indexer.home)
    try:
        yield services
    finally:
        await services.aclose()


def make_services(
    index: ToolIndex, gateway: GatewaySettings, *, home: Path | None = None, model: "ChatModel | None" = None
) -> Services:
    """A gateway's parts over an open index.

    `home` holds the operator's list of sources; `model` stands in for the one that the settings name.
    """
    sources = dict[str, str] if home is None else partial(remembered_sources, home)
    return Services(
        index=index,
        registry=ToolRegistry(index, sources=sources),
        settings=gateway,
        make_model=partial(_make_model, gateway) if model is None else lambda: model,
        make_client=_make_client,
        make_counter=_make_counter,
    )


def _make_model(settings: GatewaySettings) -> "ChatModel":
    if settings.upstream_url is None:
        from gateway.models.planner import Planner
        from gateway.models.scripted import ScriptedChatModel

        return ScriptedChatModel(policy=Planner(fits=_fits))
    from gateway.models.openai_compatible import OpenAICompatibleChatModel

    return OpenAICompatibleChatModel(
        settings.upstream_url,
        settings.upstream_key,
        timeout_seconds=settings.upstream_timeout_seconds,
        default_model=settings.upstream_model,
    )


def _fits(schema: Mapping[str, Any], value: object) -> bool:
    wrapped = {"type": "object", "properties": {"value": schema}}
    return arguments_problem(wrapped, {"value": value}) is None


def _make_client(services: Services) -> "ChatClient":
    from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
    from gateway.client import ChatClient
    from gateway.tools.manager import ToolCallingManager

    loop = services.settings.loop
    manager = ToolCallingManager(
        max_concurrent_calls=loop.max_concurrent_calls, tool_timeout_seconds=loop.tool_timeout_seconds
    )
    advisor = ToolSearchToolCallingAdvisor(
        services.index, services.registry, max_results=loop.max_results, manager=manager, max_rounds=loop.max_rounds
    )
    return ChatClient(services.model, advisors=[advisor])


def _make_counter() -> "TokenCounter":
    from gateway.chat.tokens import TokenCounter

    return TokenCounter()


def build_app(services: Services, *, operator_token: str | None = None) -> "FastAPI":
    """The HTTP application over a gateway's parts, which stay the caller's to close.

    Raises: ConfigurationError if the settings would open it to the network without a key.
    """
    from fastapi import FastAPI
    from starlette.routing import Route

    from gateway.api import chat, health, models, search, tools
    from gateway.api.errors import install_error_handlers
    from gateway.api.guard import LOOPBACK_HOSTS, GuardSettings, RequestGuard
    from gateway.mcp_server.endpoint import McpEndpoint

    settings = services.settings
    check_listening(settings)
    mcp_endpoint = McpEndpoint(partial(make_mcp_server, services))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with mcp_endpoint.running():
            yield

    app = FastAPI(
        title="Toolscout",
        version=installed_version(),
        summary="A vector-indexed dynamic tool-search gateway.",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.services = services
    for module in (search, tools, chat, models, health):
        app.include_router(module.router)
    app.router.routes.append(Route("/mcp", endpoint=mcp_endpoint, include_in_schema=False))
    install_error_handlers(app)
    hosts = LOOPBACK_HOSTS | {settings.host.lower()} if is_loopback(settings.host) else None
    guard = GuardSettings(api_key=settings.api_key, operator_token=operator_token, hosts=hosts)
    app.add_middleware(RequestGuard, settings=guard)
    return app


def make_mcp_server(services: Services) -> "Server[Any]":
    """The MCP server over the catalog, for stdio and for `/mcp`."""
    from gateway.mcp_server.server import build_mcp_server

    return build_mcp_server(services.index, version=installed_version(), max_results=services.settings.loop.max_results)


def installed_version() -> str:
    """The version of the installed distribution; empty when run from a bare checkout."""
    try:
        return version("toolscout")
    except PackageNotFoundError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether an address to listen on reaches this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_listening(settings: GatewaySettings) -> None:
    """Raises: ConfigurationError if anyone on the network could use the gateway without a key."""
    if settings.api_key is None and not is_loopback(settings.host):
        raise ConfigurationError(
            f"refusing to listen on {settings.host} without a key: anyone who reaches it could use and change the "
            "catalog. Set TOOLSCOUT_API_KEY to a long random value (`openssl rand -hex 32`), or listen on 127.0.0.1"
        )


def run_server(
    gateway: GatewaySettings, indexer: IndexerSettings, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve until interrupted; `on_ready` hears the URL once requests are answered.

    Raises: ConfigurationError, StoreLockedError, StoreError.
    """
    check_listening(gateway)
    with contextlib.closing(_bound_socket(gateway)) as listener, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(gateway, indexer, listener, on_ready))


async def _serve(
    gateway: GatewaySettings,
    indexer: IndexerSettings,
    listener: socket.socket,
    on_ready: Callable[[str], None] | None,
) -> None:
    async with open_services(gateway, indexer) as services:
        import uvicorn

        record = ServerRecord(
            url=_url(gateway.host, listener.getsockname()[1]),
            pid=os.getpid(),
            started_at=time.time(),
            token=secrets.token_urlsafe(32),
        )
        app = build_app(services, operator_token=record.token)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.started:
                    write_server_record(indexer.home, record)
                    if on_ready is not None:
                        on_ready(record.url)

        try:
            await Server(config).serve(sockets=[listener])
        finally:
            remove_server_record(indexer.home, pid=record.pid)


def _url(host: str, port: int) -> str:
    """Where this machine reaches the server; one that listens everywhere is reached over loopback."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _bound_socket(settings: GatewaySettings) -> socket.socket:
    """Raises: ConfigurationError if the address cannot be had; before anything slow has been done."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror or error}); "
            "set TOOLSCOUT_PORT or --port to a free port, or stop what uses it"
        ) from error
    return listener
