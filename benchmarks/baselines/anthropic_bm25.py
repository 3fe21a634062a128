"""Anthropic's `tool_search_tool_bm25`: see `anthropic_search` for the behaviour and its source.

The query is plain words. Anthropic does not publish its tokenizer or parameters: words here are runs of letters and
digits, as in `bm25`.
"""

from typing import Final

from benchmarks.baselines.anthropic_search import InlineSearchRun
from benchmarks.baselines.tool_text import whole_text_bm25
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryRun, Manner, SearchDialect, one_call, query_tool

SEARCH_TOOL: Final = query_tool(
    "tool_search_tool_bm25",
    "Search the tools that are not loaded, by words that describe what they do.",
    "Words to search for.",
)


class AnthropicBm25:
    """The delivery."""

    name = "Anthropic-style BM25"
    source = "Anthropic docs, Tool search tool (tool_search_tool_bm25_20251119)"
    manner = Manner(search=SearchDialect(SEARCH_TOOL.name, one_call("query")), told_is_callable=True)

    def __init__(self, catalog: BenchCatalog) -> None:
        self._catalog = catalog
        self._bm25 = whole_text_bm25(catalog)

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return InlineSearchRun(self._catalog, view, SEARCH_TOOL, self._bm25.rank, k)
