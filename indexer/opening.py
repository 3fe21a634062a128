"""From settings to an open index: embedded, on a server, or in memory."""

from typing import TYPE_CHECKING

import anyio.to_thread

from indexer.embedded_opening import open_embedded
from indexer.embedders.base import Embedder
from indexer.server_opening import Timers, open_on_server
from indexer.settings import IndexerSettings

if TYPE_CHECKING:
    from indexer.index import ToolIndex
    from indexer.server_index import ServerToolIndex
    from indexer.stores.base import ToolStore
    from indexer.vector_index import VectorToolIndex


async def open_index(
    settings: IndexerSettings,
    *,
    embedder: Embedder | None = None,
    timers: Timers | None = None,
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
    from indexer.registering import AT_ONCE_SECONDS
    from indexer.stores.memory import MemoryToolStore
    from indexer.validation import judge
    from indexer.vector_index import VectorToolIndex
    from indexer.writing import CatalogWriter

    kept = store or MemoryToolStore(embedder.dimensions)
    writer = CatalogWriter(kept, embedder, judge, store_id="memory", at_once_seconds=AT_ONCE_SECONDS)
    return VectorToolIndex(writer, embedder, store_kind="memory")


def _open(
    settings: IndexerSettings, embedder: Embedder | None, timers: Timers, for_long: bool
) -> "VectorToolIndex | ServerToolIndex":
    from indexer.embedders.factory import make_embedder

    if settings.qdrant.url is None:
        return open_embedded(settings, embedder, for_long=for_long)
    return open_on_server(settings, make_embedder(settings.encoder) if embedder is None else embedder, timers)
