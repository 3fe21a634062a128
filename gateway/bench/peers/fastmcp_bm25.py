"""FastMCP's BM25 search transform: name, description, parameter names and descriptions in one bag of words."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from gateway.bench.peers.base import RankedBy, schema_of
from indexer import Embedder, ToolDefinition

_SEARCH: Final = "fastmcp.server.transforms.search"


class FastMcpBm25:
    """The index of `BM25SearchTransform`, over the text that it takes from a tool."""

    name = "fastmcp-bm25"
    package = "fastmcp-slim"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        tool_class: Any = import_module("fastmcp.tools.base").Tool
        text_of: Any = import_module(f"{_SEARCH}.base")._extract_searchable_text
        index: Any = import_module(f"{_SEARCH}.bm25")._BM25Index()
        index.build(
            [
                text_of(tool_class(name=tool.name, description=tool.description, parameters=schema_of(tool)))
                for tool in tools
            ]
        )
        return RankedBy(index.query)
