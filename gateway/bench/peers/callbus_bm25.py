"""CallBus's lexical scorer, over the schema text of a tool."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gateway.bench.peers.base import RankedBy, schema_of
from indexer import Embedder, ToolDefinition


class CallbusBm25:
    """`BM25Scorer(tool_format="schema")`."""

    name = "callbus-bm25"
    package = "callbus"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        domain: Any = import_module("callbus.domain")
        scorer: Any = import_module("callbus.adapters.bm25").BM25Scorer(tool_format="schema")
        scorer.index(
            [
                domain.Tool(
                    id=str(row),
                    doc={"name": tool.name, "description": tool.description, "parameters": schema_of(tool)},
                    category=tool.namespace,
                )
                for row, tool in enumerate(tools)
            ]
        )

        def search(query: str, k: int) -> list[int]:
            return [int(row) for row in scorer.rank([domain.Query(id="q", text=query, qrels={})], k)[0].tool_ids]

        return RankedBy(search)
