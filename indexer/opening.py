"""From settings to an open index: picks the store, moves it to another encoder's width where it must."""

import logging
import shutil
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from indexer.embedders.base import Embedder
from indexer.settings import IndexerSettings, QdrantSettings

if TYPE_CHECKING:
    from indexer.following import SharedLog
    from indexer.polling import Ticker
    from indexer.stores.base import ToolStore
    from indexer.stores.edge import EdgeToolStore
    from indexer.stores.qdrant import QdrantToolStore
    from indexer.stores.revisions import Timing
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

_log = logging.getLogger(__name__)

STORE_DIRECTORY: Final = "store"
SNAPSHOT_DIRECTORY: Final = "snapshots"


async def open_index(
    settings: IndexerSettings,
    *,
    embedder: Embedder | None = None,
    tick: "Ticker | None" = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> "VectorToolIndex":
    """Open the catalog that the settings name, or make it; `aclose` it when done.

    An embedded catalog has one owner at a time; tools in it that another encoder has read are embedded again. One on
    a server is followed from here on; if the server is away and was known before, the index opens with what is known.
    `tick`: when to ask the server for news, by default as the settings say. `monotonic`: tells how old that is.
    Raises: StoreLockedError, StoreUnavailableError, EncoderMismatchError, StoreError, UnknownEncoderError,
    EmbeddingError.
    """
    index = await anyio.to_thread.run_sync(partial(_open, settings, embedder, tick=tick, monotonic=monotonic))
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
    from indexer.writing import CatalogWriter

    kept = store if store is not None else MemoryToolStore(embedder.dimensions)
    return VectorToolIndex(CatalogWriter(kept, embedder, judge, store_id="memory"), embedder, store_kind="memory")


def _open(
    settings: IndexerSettings, embedder: Embedder | None, *, tick: "Ticker | None", monotonic: Callable[[], float]
) -> "VectorToolIndex":
    from indexer.embedders.factory import make_embedder
    from indexer.vector_index import VectorToolIndex

    if embedder is None:
        embedder = make_embedder(settings.encoder)
    if settings.qdrant.url is None:
        return VectorToolIndex(_embedded(settings, embedder), embedder, store_kind="edge")
    writer = _on_server(settings, embedder, monotonic)
    poll_seconds = settings.qdrant.poll_seconds
    return VectorToolIndex(writer, embedder, store_kind="qdrant", poll_seconds=poll_seconds, tick=tick)


def _on_server(settings: IndexerSettings, embedder: Embedder, monotonic: Callable[[], float]) -> "CatalogWriter":
    from indexer.validation import judge
    from indexer.writing import CatalogWriter

    store_id = f"{settings.qdrant.url}/{settings.qdrant.collection}"
    name = f"{uuid.uuid5(uuid.NAMESPACE_URL, store_id).hex}.replica"
    store = server_store(settings.qdrant, embedder.dimensions)
    with _closed_on_error(store):
        return CatalogWriter(
            store,
            embedder,
            judge,
            store_id=store_id,
            snapshot_path=settings.home / SNAPSHOT_DIRECTORY / name,
            log=shared_log(store, settings, embedder),
            recall=settings.recall,
            monotonic=monotonic,
        )


def server_store(qdrant: QdrantSettings, dimensions: int, *, collection: str | None = None) -> "QdrantToolStore":
    """The store on the server that the settings name; nothing is sent yet. `collection`: another one than theirs."""
    from indexer.stores.qdrant import QdrantToolStore
    from indexer.stores.qdrant_calls import Pauses, connect
    from indexer.stores.qdrant_collection import CollectionOptions

    client = connect(str(qdrant.url), api_key=qdrant.api_key, timeout_seconds=qdrant.timeout_seconds)
    return QdrantToolStore(
        client,
        collection or qdrant.collection,
        dimensions,
        options=CollectionOptions(
            shards=qdrant.shards, replicas=qdrant.replicas, write_consistency=qdrant.write_consistency
        ),
        pauses=Pauses(patience_seconds=qdrant.timeout_seconds),
    )


def shared_log(store: "QdrantToolStore", settings: IndexerSettings, embedder: Embedder) -> "SharedLog":
    """How that store is followed and written by this process."""
    from indexer.following import SharedLog
    from indexer.registering import encoder_id_of

    return SharedLog(
        store,
        encoder_id=encoder_id_of(embedder),
        encoder=settings.encoder,
        timing=shared_timing(settings.qdrant),
        tombstone_seconds=settings.qdrant.tombstone_hours * 3600.0,
    )


def shared_timing(qdrant: QdrantSettings) -> "Timing":
    """A lease outlasts a write with its repetitions, and late writes are looked for much longer than one may take."""
    from indexer.stores.revisions import GRACE_SECONDS, LEASE_SECONDS, Timing

    timeout = float(qdrant.timeout_seconds)
    return Timing(
        patience_seconds=timeout,
        lease_seconds=max(LEASE_SECONDS, 3 * timeout),
        grace_seconds=max(GRACE_SECONDS, 20 * timeout),
    )


def _embedded(settings: IndexerSettings, embedder: Embedder) -> "CatalogWriter":
    from indexer.validation import judge
    from indexer.writing import CatalogWriter

    store = _open_edge(settings.home / STORE_DIRECTORY, embedder.dimensions)
    with _closed_on_error(store):
        return CatalogWriter(
            store,
            embedder,
            judge,
            store_id=store.store_id,
            snapshot_path=settings.home / SNAPSHOT_DIRECTORY / "embedded.replica",
            recall=settings.recall,
        )


@contextmanager
def _closed_on_error(resource: "ToolStore") -> Generator[None, None, None]:
    """Let go of what was opened if what needs it cannot be made."""
    with ExitStack() as stack:
        stack.callback(resource.close)
        yield
        stack.pop_all()


def _open_edge(path: Path, dimensions: int) -> "EdgeToolStore":
    """The embedded store; one of another width is copied, without its vectors, into one that fits."""
    from indexer.stores.edge import EdgeToolStore, stored_dimensions

    recover_store(path)
    old, new = path.with_name(f"{path.name}.old"), path.with_name(f"{path.name}.new")
    existing = stored_dimensions(path)
    if existing is None or existing == dimensions:
        return EdgeToolStore(path, dimensions)
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
    return EdgeToolStore(path, dimensions)


def recover_store(path: Path) -> None:
    """Put a store back in its place if a process was killed while it exchanged it for another one."""
    for suffix in ("old", "aside", "before"):
        moved = path.with_name(f"{path.name}.{suffix}")
        if moved.exists() and not path.exists():
            moved.rename(path)


def _copy_without_vectors(source: "EdgeToolStore", target: "EdgeToolStore") -> None:
    for batch in source.scan():
        target.upsert([replace(tool, vector=None) for tool in batch])
