"""`move_catalog` and `move_back`: a catalog to another encoder, wherever it is."""

from indexer.embedded_moving import move_back_embedded, move_embedded
from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.migration import MoveReport, Progress
from indexer.server_moving import move_back_on_server, move_on_server
from indexer.settings import IndexerSettings


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
        return move_on_server(settings.qdrant, encoder, embedder, keep_old=keep_old, progress=progress)
    return move_embedded(settings, encoder, embedder, keep_old=keep_old, progress=progress)


def move_back(settings: IndexerSettings, *, progress: Progress, embedder: Embedder | None = None) -> MoveReport:
    """Move back to what the last move kept; what was registered since then comes along. Raises: as `move_catalog`."""
    if settings.qdrant.url is not None:
        return move_back_on_server(settings.qdrant, progress=progress, embedder=embedder)
    return move_back_embedded(settings, progress=progress, embedder=embedder)
