"""`ServerToolIndex`: a catalog too large for this process's memory, searched on its Qdrant server.

The same `ToolIndex` as the replica's, but for what takes the whole catalog to know:

* Confidence is not calibrated: a score is the share of the best possible rank, .99 at most. `min_confidence` leaves
  nothing out, no match is called weak, and where a scope holds anything a query that the encoder can read finds it.
* Words are weighed with average lengths fixed in advance, and the fusion goes by rank: the order is near the replica's,
  not the same. The needs within one long query, the context and the namespaces of a conversation do not change it.
* While the server is away nothing is found: searches raise StoreUnavailableError.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, final

import anyio
import anyio.to_thread

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, ToolKey
from indexer.embedders.base import Embedder
from indexer.index import IndexStats
from indexer.polling import Poller, Ticker, every
from indexer.registering import take_all
from indexer.search import RegistrationReport, RejectedTool, SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.server_reading import MOST, ServerReader
from indexer.server_search import search_server
from indexer.server_writing import ServerCatalogWriter
from indexer.stores.base import StoredTool
from indexer.stores.payload import PINNED
from indexer.stores.qdrant_query import any_of, any_tenant, scope_filter

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

_Result = TypeVar("_Result")

_SUGGESTED_NAMESPACES: Final = 8
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
    ) -> None:
        """`client`: to the same server as the writer's store; closed with the index."""
        self._writer = writer
        self._embedder = embedder
        self._writing = anyio.CapacityLimiter(1)
        self._poller = Poller(self._follow, tick or every(poll_seconds))
        self._stale_after = max(_LEAST_STALE_SECONDS, _MISSED_POLLS * poll_seconds)
        self._reader = ServerReader(client, lambda: writer.collection, self._follow)

    def start_following(self) -> None:
        """Look now and then whether the catalog is still where it was, until `aclose`."""
        self._poller.start()

    async def _follow(self) -> None:
        await self._write(self._writer.follow)

    async def register(
        self,
        entries: Iterable[ToolDefinition | RejectedTool],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> RegistrationReport:
        """As `ToolIndex.register`. Raises: StoreError, EmbeddingError, and what `entries` raises."""
        take = partial(self._writer.take, iter(entries))
        return await take_all(lambda: self._write(take), progress, self._writer.revision)

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """As `ToolIndex.delete`. Raises: StoreError."""
        return await self._write(partial(self._writer.delete, list(keys)))

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        """As `ToolIndex.search`. Raises: StoreUnavailableError, StoreError."""
        started = time.perf_counter()
        results, degraded = await search_server(self._reader, request, self._embedder)
        response = ToolSearchResponse(
            results=results, catalog_revision=self._writer.revision, degraded=degraded, stale=self._is_stale
        )
        if not results:
            response = await self._explained(response, request.scope)
        elif all(found.definition.key in request.already_found for found in results):
            response = replace(response, empty_reason="all_already_found")
        return replace(response, took_ms=round((time.perf_counter() - started) * 1e3, 3))

    async def _explained(self, response: ToolSearchResponse, scope: SearchScope) -> ToolSearchResponse:
        """An answer that holds nothing, with the reason."""
        held = await self.namespaces(scope)
        if held:
            largest = sorted(held, key=lambda name: (-held[name], name))[:_SUGGESTED_NAMESPACES]
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
            stale=self._is_stale,
            silence_seconds=round(self._writer.silence_seconds, 3),
            problem=self._poller.problem,
        )

    @property
    def _is_stale(self) -> bool:
        return self._writer.silence_seconds > self._stale_after

    async def _write(self, call: Callable[[], _Result]) -> _Result:
        """Run a blocking call in the one thread for writing; it is waited for even if the caller is cancelled."""
        return await anyio.to_thread.run_sync(call, limiter=self._writing)

    async def aclose(self) -> None:
        """As `ToolIndex.aclose`: also when the caller is being cancelled."""
        with anyio.CancelScope(shield=True):
            await self._poller.aclose()
            await self._write(self._writer.close)
            await self._reader.aclose()
