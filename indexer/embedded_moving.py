"""A move between embedded stores, which change places by their directories' names."""

import shutil
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from indexer.embedded_opening import STORE_DIRECTORY, recover_store
from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.errors import EmbeddingError, EncoderMismatchError, StoreError, StoreMissingError, UnknownEncoderError
from indexer.migration import NO_CATALOG, Filling, MoveReport, Progress, nothing_to_do
from indexer.registering import encoder_id_of
from indexer.settings import DEFAULT_ENCODER, IndexerSettings
from indexer.stores.edge import EdgeToolStore, stored_dimensions
from indexer.stores.encoder_note import note_encoder, noted_encoder, read_note

KEPT_DIRECTORY: Final = f"{STORE_DIRECTORY}.before"
"""Where an embedded catalog is kept for a move back."""


def move_embedded(
    settings: IndexerSettings, encoder: str, embedder: Embedder, *, keep_old: bool, progress: Progress
) -> MoveReport:
    """From the store under the home to one with the vectors of `embedder`. Raises: as `move_catalog`."""
    path, new = settings.home / STORE_DIRECTORY, settings.home / f"{STORE_DIRECTORY}.new"
    kept = settings.home / KEPT_DIRECTORY
    recover_store(path)
    dimensions = stored_dimensions(path)
    if dimensions is None:
        raise StoreMissingError(NO_CATALOG)
    started = time.perf_counter()
    with closing(EdgeToolStore(path, dimensions)) as source:
        before = _encoder_of(source)
        if before == encoder_id_of(embedder):
            return nothing_to_do(before, encoder, str(path))
        shutil.rmtree(new, ignore_errors=True)
        with closing(EdgeToolStore(new, embedder.dimensions)) as target:
            filling = _fill(source, target, embedder, progress)
            target.flush()
        shutil.rmtree(kept, ignore_errors=True)
        note_encoder(path, _name_of(path, before, settings), before)
        note_encoder(new, encoder, encoder_id_of(embedder))
    path.rename(kept)
    new.rename(path)
    if not keep_old:
        shutil.rmtree(kept)
    left = str(kept) if keep_old else ""
    return filling.report(started, before=before, encoder=encoder, source=str(path), target=str(path), kept=left)


def move_back_embedded(settings: IndexerSettings, *, progress: Progress, embedder: Embedder | None) -> MoveReport:
    """The kept store, brought up to date, and the present one change places. Raises: as `move_catalog`."""
    path, kept = settings.home / STORE_DIRECTORY, settings.home / KEPT_DIRECTORY
    aside = settings.home / f"{STORE_DIRECTORY}.aside"
    recover_store(path)
    dimensions, kept_dimensions = stored_dimensions(path), stored_dimensions(kept)
    if dimensions is None or kept_dimensions is None:
        raise StoreMissingError(f"There is no {kept}: the last move kept nothing, or there was none.")
    noted = read_note(kept)
    if noted is None:
        raise StoreError(f"{kept} does not say which encoder made it.")
    encoder, encoder_id = noted
    if embedder is None:
        embedder = make_embedder(encoder)
    if encoder_id and encoder_id_of(embedder) != encoder_id:  # none, where it was kept without tools
        raise EncoderMismatchError(
            f"{kept} was made with {encoder_id}; this installation's {encoder!r} is {encoder_id_of(embedder)}. Move "
            "back with the version of Toolscout that made it."
        )
    started = time.perf_counter()
    with closing(EdgeToolStore(path, dimensions)) as source, closing(EdgeToolStore(kept, kept_dimensions)) as target:
        before = _encoder_of(source)
        filling = _fill(source, target, embedder, progress)
        filling.remove_what_is_not_in(source, target.scan())
        target.flush()
        note_encoder(path, _name_of(path, before, settings), before)
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)
    kept.rename(path)
    aside.rename(kept)
    return filling.report(started, before=before, encoder=encoder, source=str(path), target=str(path), kept=str(kept))


def _fill(source: EdgeToolStore, target: EdgeToolStore, embedder: Embedder, progress: Progress) -> Filling:
    filling = Filling(target, embedder, terms=False)
    total, done = source.count(), 0
    for batch in source.scan():
        filling.take(batch)
        done += sum(tool.status == "active" for tool in batch)
        progress(done, total)
    return filling


def _encoder_of(store: EdgeToolStore) -> str:
    tools = (tool for batch in store.scan(batch_size=64) for tool in batch)
    return next((tool.encoder_id for tool in tools if tool.status == "active"), "")


def _name_of(path: Path, encoder_id: str, settings: IndexerSettings) -> str:
    """The setting that names the encoder of a store: as noted, else one at hand that has its id."""
    noted = noted_encoder(path, encoder_id)
    if noted is not None:
        return noted
    for name in (settings.encoder, DEFAULT_ENCODER):
        with suppress(UnknownEncoderError, EmbeddingError):
            if encoder_id_of(make_embedder(name)) == encoder_id:
                return name
    return settings.encoder
