"""The store that LangGraph BigTool searches: the description's vector, with the encoder under test."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from gateway.bench.peers.base import RankedBy
from indexer import Embedder, ToolDefinition

_NAMESPACE: Final = ("tools",)


class LangGraphStore:
    """`InMemoryStore` with an index on the description, as BigTool sets it up."""

    name = "langgraph-store"
    package = "langgraph"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        def embed(texts: Sequence[str]) -> list[list[float]]:
            vectors: list[list[float]] = embedder.embed_documents(list(texts)).tolist()
            return vectors

        store: Any = import_module("langgraph.store.memory").InMemoryStore(
            index={"embed": embed, "dims": embedder.dimensions, "fields": ["description"]}
        )
        for row, tool in enumerate(tools):
            store.put(_NAMESPACE, str(row), {"description": f"{tool.name}: {tool.description}"})

        def search(query: str, k: int) -> list[int]:
            return [int(item.key) for item in store.search(_NAMESPACE, query=query, limit=k)]

        return RankedBy(search)
