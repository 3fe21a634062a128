"""A catalog on a Qdrant server: how it is reached and followed, and which index searches it."""

import logging
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indexer.embedders.base import Embedder
from indexer.errors import StoreUnavailableError
from indexer.settings import IndexerSettings, QdrantSettings

if TYPE_CHECKING:
    from indexer.following import SharedLog
    from indexer.polling import Ticker
    from indexer.server_index import ServerToolIndex
    from indexer.stores.base import ToolStore
    from indexer.stores.qdrant import QdrantToolStore
    from indexer.stores.qdrant_collection import CollectionOptions
    from indexer.stores.revisions import Timing
    from indexer.vector_index import VectorToolIndex

_log = logging.getLogger(__name__)

_TOOL_BYTES: Final = 6_000
"""Of a tool in the replica beside its vector, about: 4 KB of words, columns and names, 2 KB of its definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """What tells the time and waits for it."""

    tick: "Ticker | None" = None
    """When to ask a server for news; None: as often as the settings say."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def open_on_server(
    settings: IndexerSettings, embedder: Embedder, timers: Timers
) -> "VectorToolIndex | ServerToolIndex":
    """The index over the catalog there: a replica where that fits the memory budget, else the server searches."""
    if _is_past_budget(settings.qdrant, embedder.dimensions, timers):
        return _searched_there(settings, embedder, timers)
    return _replicated(settings, embedder, timers)


def _is_past_budget(qdrant: QdrantSettings, dimensions: int, timers: Timers) -> bool:
    """Whether a replica of the catalog would take more memory than it may. A server that is away cannot tell."""
    if qdrant.memory_budget_mb is None:
        return False
    try:
        with closing(server_store(qdrant, dimensions, timers=timers)) as store:
            tools = store.count()
    except StoreUnavailableError:
        return False
    needed_mb = tools * (4 * dimensions + _TOOL_BYTES) / 1e6
    if needed_mb > qdrant.memory_budget_mb:
        _log.info("%d tools would take about %.0f MB; they are searched on the server", tools, needed_mb)
    return needed_mb > qdrant.memory_budget_mb


def _searched_there(settings: IndexerSettings, embedder: Embedder, timers: Timers) -> "ServerToolIndex":
    from indexer.server_index import ServerToolIndex
    from indexer.server_writing import ServerCatalogWriter
    from indexer.stores.qdrant_calls import connect_async
    from indexer.validation import judge

    qdrant = settings.qdrant
    store = server_store(qdrant, embedder.dimensions, timers=timers)
    with _closed_on_error(store):
        log = _shared_log(store, settings, embedder, timers)
        writer = ServerCatalogWriter(store, log, embedder, judge, monotonic=timers.monotonic)
        client = connect_async(str(qdrant.url), api_key=qdrant.api_key, timeout_seconds=qdrant.timeout_seconds)
        return ServerToolIndex(
            writer,
            client,
            embedder,
            poll_seconds=qdrant.poll_seconds,
            tick=timers.tick,
            measure_path=_beside_snapshots(settings, "measure"),
            monotonic=timers.monotonic,
        )


def _replicated(settings: IndexerSettings, embedder: Embedder, timers: Timers) -> "VectorToolIndex":
    from indexer.validation import judge
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

    qdrant = settings.qdrant
    store = server_store(qdrant, embedder.dimensions, timers=timers)
    with _closed_on_error(store):
        writer = CatalogWriter(
            store,
            embedder,
            judge,
            store_id=_store_id(qdrant),
            snapshot_path=_beside_snapshots(settings, "replica"),
            log=_shared_log(store, settings, embedder, timers),
            recall=settings.recall,
            monotonic=timers.monotonic,
        )
    return VectorToolIndex(writer, embedder, store_kind="qdrant", poll_seconds=qdrant.poll_seconds, tick=timers.tick)


def _beside_snapshots(settings: IndexerSettings, kind: str) -> Path:
    """The file that keeps what was derived from a store on a server."""
    return settings.snapshot_directory / f"{uuid.uuid5(uuid.NAMESPACE_URL, _store_id(settings.qdrant)).hex}.{kind}"


def _store_id(qdrant: QdrantSettings) -> str:
    return f"{qdrant.url}/{qdrant.collection}"


def server_store(
    qdrant: QdrantSettings, dimensions: int, *, collection: str | None = None, timers: Timers | None = None
) -> "QdrantToolStore":
    """The store on the server that the settings name; nothing is sent yet. `collection`: another one than theirs."""
    from indexer.stores.qdrant import QdrantToolStore
    from indexer.stores.qdrant_calls import Pauses, connect

    timers = timers or Timers()
    client = connect(str(qdrant.url), api_key=qdrant.api_key, timeout_seconds=qdrant.timeout_seconds)
    return QdrantToolStore(
        client,
        collection or qdrant.collection,
        dimensions,
        options=collection_options(qdrant),
        pauses=Pauses(qdrant.timeout_seconds, sleep=timers.sleep, monotonic=timers.monotonic),
    )


def collection_options(qdrant: QdrantSettings) -> "CollectionOptions":
    """How a collection is made there."""
    from indexer.stores.qdrant_collection import CollectionOptions

    return CollectionOptions(shards=qdrant.shards, replicas=qdrant.replicas, write_consistency=qdrant.write_consistency)


def _shared_log(store: "QdrantToolStore", settings: IndexerSettings, embedder: Embedder, timers: Timers) -> "SharedLog":
    """How that store is followed and written by this process."""
    from indexer.following import SharedLog
    from indexer.registering import encoder_id_of

    return SharedLog(
        store,
        encoder_id=encoder_id_of(embedder),
        encoder=settings.encoder,
        timing=shared_timing(settings.qdrant, timers),
        tombstone_seconds=settings.qdrant.tombstone_hours * 3600.0,
    )


def shared_timing(qdrant: QdrantSettings, timers: Timers | None = None) -> "Timing":
    """A lease outlasts a write with its repetitions, and late writes are looked for much longer than one may take."""
    from indexer.stores.revisions import GRACE_SECONDS, LEASE_SECONDS, Timing

    timeout = float(qdrant.timeout_seconds)
    timers = timers or Timers()
    return Timing(
        monotonic=timers.monotonic,
        sleep=timers.sleep,
        patience_seconds=timeout,
        lease_seconds=max(LEASE_SECONDS, 3 * timeout),
        grace_seconds=max(GRACE_SECONDS, 20 * timeout),
    )


@contextmanager
def _closed_on_error(resource: "ToolStore") -> Generator[None, None, None]:
    """Let go of what was opened if what needs it cannot be made."""
    with ExitStack() as stack:
        stack.callback(resource.close)
        yield
        stack.pop_all()
