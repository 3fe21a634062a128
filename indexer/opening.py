"""From settings to an open index: picks the store, moves it to another encoder's width where it must."""

import logging
import shutil
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from indexer.embedders.base import Embedder
from indexer.errors import StoreUnavailableError
from indexer.settings import IndexerSettings, QdrantSettings

if TYPE_CHECKING:
    from indexer.following import SharedLog
    from indexer.index import ToolIndex
    from indexer.polling import Ticker
    from indexer.server_index import ServerToolIndex
    from indexer.stores.base import ToolStore
    from indexer.stores.edge import EdgeToolStore
    from indexer.stores.edge_process import EdgeEngineApart
    from indexer.stores.qdrant import QdrantToolStore
    from indexer.stores.qdrant_collection import CollectionOptions
    from indexer.stores.revisions import Timing
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

_log = logging.getLogger(__name__)

STORE_DIRECTORY: Final = "store"
SNAPSHOT_DIRECTORY: Final = "snapshots"
_TOOL_BYTES: Final = 6_000
"""Of a tool in the replica beside its vector, about: 4 KB of words, columns and names, 2 KB of its definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """What tells the time and waits for it."""

    tick: "Ticker | None" = None
    """When to ask a server for news; None: as often as the settings say."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


async def open_index(
    settings: IndexerSettings,
    *,
    embedder: Embedder | None = None,
    timers: "Timers | None" = None,
    for_long: bool = False,
) -> "ToolIndex":
    """Open the catalog that the settings name, or make it; `aclose` it when done.

    An embedded catalog has one owner at a time; tools in it that another encoder has read are embedded again. One on
    a server is followed from here on; if the server is away and was known before, the index opens with what is known.
    `timers`: what tells the time and waits, for tests. `for_long`: it will be searched while it is written, or filled:
    an embedded store may then have a process of its own.
    Raises: StoreLockedError, StoreUnavailableError, EncoderMismatchError, StoreError, UnknownEncoderError,
    EmbeddingError.
    """
    index = await anyio.to_thread.run_sync(_open, settings, embedder, timers or Timers(), for_long)
    index.start_following()
    return index


async def open_memory_index(embedder: Embedder, store: "ToolStore | None" = None) -> "VectorToolIndex":
    """A catalog that nothing keeps: for trials, benchmarks and programs that load their tools at each start.

    `store`: one made by the caller, who may want to read it. Raises: StoreError, EmbeddingError.
    """
    return await anyio.to_thread.run_sync(_in_memory, embedder, store)


def _in_memory(embedder: Embedder, store: "ToolStore | None") -> "VectorToolIndex":
    from indexer.stores.memory import MemoryToolStore
    from indexer.validation import judge
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import AT_ONCE_SECONDS, CatalogWriter

    kept = store or MemoryToolStore(embedder.dimensions)
    writer = CatalogWriter(kept, embedder, judge, store_id="memory", at_once_seconds=AT_ONCE_SECONDS)
    return VectorToolIndex(writer, embedder, store_kind="memory")


def _open(
    settings: IndexerSettings, embedder: Embedder | None, timers: "Timers", for_long: bool
) -> "VectorToolIndex | ServerToolIndex":
    from indexer.embedders.factory import make_embedder
    from indexer.vector_index import VectorToolIndex

    if settings.qdrant.url is None:
        return _embedded(settings, embedder, for_long=for_long)
    if embedder is None:
        embedder = make_embedder(settings.encoder)
    poll_seconds = settings.qdrant.poll_seconds
    if _is_past_budget(settings.qdrant, embedder.dimensions, timers):
        return _searched_there(settings, embedder, timers)
    writer = _on_server(settings, embedder, timers)
    return VectorToolIndex(writer, embedder, store_kind="qdrant", poll_seconds=poll_seconds, tick=timers.tick)


def _is_past_budget(qdrant: QdrantSettings, dimensions: int, timers: "Timers") -> bool:
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


def _searched_there(settings: IndexerSettings, embedder: Embedder, timers: "Timers") -> "ServerToolIndex":
    from indexer.server_index import ServerToolIndex
    from indexer.server_writing import ServerCatalogWriter
    from indexer.stores.qdrant_calls import connect_async
    from indexer.validation import judge

    qdrant = settings.qdrant
    store = server_store(qdrant, embedder.dimensions, timers=timers)
    with _closed_on_error(store):
        log = shared_log(store, settings, embedder, timers)
        writer = ServerCatalogWriter(store, log, embedder, judge, monotonic=timers.monotonic)
        client = connect_async(str(qdrant.url), api_key=qdrant.api_key, timeout_seconds=qdrant.timeout_seconds)
        return ServerToolIndex(
            writer,
            client,
            embedder,
            poll_seconds=qdrant.poll_seconds,
            tick=timers.tick,
            measure_path=_beside_snapshots(settings, f"{qdrant.url}/{qdrant.collection}", "measure"),
            monotonic=timers.monotonic,
        )


