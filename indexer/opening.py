"""From settings to an open index: picks the store, moves it to another encoder's width where it must."""

import logging
import shutil
import uuid
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from indexer.embedders.base import Embedder
from indexer.settings import IndexerSettings

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from indexer.stores.base import ToolStore
    from indexer.stores.edge import EdgeToolStore
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

_log = logging.getLogger(__name__)

STORE_DIRECTORY: Final = "store"
SNAPSHOT_DIRECTORY: Final = "snapshots"


async def open_index(settings: IndexerSettings, *, embedder: Embedder | None = None) -> "VectorToolIndex":
    """Open the catalog that the settings name, or make it; `aclose` it when done.

    An embedded catalog has one owner at a time. Tools that another encoder has read are embedded again.
    Raises: StoreLockedError, StoreUnavailableError, StoreError, UnknownEncoderError, EmbeddingError.
    """
    return await anyio.to_thread.run_sync(_open, settings, embedder)


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


def _open(settings: IndexerSettings, embedder: Embedder | None) -> "VectorToolIndex":
    from indexer.embedders.factory import make_embedder
    from indexer.vector_index import VectorToolIndex

    if embedder is None:
        embedder = make_embedder(settings.encoder)
    writer = _on_server(settings, embedder) if settings.qdrant_url else _embedded(settings, embedder)
    return VectorToolIndex(writer, embedder, store_kind="qdrant" if settings.qdrant_url else "edge")


def _on_server(settings: IndexerSettings, embedder: Embedder) -> "CatalogWriter":
    from indexer.stores.qdrant import QdrantToolStore, connect
    from indexer.validation import judge
    from indexer.writing import CatalogWriter

    url = str(settings.qdrant_url)
    client = connect(url, api_key=settings.qdrant_api_key)
    store_id = f"{url.rstrip('/')}/{settings.collection}"
    name = f"{uuid.uuid5(uuid.NAMESPACE_URL, store_id).hex}.replica"
    with _closed_on_error(client):
        return CatalogWriter(
            QdrantToolStore(client, settings.collection, embedder.dimensions),
            embedder,
            judge,
            store_id=store_id,
            snapshot_path=settings.home / SNAPSHOT_DIRECTORY / name,
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
        )


@contextmanager
def _closed_on_error(resource: "QdrantClient | EdgeToolStore") -> Generator[None, None, None]:
    """Let go of what was opened if what needs it cannot be made."""
    with ExitStack() as stack:
        stack.callback(resource.close)
        yield
        stack.pop_all()


def _open_edge(path: Path, dimensions: int) -> "EdgeToolStore":
    """The embedded store; one of another width is copied, without its vectors, into one that fits."""
    from indexer.stores.edge import EdgeToolStore, stored_dimensions

    old, new = path.with_name(f"{path.name}.old"), path.with_name(f"{path.name}.new")
    if old.exists() and not path.exists():
        old.rename(path)  # a process was killed between the two renames below
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


def _copy_without_vectors(source: "EdgeToolStore", target: "EdgeToolStore") -> None:
    for batch in source.scan():
        target.upsert([replace(tool, vector=None) for tool in batch])
