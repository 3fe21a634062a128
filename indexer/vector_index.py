"""`VectorToolIndex`: the catalog over a store and a numpy replica; the only crossing from async to blocking calls."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar, final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from indexer.answering import SearchLane
from indexer.definition import ToolDefinition, ToolKey
from indexer.embedders.base import Embedder
from indexer.embedders.remembering import RememberingEmbedder
from indexer.finding import find_together
from indexer.index import IndexStats
from indexer.polling import Poller, Ticker, every
from indexer.registering import take_all
from indexer.replica_state import ReplicaState
from indexer.search import (
    RegistrationReport,
    RejectedTool,
    SearchScope,
    ToolSearchRequest,
    ToolSearchResponse,
)
from indexer.stores.base import StoredTool
from indexer.writing import CatalogWriter

_Result = TypeVar("_Result")

_POLL_SECONDS: Final = 0.5
_LEAST_STALE_SECONDS: Final = 5.0
_MISSED_POLLS: Final = 4
"""Questions without an answer after which what is known counts as stale, if that is the longer time."""


@final
class VectorToolIndex:
    """A `ToolIndex` whose searches never touch the store: they read the newest state of the replica, without locks.

    What `register` and `delete` acknowledged survives a killed process at once; it survives a power cut from the
    next snapshot on, which large registrations and `aclose` write. Where others write to the store as well, their
    changes are in the replica a moment later (`start_following`).
    """

    def __init__(
        self,
        writer: CatalogWriter,
        embedder: Embedder,
        *,
        store_kind: str,
        poll_seconds: float = _POLL_SECONDS,
        tick: Ticker | None = None,
    ) -> None:
        """`tick`: when to ask for news, by default every `poll_seconds`."""
        self._writer = writer
        self._embedder = embedder
        self._store_kind = store_kind
        self._writing = anyio.CapacityLimiter(1)
        self._poller = Poller(self._follow, tick or every(poll_seconds))
        self._stale_after = max(_LEAST_STALE_SECONDS, _MISSED_POLLS * poll_seconds)
        queries = RememberingEmbedder(embedder)
        self._make_lane = partial(
            SearchLane, partial(find_together, embedder=queries), may_hold_loop=lambda: queries.is_quick
        )
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, SearchLane] = WeakKeyDictionary()
        """One for each event loop: searches of another thread's loop could not be woken from this one."""
        self._right_of_way = writer.right_of_way

    def start_following(self) -> None:
        """Ask a shared store for news from now on, in the event loop that is running, until `aclose`."""
        if self._writer.shared:
            self._poller.start()

    async def _follow(self) -> None:
        if await self._write(self._writer.follow):
            await self._take_care()

    async def _take_care(self) -> None:
        if self._writer.wants_care:
            await self._write(self._writer.take_care)

    def _stale_seconds(self) -> float:
        """For how long the store has not answered, if that is too long; else 0."""
        silence = self._writer.silence_seconds
        return round(silence, 1) if silence > self._stale_after else 0.0

    async def register(
        self,
        entries: Iterable[ToolDefinition | RejectedTool],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> RegistrationReport:
        """As `ToolIndex.register`. Raises: StoreError, EmbeddingError, and what `entries` raises."""
        if isinstance(entries, Sequence) and len(entries) == 1 and isinstance(entry := entries[0], ToolDefinition):
            await checkpoint()  # others have their turn, also where a program registers one tool after another
            started = time.perf_counter()
            if (report := self._writer.take_at_once(entry)) is not None:
                if progress is not None:
                    progress(1)
                await self._take_care()
                return replace(report, seconds=time.perf_counter() - started)
        take = partial(self._writer.take, iter(entries))
        report = await take_all(lambda: self._write(take), progress, self._writer.state.revision)
        await self._take_care()
        return report

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """As `ToolIndex.delete`. Raises: StoreError."""
        return await self._write(partial(self._writer.delete, list(keys)))

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        started = time.perf_counter()
        with self._right_of_way.searching():
            response = await self._lane().search(self._writer.state, request)
        stale = self._stale_seconds()
        took_ms = round((time.perf_counter() - started) * 1e3, 3)
        return replace(response, took_ms=took_ms, stale=stale > 0, stale_seconds=stale)

    def _lane(self) -> SearchLane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        return self._lanes.setdefault(loop, self._make_lane()) if lane is None else lane

    async def get(self, key: ToolKey) -> StoredTool | None:
        state = self._writer.state
        row = state.row_of(key)
        return state.quarantined.get(key) if row is None else state.stored(row, self._writer.encoder_id)

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        state = self._writer.state
        found: dict[str, ToolDefinition] = {}
        for name in names:
            row = state.row_behind(scope.tenant, name)
            if row is None:
                continue
            definition = state.table.definition(row)
            if scope.admits(definition):
                found[name] = definition
        return found

    async def list_tools(
        self, scope: SearchScope, *, offset: int = 0, limit: int = 100, quarantined: bool = False
    ) -> Sequence[StoredTool]:
        state = self._writer.state
        if quarantined:
            held = [tool for tool in state.quarantined.values() if scope.admits(tool.definition)]
            return sorted(held, key=lambda tool: tool.key)[offset : offset + limit]
        return await anyio.to_thread.run_sync(partial(self._page, state, scope, offset, limit))

    def _page(self, state: ReplicaState, scope: SearchScope, offset: int, limit: int) -> list[StoredTool]:
        rows = sorted(state.live_rows(scope).tolist(), key=state.table.key)
        page = [state.stored(row, self._writer.encoder_id) for row in rows[offset : offset + limit]]
        return [tool for tool in page if scope.admits(tool.definition)]

    async def namespaces(self, scope: SearchScope) -> dict[str, int]:
        state = self._writer.state
        counts = state.table.count_namespaces(state.live_rows(scope), state.n_rows)
        return dict(sorted(counts.items()))

    async def pinned(self, scope: SearchScope) -> Sequence[ToolDefinition]:
        state = self._writer.state
        rows = [row for row in state.table.pinned_rows(state.n_rows).tolist() if state.alive(row)]
        definitions = [state.table.definition(row) for row in sorted(rows, key=state.table.key)]
        return [definition for definition in definitions if scope.admits(definition)]

    async def stats(self) -> IndexStats:
        return await anyio.to_thread.run_sync(self._stats)

    def _stats(self) -> IndexStats:
        state = self._writer.state
        return IndexStats(
            tools=state.live,
            quarantined=len(state.quarantined),
            namespaces=state.table.count_groups(state.matrix.penalty == 0),
            catalog_revision=state.revision,
            encoder_id=self._embedder.embedder_id,
            dimensions=self._embedder.dimensions,
            store=self._store_kind,
            parts_bytes=self._writer.parts_bytes(),
            search=str(state.search_plan),
            stale=self._stale_seconds() > 0,
            silence_seconds=round(self._writer.silence_seconds, 3),
            problem=self._poller.problem,
        )

    async def _write(self, call: Callable[[], _Result]) -> _Result:
        """Run a writing call in the one thread for writing; it is waited for even if the caller is cancelled."""
        return await anyio.to_thread.run_sync(call, limiter=self._writing)

    async def aclose(self) -> None:
        """As `ToolIndex.aclose`: also when the caller is being cancelled."""
        with anyio.CancelScope(shield=True):
            await self._poller.aclose()
            await self._write(self._writer.close)
