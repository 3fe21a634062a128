"""Small catalogs for tests: an index over a store in memory, and tools to put in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from indexer.definition import ToolDefinition
from indexer.embedders.base import Embedder, Vectors
from indexer.embedders.hashing import HashingEmbedder
from indexer.errors import EmbeddingError, InvalidToolError, StoreUnavailableError
from indexer.search import SearchScope, ToolSearchRequest
from indexer.stores.base import StoredTool, ToolStore
from indexer.stores.memory import MemoryToolStore
from indexer.validation import judge
from indexer.vector_index import VectorToolIndex
from indexer.writing import CatalogWriter

DIMENSIONS = 64
TEXTS_OF_A_TOOL = 3
"""As many as `engine.embed_tools` has views."""


def tool(name: str, description: str = "", **fields: Any) -> ToolDefinition:
    return ToolDefinition(name=name, description=description or f"Does {name.replace('_', ' ')}.", **fields)


SHOP = (
    tool("refund_order", "Give a customer the money of an order back.", namespace="shop", tags=("orders", "money")),
    tool("cancel_order", "Cancel an order that was not shipped.", namespace="shop", tags=("orders",)),
    tool("get_weather", "Weather forecast for a city.", namespace="weather", trust="trusted"),
    tool("send_mail", "Send an e-mail to a person.", namespace="mail", tags=("money",), pinned=True),
    tool("날씨_조회", "도시의 날씨를 알려 준다.", namespace="weather"),
)

BROKEN = tool("broken", "Has a schema nobody can use.", input_schema={"type": "object", "properties": {"a": 7}})


def make_store() -> MemoryToolStore:
    return MemoryToolStore(DIMENSIONS)


def make_writer(
    store: ToolStore, *, embedder: Embedder | None = None, snapshot_path: Path | None = None, store_id: str = "test"
) -> CatalogWriter:
    return CatalogWriter(
        store, embedder or HashingEmbedder(DIMENSIONS), judge, store_id=store_id, snapshot_path=snapshot_path
    )


def make_index(
    store: ToolStore | None = None, *, embedder: Embedder | None = None, snapshot_path: Path | None = None
) -> VectorToolIndex:
    embedder = embedder or HashingEmbedder(DIMENSIONS)
    writer = make_writer(store or make_store(), embedder=embedder, snapshot_path=snapshot_path)
    return VectorToolIndex(writer, embedder, store_kind="memory")


def request(*queries: str, scope: SearchScope | None = None, k: int = 5) -> ToolSearchRequest:
    return ToolSearchRequest(queries=queries, max_results=k, scope=scope or SearchScope())


async def names(index: VectorToolIndex, *queries: str, scope: SearchScope | None = None, k: int = 5) -> list[str]:
    response = await index.search(request(*queries, scope=scope, k=k))
    return [reference.definition.name for reference in response.results]


class CountingEmbedder:
    """A `HashingEmbedder` that counts the tools it embeds, goes by any name, and fails when told to."""

    def __init__(self, embedder_id: str = "counting", dimensions: int = DIMENSIONS) -> None:
        self._inner = HashingEmbedder(dimensions)
        self.embedder_id = embedder_id
        self.dimensions = dimensions
        self.documents = 0
        self.failing = False
        self.failing_queries = False

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._check()
        self.documents += len(texts) // TEXTS_OF_A_TOOL
        return self._inner.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self._check(failing=self.failing_queries)
        return self._inner.embed_queries(texts)

    def _check(self, *, failing: bool = False) -> None:
        if self.failing or failing:
            raise EmbeddingError("the encoder is out of order")


class UnreliableStore:
    """A `ToolStore` whose next upsert fails: before it writes, or after it wrote a part of it."""

    def __init__(self, inner: ToolStore) -> None:
        self._inner = inner
        self.fails = 0
        self.writes_before_failing = 0
        self.scan = inner.scan
        self.fetch = inner.fetch
        self.last_revision = inner.last_revision
        self.count = inner.count
        self.flush = inner.flush
        self.close = inner.close

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        if self.fails:
            self.fails -= 1
            self._inner.upsert(tools[: self.writes_before_failing])
            raise StoreUnavailableError("the store is away")
        self._inner.upsert(tools)


def refuse_nothing(definition: ToolDefinition) -> InvalidToolError | None:
    return None
