"""Deliveries that are simulated beside the product's own `append`: all tools, and a tool list that never changes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryRun, Manner, SearchDialect
from gateway.chat.messages import Message, ToolCall
from gateway.chat.prompt import ToolSpec
from gateway.tools.search_tool import MAX_QUERIES, SEARCH_TOOL_NAME, SEARCH_TOOL_SPEC
from indexer import ToolIndex, ToolKey, ToolSearchRequest, ToolSearchResponse

CALL_TOOL_NAME: Final = "call_tool"
_CALL_TOOL: Final = ToolSpec(
    name=CALL_TOOL_NAME,
    description="Call a tool that a search has found, with arguments that fit its parameters.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name, as the search gave it."},
            "arguments": {"type": "object", "description": "The tool's arguments by name."},
        },
        "required": ["name", "arguments"],
    },
)

OWN_SEARCH: Final = SearchDialect(SEARCH_TOOL_NAME, lambda queries: [{"queries": list(queries[:MAX_QUERIES])}])
"""All needs of a turn in one call, as the product's search tool asks for."""


class AllTools:
    """Every tool in every prompt: what there is without tool search."""

    name = "all tools"
    source = "the plain use of a model API: every tool in `tools`, in one fixed order"
    manner = Manner()

    def __init__(self, catalog: BenchCatalog) -> None:
        self._catalog = catalog

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return _AllToolsRun(view)


class _AllToolsRun:
    def __init__(self, view: CatalogView) -> None:
        self._view = view

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        return self._view.specs

    async def answer_search(self, call: ToolCall) -> str:
        raise AssertionError("there is nothing to search with")

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return self._view.rows.tolist()


class CallThrough:
    """A list that never changes: a search tool, and a tool that calls what was found; definitions come as text."""

    name = "call-through"
    source = "simulated: the product's search, with whole definitions in its answer and a `call_tool` beside it"
    manner = Manner(search=OWN_SEARCH, call_proxy=CALL_TOOL_NAME)

    def __init__(self, catalog: BenchCatalog, index: ToolIndex) -> None:
        self._catalog = catalog
        self._index = index

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return _CallThroughRun(self._catalog, self._index, view, k)


class _CallThroughRun:
    def __init__(self, catalog: BenchCatalog, index: ToolIndex, view: CatalogView, k: int) -> None:
        self._catalog = catalog
        self._index = index
        self._view = view
        self._k = k
        self._tools = (SEARCH_TOOL_SPEC, _CALL_TOOL)
        self._found: set[ToolKey] = set()

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        return self._tools

    async def answer_search(self, call: ToolCall) -> str:
        asked = cast("Mapping[str, Any]", json.loads(call.arguments))
        response = await self._search(tuple(asked["queries"]), self._k, frozenset(self._found))
        self._found.update(one.definition.key for one in response.results)
        found = [self._catalog.definition_text(self._row(one.alias)) for one in response.results]
        return f'{{"tools":[{",".join(found)}]}}'

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return [self._row(one.alias) for one in (await self._search((query,), k, said=user)).results]

    async def _search(
        self, queries: tuple[str, ...], k: int, found: frozenset[ToolKey] = frozenset(), *, said: str = ""
    ) -> ToolSearchResponse:
        return await self._index.search(
            ToolSearchRequest(queries=queries, max_results=k, scope=self._view.scope, already_found=found, context=said)
        )

    def _row(self, alias: str) -> int:
        return self._catalog.row_of_alias[alias]
