"""Catalogs on a stub of a Qdrant server, opened as a gateway opens them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from indexer.embedders.base import Embedder
from indexer.index import ToolIndex
from indexer.opening import Timers, open_index
from indexer.server_index import ServerToolIndex
from indexer.settings import IndexerSettings, QdrantSettings
from tests.indexer.catalogs import CountingEmbedder
from tests.qdrant_stub.server import StubServer
from tests.ticking import Clock, Ticks


def settings_for(server: StubServer, home: Path) -> IndexerSettings:
    return IndexerSettings(home=home, encoder="counting", qdrant=QdrantSettings(url=server.url, timeout_seconds=20))


@asynccontextmanager
async def opened(
    settings: IndexerSettings,
    *,
    budget_mb: int | None = 1,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[tuple[ToolIndex, Ticks]]:
    """`budget_mb`: of the memory for a replica; None: as much as it takes."""
    ticks, clock = Ticks(), clock or Clock()
    timers = Timers(tick=ticks, monotonic=clock, sleep=clock.sleep)
    within = replace(settings, qdrant=replace(settings.qdrant, memory_budget_mb=budget_mb))
    index = await open_index(within, embedder=embedder or CountingEmbedder(), timers=timers)
    try:
        yield index, ticks
    finally:
        await index.aclose()


@asynccontextmanager
async def on_server(
    settings: IndexerSettings, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> AsyncGenerator[tuple[ServerToolIndex, Ticks]]:
    """A catalog of any size, searched on its server."""
    async with opened(settings, budget_mb=-1, embedder=embedder, clock=clock) as (index, ticks):
        assert isinstance(index, ServerToolIndex)
        yield index, ticks
