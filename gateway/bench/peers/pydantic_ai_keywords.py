"""Pydantic AI's built-in tool search: how many words of the query stand in name and description."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gateway.bench.peers.base import RankedBy, row_names, schema_of
from indexer import Embedder, ToolDefinition


class PydanticAiKeywords:
    """`keywords_search_fn`, which reads every tool for every query."""

    name = "pydantic-ai-keywords"
    package = "pydantic-ai-slim"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        search_function: Any = import_module("pydantic_ai.toolsets._tool_search").keywords_search_fn
        definition: Any = import_module("pydantic_ai.tools").ToolDefinition
        names = row_names(tools)
        rows = {name: row for row, name in enumerate(names)}
        definitions = [
            definition(name=name, description=tool.description, parameters_json_schema=schema_of(tool))
            for name, tool in zip(names, tools, strict=True)
        ]

        def search(query: str, k: int) -> list[int]:
            return [rows[name] for name in search_function(None, [query], definitions)[:k]]

        return RankedBy(search)
