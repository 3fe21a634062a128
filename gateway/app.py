"""The composition root: the one place that picks concrete classes, for the server and for the command line.

What is heavy to import (fastapi, uvicorn, httpx, mcp) is imported by the function that needs it: a search from the
command line needs none of them, and the server's first search only two.
"""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.listening import check_listening, is_loopback
from gateway.registry.registry import ToolRegistry
from gateway.registry.remembered_sources import remembered_sources
from gateway.services import Services
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, ToolIndex, arguments_problem, open_index

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server import Server

    from gateway.advisors.chain import Advisor
    from gateway.chat.exchange import Usage
    from gateway.chat.messages import AssistantMessage
    from gateway.chat.prompt import Prompt
    from gateway.chat.tokens import TokenCounter
    from gateway.client import ChatClient
    from gateway.models.base import ChatModel


@asynccontextmanager
async def open_services(gateway: GatewaySettings, indexer: IndexerSettings) -> AsyncGenerator[Services, None]:
    """A gateway's parts over the catalog that the settings name, closed at the end of the block.

    Raises: StoreLockedError, StoreError, UnknownEncoderError.
    """
    index = await open_index(indexer, for_long=True)
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
        make_model=_make_model if model is None else lambda _: model,
        make_client=_make_client,
        make_counter=_make_counter,
    )


def _make_model(services: Services) -> "ChatModel":
    settings = services.settings
    if settings.upstream_url is None:
        from gateway.models.planner import Planner
        from gateway.models.scripted import ScriptedChatModel

        return ScriptedChatModel(policy=Planner(fits=_fits), count_usage=partial(_usage, services.counter))
    from gateway.models.openai_compatible import OpenAICompatibleChatModel

    return OpenAICompatibleChatModel(
        settings.upstream_url,
        settings.upstream_key,
        timeout_seconds=settings.upstream_timeout_seconds,
        default_model=settings.upstream_model,
    )


def _usage(counter: "TokenCounter", prompt: "Prompt", message: "AssistantMessage") -> "Usage":
    """What a provider would bill; the scripted model reports it as a real one does."""
    from gateway.chat.exchange import Usage

    return Usage(prompt_tokens=counter.count_prompt(prompt), completion_tokens=counter.count_message(message))


def _fits(schema: Mapping[str, Any], value: object) -> bool:
    wrapped = {"type": "object", "properties": {"value": schema}}
    return arguments_problem(wrapped, {"value": value}) is None


def _make_client(services: Services) -> "ChatClient":
    from gateway.advisors.first_offer import FirstOffer
    from gateway.advisors.loop_limits import LoopLimits
    from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
    from gateway.client import ChatClient
    from gateway.tools.manager import ToolCallingManager
    from gateway.tools.telemetry import ToolSpans

    loop, offer = services.settings.loop, services.settings.first_offer
    manager = ToolCallingManager(
        max_concurrent_calls=loop.max_concurrent_calls,
        tool_timeout_seconds=loop.tool_timeout_seconds,
        around=ToolSpans(),
    )
    advisor = ToolSearchToolCallingAdvisor(
        services.index,
        services.registry,
        max_results=loop.max_results,
        search_context=loop.search_context,
        first_offer=FirstOffer(
            passthrough_tokens=offer.passthrough_tokens,
            count_tools=lambda specs: services.counter.count_tools(specs),
            preload_min_score=offer.preload_min_score,
            preload_max=offer.preload_max,
            described_namespaces=offer.described_namespaces,
        ),
        manager=manager,
        limits=LoopLimits(max_rounds=loop.max_rounds, max_calls=loop.max_calls),
        safety=services.settings.safety,
    )
    return ChatClient(services.model, advisors=[advisor, *_observers(services)])


def _observers(services: Services) -> "list[Advisor]":
    """Counts for the metrics route, counts and spans for OpenTelemetry, and traces if they are asked for."""
    from gateway.advisors.metrics import OpenTelemetrySink, ToolLoopMetricsAdvisor
    from gateway.advisors.telemetry import ChatSpanAdvisor

    observers: list[Advisor] = [ToolLoopMetricsAdvisor(services.counts, OpenTelemetrySink()), ChatSpanAdvisor()]
    if services.settings.trace:
        from gateway.advisors.trace import ThinkTraceAdvisor, ToolCallTraceAdvisor

        observers += [ToolCallTraceAdvisor(), ThinkTraceAdvisor()]
    return observers


def _make_counter() -> "TokenCounter":
    from gateway.chat.tokens import TokenCounter

    return TokenCounter()


def build_app(services: Services, *, operator_token: str | None = None, pid: int | None = None) -> "FastAPI":
    """The HTTP application over a gateway's parts, which stay the caller's to close.

    `pid`: of the process that owns the home, if that is another one, which started this.

    Raises: ConfigurationError if the settings would open it to the network without a key.
    """
    from fastapi import FastAPI
    from starlette.routing import Route

    from gateway.api import chat, docs, health, metrics, models, search, tools
    from gateway.api.errors import install_error_handlers
    from gateway.api.guard import LOOPBACK_HOSTS, GuardSettings, RequestGuard
    from gateway.api.written_tools import WrittenTools
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
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = services
    app.state.written_tools = WrittenTools()
    app.state.pid = os.getpid() if pid is None else pid
    for module in (search, tools, chat, models, health, metrics, docs):
        app.include_router(module.router)
    app.router.routes.append(Route("/mcp", endpoint=mcp_endpoint, include_in_schema=False))
    install_error_handlers(app)
    hosts = LOOPBACK_HOSTS | {settings.host.lower()} if is_loopback(settings.host) else None
    guard = GuardSettings(api_key=settings.api_key, operator_token=operator_token, hosts=hosts)
    app.add_middleware(RequestGuard, settings=guard, direct={**search.DIRECT, **chat.DIRECT})
    return app


def make_mcp_server(services: Services) -> "Server[Any]":
    """The MCP server over the catalog, for stdio and for `/mcp`."""
    from gateway.mcp_server.server import build_mcp_server

    return build_mcp_server(services.index, version=installed_version(), max_results=services.settings.loop.max_results)


def installed_version() -> str:
    """The version of the installed distribution; empty when run from a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("toolscout")
    except PackageNotFoundError:
        return ""
