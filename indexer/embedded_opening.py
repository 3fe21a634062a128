"""An embedded catalog: its directory, the width of its vectors, and the index over it."""

import logging
import shutil
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indexer.embedders.base import Embedder
from indexer.settings import IndexerSettings

if TYPE_CHECKING:
    from indexer.stores.edge import EdgeToolStore
    from indexer.stores.edge_process import EdgeEngineApart
    from indexer.vector_index import VectorToolIndex

_log = logging.getLogger(__name__)

STORE_DIRECTORY: Final = "store"


def open_embedded(settings: IndexerSettings, embedder: Embedder | None, *, for_long: bool) -> "VectorToolIndex":
    """The index over the catalog under the home; without an embedder, with the one that the settings name."""
    from indexer.embedders.factory import make_embedder
    from indexer.registering import AT_ONCE_SECONDS, encoder_id_of
    from indexer.stores.edge import engine_apart
    from indexer.stores.encoder_note import note_encoder
    from indexer.validation import judge
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

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
            snapshot_path=settings.snapshot_directory / "embedded.replica",
            recall=settings.recall,
            at_once_seconds=AT_ONCE_SECONDS if engine is None else 0.0,
        )
        if named:
            note_encoder(settings.home / STORE_DIRECTORY, settings.encoder, encoder_id_of(embedder))
        stack.pop_all()
    return VectorToolIndex(writer, embedder, store_kind="edge")


def _open_edge(path: Path, dimensions: int, engine: "EdgeEngineApart | None") -> "EdgeToolStore":
    """The embedded store; one of another width is copied, without its vectors, into one that fits."""
    from indexer.stores.edge import EdgeToolStore, stored_dimensions

    recover_store(path)
    old, new = path.with_name(f"{path.name}.old"), path.with_name(f"{path.name}.new")
    existing = stored_dimensions(path)
    if existing is None or existing == dimensions:
        return EdgeToolStore(path, dimensions, engine=engine)
    _log.warning("the catalog was embedded in %d dimensions; moving it to %d", existing, dimensions)
    with closing(EdgeToolStore(path, existing)) as source:
        shutil.rmtree(new, ignore_errors=True)
        with closing(EdgeToolStore(new, dimensions)) as target:
            _copy_without_vectors(source, target)
            target.flush()
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
