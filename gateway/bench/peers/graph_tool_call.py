"""graph-tool-call: keywords and a graph of how tools depend on each other."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gateway.bench.peers.base import RankedBy, row_names, schema_of
from indexer import Embedder, ToolDefinition


class GraphToolCall:
    """`ToolGraph.retrieve` in its basic mode, without an encoder."""

    name = "graph-tool-call"
    package = "graph-tool-call"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        graph: Any = import_module("graph_tool_call").ToolGraph()
        names = row_names(tools)
        rows = {name: row for row, name in enumerate(names)}
        graph.ingest_mcp_tools(
            [
                {"name": name, "description": tool.description, "inputSchema": schema_of(tool)}
                for name, tool in zip(names, tools, strict=True)
            ]
        )

        def search(query: str, k: int) -> list[int]:
            return [rows[found.name] for found in graph.retrieve(query, top_k=k) if found.name in rows]

        return RankedBy(search)
