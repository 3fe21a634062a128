"""dehydrator: BM25L over tool definitions."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gateway.bench.peers.base import RankedBy, row_names, schema_of
from gateway.bench.retrieval_metrics import DEPTH
from indexer import Embedder, ToolDefinition


class Dehydrator:
    """`ToolIndex`, without a reranker."""

    name = "dehydrator"
    package = "dehydrator"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        names = row_names(tools)
        rows = {name: row for row, name in enumerate(names)}
        index: Any = import_module("dehydrator").ToolIndex(
            [
                {"name": name, "description": tool.description, "input_schema": schema_of(tool)}
                for name, tool in zip(names, tools, strict=True)
            ],
            top_k=DEPTH,
        )

        def search(query: str, k: int) -> list[int]:
            return [rows[name] for name in index.search(query)[:k]]

        return RankedBy(search)
