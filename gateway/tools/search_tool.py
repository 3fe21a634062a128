"""The one tool that every agent sees: it finds the others."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolArgumentsError
from indexer import SearchScope, ToolIndex, ToolKey, ToolReference, ToolSearchRequest, ToolSearchResponse

SEARCH_TOOL_NAME: Final = "search_tools"
MAX_QUERIES: Final = 5
WORTH_SHARE: Final = 0.4
"""A model is handed only tools that score this share of the best: as many needed ones, fewer others.

design/retrieval.md, "Adaptive k".
"""

# The bytes of this object are part of the prompt prefix that providers cache: no counts, no dates, no catalog in it.
SEARCH_TOOL_SPEC: Final = ToolSpec(
    name=SEARCH_TOOL_NAME,
    description=(
        "Find tools in a large catalog. Most of your tools are not listed here: before you say that something cannot "
        "be done, and before you guess, search for a tool that does it. Describe each thing you need to do in a short "
        "phrase of its own, in any language; put several needs into one call. Found tools are added to your tool list, "
        "and you can call them in your next message. Search again only for a different need."
    ),
    parameters={
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": MAX_QUERIES,
                "description": "What you need to do, one need each: 'refund an order', 'list S3 buckets'. "
                "An exact tool name works too.",
            },
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "description": "The most tools you want back in all; leave it out unless you want fewer.",
            },
            "namespace": {
                "type": "string",
                "description": "Search only this namespace; leave it out to search everything.",
            },
        },
        "required": ["queries"],
        "additionalProperties": False,
    },
)


def search_tool_spec(namespaces: Sequence[str] = ()) -> ToolSpec:
    """The search tool's spec, with the namespaces that there are to search in."""
    if not namespaces:
        return SEARCH_TOOL_SPEC
    described = f"{SEARCH_TOOL_SPEC.description} The namespaces are: {', '.join(namespaces)}."
    return replace(SEARCH_TOOL_SPEC, description=described)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What a model asked of the search tool."""

    queries: tuple[str, ...]
    max_results: int
    namespace: str | None = None
    left_out: int = 0
    """Needs beyond the most that one call may hold."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for queries that ask for the same: case, word order, punctuation and order of needs do not matter."""
        return (frozenset(_words(query) for query in self.queries), self.namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """One search of a run: what was asked, what was found and why."""

    round: int
    """The model call that asked, counted from 1."""
    queries: tuple[str, ...]
    namespace: str | None = None
    results: tuple[ToolReference, ...] = ()
    empty_reason: str = ""
    degraded: str = "none"
    stale: bool = False
    took_ms: float = 0.0
    repeated: bool = False
    """The same was asked before in this run: answered from memory, with a hint to stop."""


class ToolSearchTool:
    """Reads what a model asks and searches the index; shared by all runs and holds nothing of any."""

    def __init__(self, index: ToolIndex, *, max_results: int = 5, worth_share: float = WORTH_SHARE) -> None:
        """`max_results` is the operator's cap: a model may ask for fewer, never for more. `worth_share`: 0 to 1."""
        self._index = index
        self._worth_share = worth_share
        self._max_results = max_results

    def parse(self, arguments: Mapping[str, Any]) -> SearchQuery:
        """The query in a call's arguments, within the operator's cap. Raises: ToolArgumentsError."""
        # Models often write `query`, or one string where a list is wanted; what they mean is clear.
        given = arguments.get("queries", arguments.get("query"))
        entries = cast("Sequence[object]", given) if isinstance(given, list) else [given]
        queries = tuple(dict.fromkeys(one.strip() for one in entries if isinstance(one, str) and one.strip()))
        if not queries:
            raise ToolArgumentsError(
                f"{SEARCH_TOOL_NAME} needs `queries`: a list of 1 to {MAX_QUERIES} short phrases, each saying what a "
                'tool should do, {"queries": ["refund an order"]} say.'
            )
        wanted = arguments.get("max_results")
        asked = self._max_results
        if isinstance(wanted, int | float) and 1 <= wanted <= asked:
            asked = int(wanted)
        namespace = arguments.get("namespace")
        return SearchQuery(
            queries=queries[:MAX_QUERIES],
            left_out=max(0, len(queries) - MAX_QUERIES),
            max_results=asked,
            namespace=namespace.strip() if isinstance(namespace, str) and namespace.strip() else None,
        )

    async def search(
        self,
        query: SearchQuery,
        scope: SearchScope,
        *,
        already_found: frozenset[ToolKey] = frozenset(),
        context: str = "",
        used_namespaces: frozenset[str] = frozenset(),
    ) -> ToolSearchResponse:
        """Ask the index; a namespace narrows the caller's scope and never widens it.

        `context`: what the user said. `used_namespaces`: of the tools that the conversation has called.
        """
        if query.namespace is not None:
            inside = scope.namespaces is None or query.namespace in scope.namespaces
            scope = replace(scope, namespaces=frozenset({query.namespace}) if inside else frozenset[str]())
        return await self._index.search(
            ToolSearchRequest(
                queries=query.queries,
                max_results=query.max_results,
                scope=scope,
                already_found=already_found,
                context=context,
                used_namespaces=used_namespaces,
                worth_share=self._worth_share,
            )
        )


def _words(query: str) -> str:
    return " ".join(sorted(set(re.findall(r"\w+", unicodedata.normalize("NFKC", query).casefold()))))
