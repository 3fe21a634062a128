"""Anthropic's `tool_search_tool_regex`: see `anthropic_search` for the behaviour and its source.

The query is a Python regular expression, found anywhere in a tool's text, letters in either case. The scripted model
has no pattern in its script, so it makes one of its query as the documentation's examples do: the two longest words
in either order. If that finds nothing, the words alone are tried, as a model would in its next search. Matches come in
the order of the catalog: a regular expression ranks nothing.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.baselines.anthropic_search import InlineSearchRun
from benchmarks.baselines.bm25 import words
from benchmarks.baselines.tool_text import whole_texts
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import Arguments, DeliveryRun, Manner, SearchDialect, query_tool

SEARCH_TOOL: Final = query_tool(
    "tool_search_tool_regex",
    "Search the tools that are not loaded, by a regular expression over what they say.",
    "A Python regular expression, 200 characters.",
)


class AnthropicRegex:
    """The delivery; keeps every tool's text."""

    name = "Anthropic-style regex"
    source = "Anthropic docs, Tool search tool (tool_search_tool_regex_20251119)"
    manner = Manner(search=SearchDialect(SEARCH_TOOL.name, lambda queries: _patterns(queries)), told_is_callable=True)

    def __init__(self, catalog: BenchCatalog) -> None:
        self._catalog = catalog
        self._texts = [text.lower() for text in whole_texts(catalog)]
        self._known: dict[str, npt.NDArray[np.bool_]] = {}

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return InlineSearchRun(self._catalog, view, SEARCH_TOOL, self._matches, k)

    def _matches(self, query: str, view: CatalogView, k: int) -> list[int]:
        expression = query if _is_pattern(query) else pattern(query)
        asked = list(dict.fromkeys(expression.replace("|", ".*").split(".*")))
        # What `a.*b|b.*a` and `a|b` match, without the engine's backtracking over long texts.
        holding = [self._holding(word)[view.rows] for word in asked if word]
        if not holding:
            return []
        both, either = np.logical_and.reduce(holding), np.logical_or.reduce(holding)
        rows = view.rows[both if both.any() else either][:k]
        return [int(row) for row in rows]

    def _holding(self, word: str) -> npt.NDArray[np.bool_]:
        """(n,) whether a tool's text holds the word."""
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = np.array([word in text for text in self._texts], dtype=np.bool_)
        return found


def pattern(query: str) -> str:
    """The two longest words of a query, in either order."""
    longest = sorted(dict.fromkeys(words(query)), key=len, reverse=True)[:2]
    if len(longest) < 2:
        return "".join(re.escape(word) for word in longest)
    first, second = (re.escape(word) for word in longest)
    return f"{first}.*{second}|{second}.*{first}"


def _is_pattern(query: str) -> bool:
    return " " not in query


def _patterns(queries: Sequence[str]) -> list[Arguments]:
    return [{"query": pattern(query)} for query in queries]
