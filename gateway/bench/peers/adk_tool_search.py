"""adk-tool-search: BM25 with a boost for words of the name, for Google's agent kit."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gateway.bench.peers.base import RankedBy, row_names
from indexer import Embedder, ToolDefinition


class AdkToolSearch:
    """`BM25ToolIndex` over entries made from definitions; nothing is ever called."""

    name = "adk-tool-search"
    package = "adk-tool-search"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        module: Any = import_module("adk_tool_search")
        names = row_names(tools)
        rows = {name: row for row, name in enumerate(names)}
        index: Any = module.BM25ToolIndex()
        index.rebuild(
            [
                module.ToolEntry(name=name, description=tool.description, parameters=_parameters(tool), tool=None)
                for name, tool in zip(names, tools, strict=True)
            ]
        )

        def search(query: str, k: int) -> list[int]:
            return [rows[found.name] for found in index.search(query, limit=k)]

        return RankedBy(search)


def _parameters(tool: ToolDefinition) -> tuple[tuple[str, str], ...]:
    properties: Any = tool.input_schema.get("properties") or {}
    if not hasattr(properties, "items"):
        return ()
    return tuple(
        (str(name), str(schema.get("description", "")) if hasattr(schema, "get") else "")
        for name, schema in properties.items()
    )
