"""`move_catalog` and `move_back`: which stores a move is between, on a server and embedded."""

import logging
import shutil
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.errors import EmbeddingError, EncoderMismatchError, StoreError, StoreMissingError, UnknownEncoderError
from indexer.migration import Filling, MoveReport, Progress, ServerMove
from indexer.opening import STORE_DIRECTORY, collection_options, recover_store, server_store, shared_timing
from indexer.registering import encoder_id_of
from indexer.settings import DEFAULT_ENCODER, IndexerSettings, QdrantSettings
from indexer.stores.edge import EdgeToolStore, stored_dimensions
from indexer.stores.encoder_note import note_encoder, noted_encoder, read_note
from indexer.stores.ledger import Ledger
from indexer.stores.qdrant_calls import Pauses, QdrantCalls, connect
from indexer.stores.qdrant_collection import (
    collection_params,
    create_collection,
    find_collection,
    next_name,
    switch_alias,
    width_of,
)

if TYPE_CHECKING:
    from indexer.stores.qdrant import QdrantToolStore

_log = logging.getLogger(__name__)

KEPT_DIRECTORY: Final = f"{STORE_DIRECTORY}.before"
"""Where an embedded catalog is kept for a move back."""
_EMPTY: Final = "There is no catalog yet: nothing has to be moved. Set TOOLSCOUT_ENCODER, and index."


def move_catalog(
    settings: IndexerSettings,
    encoder: str,
    *,
    keep_old: bool = True,
    progress: Progress,
    embedder: Embedder | None = None,
) -> MoveReport:
    """Move the catalog that the settings name to another encoder; blocks.

    Raises: UnknownEncoderError, StoreLockedError, StoreMissingError, StoreUnavailableError, StoreError, EmbeddingError.
    """
    embedder = embedder or make_embedder(encoder)
    if settings.qdrant.url is not None:
        return _on_server(settings, encoder, embedder, keep_old=keep_old, progress=progress)
    return _embedded(settings, encoder, embedder, keep_old=keep_old, progress=progress)


def move_back(settings: IndexerSettings, *, progress: Progress, embedder: Embedder | None = None) -> MoveReport:
    """Move back to what the last move kept; what was registered since then comes along. Raises: as `move_catalog`."""
    if settings.qdrant.url is not None:
        return _back_on_server(settings, progress=progress, embedder=embedder)
    return _back_embedded(settings, progress=progress, embedder=embedder)


# On a server.


class _Server:
    """A connection that finds, makes and removes collections behind one alias."""

    def __init__(self, settings: QdrantSettings) -> None:
        self._settings = settings
        self._client = connect(str(settings.url), api_key=settings.api_key, timeout_seconds=settings.timeout_seconds)
        self._calls = QdrantCalls(settings.collection, Pauses(settings.timeout_seconds))
        self.alias = settings.collection

    def current(self) -> str:
        """The collection that the catalog is in now. Raises: StoreMissingError."""
        found = find_collection(self._client, self._calls, self.alias)
        if found is None:
            raise StoreMissingError(_EMPTY)
        return found

    def has(self, collection: str) -> bool:
        return self._calls(lambda: self._client.collection_exists(collection))

    def open(self, collection: str) -> "QdrantToolStore":
        """As wide as the collection is. Raises: StoreMissingError."""
        params = collection_params(self._client, self._calls, collection)
        return server_store(self._settings, width_of(params, collection), collection=collection)

    def create(self, dimensions: int) -> "QdrantToolStore":
        """One more collection with the numbered names of the alias."""
        made = next_name(self._client, self._calls, self.alias)
        create_collection(self._client, self._calls, made, dimensions, collection_options(self._settings))
        return self.open(made)

    def switch(self, collection: str) -> None:
        """Let the alias mean this collection from now on, in one step."""
        switch_alias(self._client, self._calls, self.alias, collection)

    def drop(self, collection: str) -> None:
        self._calls(lambda: self._client.delete_collection(collection))

    def close(self) -> None:
        self._client.close()