def _on_server(settings: IndexerSettings, embedder: Embedder, timers: "Timers") -> "CatalogWriter":
    from indexer.validation import judge
    from indexer.writing import CatalogWriter

    store_id = f"{settings.qdrant.url}/{settings.qdrant.collection}"
    store = server_store(settings.qdrant, embedder.dimensions, timers=timers)
    with _closed_on_error(store):
        return CatalogWriter(
            store,
            embedder,
            judge,
            store_id=store_id,
            snapshot_path=_beside_snapshots(settings, store_id, "replica"),
            log=shared_log(store, settings, embedder, timers),
            recall=settings.recall,
            monotonic=timers.monotonic,
        )


def _beside_snapshots(settings: IndexerSettings, store_id: str, kind: str) -> Path:
    """The file that keeps what was derived from a store on a server."""
    return settings.home / SNAPSHOT_DIRECTORY / f"{uuid.uuid5(uuid.NAMESPACE_URL, store_id).hex}.{kind}"


def server_store(
    qdrant: QdrantSettings, dimensions: int, *, collection: str | None = None, timers: "Timers | None" = None
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


def shared_log(
    store: "QdrantToolStore", settings: IndexerSettings, embedder: Embedder, timers: "Timers"
) -> "SharedLog":
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


def shared_timing(qdrant: QdrantSettings, timers: "Timers | None" = None) -> "Timing":
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


def _embedded(settings: IndexerSettings, embedder: Embedder | None, *, for_long: bool) -> "VectorToolIndex":
    from indexer.embedders.factory import make_embedder
    from indexer.registering import encoder_id_of
    from indexer.stores.edge import engine_apart
    from indexer.stores.encoder_note import note_encoder
    from indexer.validation import judge
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import AT_ONCE_SECONDS, CatalogWriter

    with ExitStack() as stack:
        # First of all, for it starts while this process reads the encoder.
        engine = engine_apart() if for_long and settings.store_process else None
        if engine is not None:
            stack.callback(engine.close)
        named = embedder is None
        if embedder is None:
            embedder = make_embedder(settings.encoder)
        store = _open_edge(settings.home / STORE_DIRECTORY, embedder.dimensions, engine)
        stack.callback(store.close)
        writer = CatalogWriter(
            store,
            embedder,
            judge,
            store_id=store.store_id,
            snapshot_path=settings.home / SNAPSHOT_DIRECTORY / "embedded.replica",
            recall=settings.recall,
            at_once_seconds=AT_ONCE_SECONDS if engine is None else 0.0,
        )
        if named:
            note_encoder(settings.home / STORE_DIRECTORY, settings.encoder, encoder_id_of(embedder))
        stack.pop_all()
    return VectorToolIndex(writer, embedder, store_kind="edge")


@contextmanager
def _closed_on_error(resource: "ToolStore") -> Generator[None, None, None]:
    """Let go of what was opened if what needs it cannot be made."""
    with ExitStack() as stack:
        stack.callback(resource.close)
        yield
        stack.pop_all()


def _open_edge(path: Path, dimensions: int, engine: "EdgeEngineApart | None") -> "EdgeToolStore":
    """The embedded store; one of another width is copied, without its vectors, into one that fits."""
    from indexer.stores.edge import EdgeToolStore, stored_dimensions

    recover_store(path)
    old, new = path.with_name(f"{path.name}.old"), path.with_name(f"{path.name}.new")
    existing = stored_dimensions(path)
    if existing is None or existing == dimensions:
        return EdgeToolStore(path, dimensions, engine=engine)
    _log.warning("the catalog was embedded in %d dimensions; moving it to %d", existing, dimensions)
    source = EdgeToolStore(path, existing)
    try:
        shutil.rmtree(new, ignore_errors=True)
        target = EdgeToolStore(new, dimensions)
        try:
            _copy_without_vectors(source, target)
            target.flush()
        finally:
            target.close()
    finally:
        source.close()
    shutil.rmtree(old, ignore_errors=True)
    path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)
    return EdgeToolStore(path, dimensions, engine=engine)


def recover_store(path: Path) -> None:
    """Put a store back in its place if a process was killed while it exchanged it for another one."""
    for suffix in ("old", "aside", "before"):
        moved = path.with_name(f"{path.name}.{suffix}")
        if moved.exists() and not path.exists():
            moved.rename(path)


def _copy_without_vectors(source: "EdgeToolStore", target: "EdgeToolStore") -> None:
    for batch in source.scan():
        target.upsert([replace(tool, vector=None) for tool in batch])
