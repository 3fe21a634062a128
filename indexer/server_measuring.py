"""Looking at a catalog on a server as a whole, in the background: once, and again when it has much changed.

A sample of the tools tells how long fields and how spread vectors are; requests that nothing serves tell what a weak
match is, as `engine.calibrate` has it of a replica.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import anyio.to_thread
import numpy as np

from indexer.candidates import PartWords, as_part, replica_of
from indexer.confidence import UNCALIBRATED, Calibration, foreign_requests
from indexer.cosine_scale import cosine_scale
from indexer.embedders.base import Embedder, Vectors
from indexer.embedders.known import KnownQueries
from indexer.engine import calibrate
from indexer.errors import CorruptSnapshotError, IndexerError, StoreError
from indexer.rarity import Rarities
from indexer.replica import WORTH_CALIBRATING
from indexer.replica_state import ReplicaState
from indexer.server_measure import CatalogMeasure, load_measure, save_measure, unmeasured
from indexer.server_reading import ServerReader
from indexer.server_writing import ServerCatalogWriter
from indexer.sparse import query_terms
from indexer.stores.payload import tool_of
from indexer.stores.qdrant_query import QueryText, any_tenant, candidates_query, rarity_query

if TYPE_CHECKING:
    from qdrant_client.http.models import QueryRequest, ScoredPoint

_log = logging.getLogger(__name__)

_SAMPLE: Final = 2_048
"""Tools that tell what all are like: a mean length comes out to about 3 %."""
_REQUESTS_AT_ONCE: Final = 4
"""Foreign requests in one batch; what they find is read in the event loop, some 20 ms at a time."""
_WANTED: Final = 8
"""Places of a foreign request that are looked at: the first, and the one it is compared with."""
_PAUSE_SECONDS: Final = 60.0
"""After a failure, before the next try."""


@final
class Measurer:
    """Knows the newest measure of a catalog, and makes another one when it is due."""

    def __init__(
        self,
        writer: ServerCatalogWriter,
        reader: ServerReader,
        embedder: Embedder,
        *,
        path: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with what lies at `path`, where later measures are kept; None: nowhere."""
        self._writer = writer
        self._reader = reader
        self._embedder = embedder
        self._path = path
        self._monotonic = monotonic
        self._not_before = monotonic()
        self._task: asyncio.Task[None] | None = None
        self.measure = self._load()
        """The newest one."""
        self._looked_at = self.measure.revision
        self._counted = self.measure.tools

    def _load(self) -> CatalogMeasure:
        writer = self._writer
        if self._path is not None:
            try:
                found = load_measure(
                    self._path,
                    catalog_id=writer.catalog_id,
                    encoder_id=writer.encoder_id,
                    dimensions=self._embedder.dimensions,
                )
            except CorruptSnapshotError as error:
                _log.warning("the measure of the catalog cannot be used and is taken anew: %s", error)
            else:
                if found is not None:
                    return found
        return unmeasured(writer.tools_at_start)

    @property
    def is_due(self) -> bool:
        """Whether the catalog may be another than the one that was measured: asks nobody."""
        if self._writer.catalog_id != self.measure.catalog_id:
            return True
        changes = self._writer.revision - self._looked_at  # so many tools can at most have come, or gone
        return any(self.measure.is_outgrown_by(self._counted + moved) for moved in (changes, -changes))

    @property
    def is_pending(self) -> bool:
        """Whether what is called weak does not go by this catalog yet, but may soon."""
        return self.measure.calibration.scale is None and self.is_due

    def start_if_due(self) -> None:
        """Measure in the background, in the event loop that is running, unless that is under way or just failed."""
        if self.is_due and (self._task is None or self._task.done()) and self._monotonic() >= self._not_before:
            self._task = asyncio.create_task(self._look(), name="toolscout: measuring the catalog")

    async def settled(self) -> None:
        """Wait for the measuring that is under way, if there is one."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def aclose(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look(self) -> None:
        try:
            await self._measure_if_outgrown()
            while self.is_due:  # for what was written meanwhile
                await self._measure_if_outgrown()
        except IndexerError as error:
            self._not_before = self._monotonic() + _PAUSE_SECONDS
            _log.warning("the catalog cannot be measured; weak matches are told as before: %s", error)
        except Exception:  # noqa: BLE001  nobody waits for the task: its fault would first be told by `aclose`
            self._not_before = self._monotonic() + _PAUSE_SECONDS
            _log.exception("the catalog cannot be measured; weak matches are told as before")

    async def _measure_if_outgrown(self) -> None:
        catalog_id, revision = self._writer.catalog_id, self._writer.revision
        tools = await self._reader.count(any_tenant())
        if self.measure.catalog_id != catalog_id or self.measure.is_outgrown_by(tools):
            self.measure = await self._measured(catalog_id, revision, tools)
            await anyio.to_thread.run_sync(self._keep, self.measure)
        self._looked_at, self._counted = revision, tools

    def _keep(self, measure: CatalogMeasure) -> None:
        if self._path is not None:
            try:
                save_measure(self._path, measure)
            except StoreError as error:
                _log.warning("the next start will measure the catalog again: %s", error)

    async def _measured(self, catalog_id: str, revision: int, tools: int) -> CatalogMeasure:
        tenants = len(await self._reader.count_by("tenant", any_tenant()))
        sample = await self._reader.scroll(any_tenant(), _SAMPLE, vectors=True)
        state = await anyio.to_thread.run_sync(replica_of, sample, self._embedder)
        average = PartWords.average_lengths(state.lexical) if state.live else unmeasured(0).average_lengths
        measure = CatalogMeasure(
            catalog_id=catalog_id,
            encoder_id=self._writer.encoder_id,
            revision=revision,
            tools=tools,
            tenants=tenants,
            average_lengths=average,
        )
        if tools < WORTH_CALIBRATING or not state.live:
            return measure
        return replace(measure, calibration=await self._calibrated(measure, state))

    async def _calibrated(self, measure: CatalogMeasure, sample: ReplicaState) -> Calibration:
        """Foreign requests, asked of the server as any are; what they find is ranked as one small catalog."""
        requests = foreign_requests()
        vectors = await anyio.to_thread.run_sync(self._embedder.embed_queries, requests)
        rarities = Rarities()
        while terms := rarities.unknown(requests):
            rarities.learn(terms, await self._reader.query([rarity_query(term) for term in terms]))
        found: list[ScoredPoint] = []
        for start in range(0, len(requests), _REQUESTS_AT_ONCE):
            part = slice(start, start + _REQUESTS_AT_ONCE)
            for points in await self._reader.query(_queries(requests[part], vectors[part])):
                found += points
        known = KnownQueries(dict(zip(requests, vectors, strict=True)), self._embedder)
        words = measure.words(rarities.of(requests, measure.tools))

        def calibration() -> Calibration:
            scale = cosine_scale(sample.matrix.vectors, np.arange(sample.n_rows))
            tools = [tool_of(point.payload, point.vector) for point in found]
            newest = {tool.key: tool for tool in sorted(tools, key=lambda tool: tool.revision)}
            state = replica_of(list(newest.values()), self._embedder)
            part = as_part(state, words, UNCALIBRATED, measure.revision)
            return calibrate(known, matrix=part.matrix, lexical=part.lexical, tokens=part.tokens, scale=scale)

        return await anyio.to_thread.run_sync(calibration)


def _queries(requests: Sequence[str], vectors: Vectors) -> "list[QueryRequest]":
    read = [
        QueryText(vector if vector.any() else None, query_terms(request))
        for request, vector in zip(requests, vectors, strict=True)
    ]
    queries = [candidates_query([text], any_tenant(), _WANTED) for text in read]
    return [query for query in queries if query is not None]
