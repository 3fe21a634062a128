"""`ServerToolIndex`: a catalog too large for this process's memory, searched on its Qdrant server.

The same `ToolIndex` as the replica's, and the same ranking, but for what it sees:

* It ranks what the server finds, some forty tools for a query: what stands in none of their lists is not found.
* What the catalog is like as a whole (how long fields are, what a weak match is) is measured in the background, when it
  is opened first and when it has grown or shrunk by a quarter; until then middle values hold, and answers say so.
* While the server is away nothing is found: searches raise StoreUnavailableError.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, final

import anyio
import anyio.to_thread

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, ToolKey
from indexer.embedders.base import Embedder
from indexer.finding import MAX_SUGGESTED_NAMESPACES
from indexer.index import IndexStats
from indexer.polling import Poller, Ticker, every
from indexer.registering import take_all
from indexer.search import RegistrationReport, RejectedTool, SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.server_measuring import Measurer
from indexer.server_memory import CatalogMemory
from indexer.server_reading import MOST, ServerReader
from indexer.server_search import search_server
from indexer.server_writing import ServerCatalogWriter
from indexer.stores.base import StoredTool
from indexer.stores.payload import PINNED
from indexer.stores.qdrant_query import any_of, any_tenant, scope_filter

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

_Result = TypeVar("_Result")

_LEAST_STALE_SECONDS: Final = 5.0
_MISSED_POLLS: Final = 4


@final
class ServerToolIndex:
    """A `ToolIndex` that keeps no tools in this process."""

    def __init__(
        self,
        writer: ServerCatalogWriter,
        client: "AsyncQdrantClient",
        embedder: Embedder,
        *,
        poll_seconds: float = 0.5,
        tick: Ticker | None = None,
        measure_path: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`client`: to the same server as the writer's store; closed with the index. `measure_path`: a file that keeps
        what the catalog is like as a whole."""
        self._writer = writer
        self._embedder = embedder
        self._writing = anyio.CapacityLimiter(1)
        self._poller = Poller(self._follow, tick or every(poll_seconds))
        self._stale_after = max(_LEAST_STALE_SECONDS, _MISSED_POLLS * poll_seconds)
        self._reader = ServerReader(client, lambda: writer.collection, self._look)
        self._measurer = Measurer(writer, self._reader, embedder, path=measure_path, monotonic=monotonic)
        self._memory = CatalogMemory(self._reader, writer.revision)

    def start_following(self) -> None:
        """Look now and then whether the catalog is still where and what it was, until `aclose`."""
        self._poller.start()
        self._measurer.start_if_due()

    async def measured(self) -> None:
        """Wait for the measuring of the catalog that is under way, if there is one."""
        await self._measurer.settled()

    async def _look(self) -> None:
        await self._write(self._writer.follow)

    async def _follow(self) -> None:
        await self._look()
        self._measurer.start_if_due()

    async def register(
        self,
        entries: Iterable[ToolDefinition | RejectedTool],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> RegistrationReport:
        """As `ToolIndex.register`. Raises: StoreError, EmbeddingError, and what `entries` raises."""
        take = partial(self._writer.take, iter(entries))
        report = await take_all(lambda: self._write(take), progress, self._writer.revision)
        self._measurer.start_if_due()
        return report

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """As `ToolIndex.delete`. Raises: StoreError."""
        return await self._write(partial(self._writer.delete, list(keys)))

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        """As `ToolIndex.search`. Raises: StoreUnavailableError, StoreError."""
        started = time.perf_counter()
        measure, calibrating = self._measurer.measure, self._measurer.is_pending
        revision = self._writer.revision
        if self._memory.is_outgrown(revision, measure.tools):
            self._memory = CatalogMemory(self._reader, revision)
        response = await search_server(
            self._reader, request, self._embedder, measure=measure, memory=self._memory, revision=revision
        )
        if not response.results:
            response = await self._explained(response, request.scope)
        stale = self._stale_seconds()
        return replace(
            response,
            stale=stale > 0,
            stale_seconds=stale,
            calibrating=calibrating,
            took_ms=round((time.perf_counter() - started) * 1e3, 3),
        )

    async def _explained(self, response: ToolSearchResponse, scope: SearchScope) -> ToolSearchResponse:
        """An answer that holds nothing, with the reason."""
        held = await self.namespaces(scope)
        if held:
            largest = sorted(held, key=lambda name: (-held[name], name))[:MAX_SUGGESTED_NAMESPACES]
            return replace(response, empty_reason="no_match", namespaces=tuple(largest))
        anything = (await self._reader.count_by("status")).get("active", 0)
        return replace(response, empty_reason="nothing_in_scope" if anything else "catalog_empty")

    async def get(self, key: ToolKey) -> StoredTool | None:
        found = await self._reader.tool(key.point_id)
        return None if found is None or found.status == "deleted" else found

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        tools = await self._reader.scroll(scope_filter(scope, also=[any_of("alias", wanted)]), len(wanted))
        return {model_alias(tool.key): tool.definition for tool in tools if scope.admits(tool.definition)}

    async def list_tools(
        self, scope: SearchScope, *, offset: int = 0, limit: int = 100, quarantined: bool = False
    ) -> Sequence[StoredTool]:
        """As `ToolIndex.list_tools`; namespaces before the page are counted, not read."""
        status = "quarantined" if quarantined else "active"
        counts = await self._reader.count_by("namespace", scope_filter(scope, status=status))
        page: list[StoredTool] = []
        for namespace in sorted(counts):
            if offset >= counts[namespace]:
                offset -= counts[namespace]
                continue
            within = scope_filter(scope, status=status, also=[any_of("namespace", [namespace])])
            tools = sorted(await self._reader.scroll(within, counts[namespace]), key=lambda tool: tool.key)
            page += [tool for tool in tools[offset:] if scope.admits(tool.definition)]
            offset = 0
            if len(page) >= limit:
                break
        return page[:limit]

    async def namespaces(self, scope: SearchScope) -> dict[str, int]:
        counts = await self._reader.count_by("namespace", scope_filter(scope))
        return dict(sorted(counts.items()))

    async def pinned(self, scope: SearchScope) -> Sequence[ToolDefinition]:
        tools = await self._reader.scroll(scope_filter(scope, also=[any_of("flags", [PINNED])]), MOST)
        return [tool.definition for tool in sorted(tools, key=lambda tool: tool.key) if scope.admits(tool.definition)]

    async def stats(self) -> IndexStats:
        """As `ToolIndex.stats`; equal namespaces of several tenants count once."""
        statuses = await self._reader.count_by("status")
        namespaces = await self._reader.count_by("namespace", any_tenant())
        return IndexStats(
            tools=statuses.get("active", 0),
            quarantined=statuses.get("quarantined", 0),
            namespaces=len(namespaces),
            catalog_revision=self._writer.revision,
            encoder_id=self._embedder.embedder_id,
            dimensions=self._embedder.dimensions,
            store="qdrant",
            search=self._searching(),
            stale=self._stale_seconds() > 0,
            silence_seconds=round(self._writer.silence_seconds, 3),
            problem=self._poller.problem,
        )

    def _searching(self) -> str:
        measure = self._measurer.measure
        measured = "not measured yet" if not measure.catalog_id else f"measured at {measure.tools:,} tools"
        return f"candidates from the Qdrant server, ranked here; the catalog: {measured}"

    def _stale_seconds(self) -> float:
        """For how long the server has not answered, if that is too long; else 0."""
        silence = self._writer.silence_seconds
        return round(silence, 1) if silence > self._stale_after else 0.0

    async def _write(self, call: Callable[[], _Result]) -> _Result:
        """Run a blocking call in the one thread for writing; it is waited for even if the caller is cancelled."""
        return await anyio.to_thread.run_sync(call, limiter=self._writing)

    async def aclose(self) -> None:
        """As `ToolIndex.aclose`: also when the caller is being cancelled."""
        with anyio.CancelScope(shield=True):
            await self._poller.aclose()
            await self._measurer.aclose()
            await self._write(self._writer.close)
            await self._reader.aclose()