def _on_server(
    settings: IndexerSettings, encoder: str, embedder: Embedder, *, keep_old: bool, progress: Progress
) -> MoveReport:
    with closing(_Server(settings.qdrant)) as server, closing(server.open(server.current())) as source:
        ledger = source.ledger()
        if ledger.encoder_id == encoder_id_of(embedder) and not ledger.sealed_for:
            return _nothing_to_do(ledger.encoder_id, encoder, source.handle().name)
        with closing(_target(server, ledger, embedder)) as target:
            return _move(settings, server, source, target, encoder, embedder, keep_old=keep_old, progress=progress)


def _target(server: _Server, ledger: Ledger, embedder: Embedder) -> "QdrantToolStore":
    """The collection that an earlier move to this encoder began to fill or kept, or else a new one."""
    if ledger.target and server.has(ledger.target):
        begun = server.open(ledger.target)
        if (
            begun.ledger().encoder_id in ("", encoder_id_of(embedder))
            and begun.handle().dimensions == embedder.dimensions
        ):
            return begun
        begun.close()
    return server.create(embedder.dimensions)


def _back_on_server(settings: IndexerSettings, *, progress: Progress, embedder: Embedder | None) -> MoveReport:
    with closing(_Server(settings.qdrant)) as server, closing(server.open(server.current())) as source:
        ledger = source.ledger()
        if not ledger.origin or not server.has(ledger.origin):
            raise StoreMissingError(
                f"The collection {source.handle().name!r} was not moved from one that is still there: there is nothing "
                "to go back to."
            )
        with closing(server.open(ledger.origin)) as target:
            encoder = target.ledger().encoder
            embedder = embedder or make_embedder(encoder)
            return _move(settings, server, source, target, encoder, embedder, keep_old=True, progress=progress)


def _move(
    settings: IndexerSettings,
    server: _Server,
    source: "QdrantToolStore",
    target: "QdrantToolStore",
    encoder: str,
    embedder: Embedder,
    *,
    keep_old: bool,
    progress: Progress,
) -> MoveReport:
    name = source.handle().name
    plain = name == server.alias  # from the time before aliases: its name cannot become one while it is there

    def switch() -> None:
        if plain:
            server.drop(name)
        server.switch(target.handle().name)
        if not keep_old and not plain:
            server.drop(name)

    timing = shared_timing(settings.qdrant)
    move = ServerMove(source, target, embedder, encoder=encoder, timing=timing, progress=progress)
    report = move.run(switch, keep_old=keep_old and not plain)
    if plain and keep_old:
        note = f"The old collection could not be kept: it had the name {server.alias!r}, which is an alias now."
        return replace(report, note=note)
    return report


def _nothing_to_do(encoder_id: str, encoder: str, place: str) -> MoveReport:
    return MoveReport(
        before=encoder_id,
        after=encoder_id,
        encoder=encoder,
        source=place,
        target=place,
        embedded=0,
        reused=0,
        note="The catalog has vectors of this encoder already; nothing was done.",
    )


# Embedded.


def _embedded(
    settings: IndexerSettings, encoder: str, embedder: Embedder, *, keep_old: bool, progress: Progress
) -> MoveReport:
    path, new = settings.home / STORE_DIRECTORY, settings.home / f"{STORE_DIRECTORY}.new"
    kept = settings.home / KEPT_DIRECTORY
    recover_store(path)
    dimensions = stored_dimensions(path)
    if dimensions is None:
        raise StoreMissingError(_EMPTY)
    started = time.perf_counter()
    with closing(EdgeToolStore(path, dimensions)) as source:
        before = _encoder_of(source)
        if before == encoder_id_of(embedder):
            return _nothing_to_do(before, encoder, str(path))
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
    return MoveReport(
        before=before,
        after=encoder_id_of(embedder),
        encoder=encoder,
        source=str(path),
        target=str(path),
        embedded=filling.embedded,
        reused=filling.reused,
        kept=str(kept) if keep_old else "",
        seconds=time.perf_counter() - started,
    )


def _back_embedded(settings: IndexerSettings, *, progress: Progress, embedder: Embedder | None) -> MoveReport:
    """The kept store, brought up to date, and the present one change places."""
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
    return MoveReport(
        before=before,
        after=encoder_id_of(embedder),
        encoder=encoder,
        source=str(path),
        target=str(path),
        embedded=filling.embedded,
        reused=filling.reused,
        kept=str(kept),
        seconds=time.perf_counter() - started,
    )


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
