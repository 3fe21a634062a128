"""A move between collections of a Qdrant server, behind one alias."""

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.errors import StoreMissingError
from indexer.migration import NO_CATALOG, MoveReport, Progress, ServerMove, nothing_to_do
from indexer.registering import encoder_id_of
from indexer.server_opening import collection_options, server_store, shared_timing
from indexer.settings import QdrantSettings
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
    from indexer.stores.revisions import Timing


def move_on_server(
    settings: QdrantSettings, encoder: str, embedder: Embedder, *, keep_old: bool, progress: Progress
) -> MoveReport:
    """From the collection behind the alias to one with the vectors of `embedder`. Raises: as `move_catalog`."""
    with closing(_Server(settings)) as server, closing(server.open(server.current())) as source:
        ledger = source.ledger()
        if ledger.encoder_id == encoder_id_of(embedder) and not ledger.sealed_for:
            return nothing_to_do(ledger.encoder_id, encoder, source.handle().name)
        with closing(_target(server, ledger, embedder)) as target:
            return _move(server, source, target, encoder, embedder, keep_old=keep_old, progress=progress)


def move_back_on_server(settings: QdrantSettings, *, progress: Progress, embedder: Embedder | None) -> MoveReport:
    """To the collection that the present one was moved from. Raises: as `move_catalog`."""
    with closing(_Server(settings)) as server, closing(server.open(server.current())) as source:
        ledger = source.ledger()
        if not ledger.origin or not server.has(ledger.origin):
            raise StoreMissingError(
                f"The collection {source.handle().name!r} was not moved from one that is still there: there is nothing "
                "to go back to."
            )
        with closing(server.open(ledger.origin)) as target:
            encoder = target.ledger().encoder
            embedder = embedder or make_embedder(encoder)
            return _move(server, source, target, encoder, embedder, keep_old=True, progress=progress)


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
            raise StoreMissingError(NO_CATALOG)
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

    def timing(self) -> "Timing":
        return shared_timing(self._settings)

    def switch(self, collection: str) -> None:
        """Let the alias mean this collection from now on, in one step."""
        switch_alias(self._client, self._calls, self.alias, collection)

    def drop(self, collection: str) -> None:
        self._calls(lambda: self._client.delete_collection(collection))

    def close(self) -> None:
        self._client.close()


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


def _move(
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

    move = ServerMove(source, target, embedder, encoder=encoder, timing=server.timing(), progress=progress)
    report = move.run(switch, keep_old=keep_old and not plain)
    if plain and keep_old:
        note = f"The old collection could not be kept: it had the name {server.alias!r}, which is an alias now."
        return replace(report, note=note)
    return report
