"""The one tool that every agent sees: it finds the others."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from gateway.chat.json_text import decode_json, encode_json
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolArgumentsError
from indexer import (
    SearchScope,
    ToolIndex,
    ToolKey,
    ToolReference,
    ToolSearchRequest,
    ToolSearchResponse,
    model_alias,
)

SEARCH_TOOL_NAME: Final = "search_tools"
MAX_QUERIES: Final = 5
WORTH_SHARE: Final = 0.4
"""A model is handed only tools that score this share of the best: as many needed ones, fewer others.

design/retrieval.md, "Adaptive k".
"""
_MAX_LINE: Final = 160
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """A found tool under the name by which the model may call it."""

    name: str
    reference: ToolReference


class ToolSearchTool:
    """Searches the index and words the answer; shared by all runs and holds nothing of any."""

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


def found_text(query: SearchQuery, found: Sequence[FoundTool], *, is_new: bool = True) -> str:
    """The answer that lists what was found, one line a tool, as compact JSON; `is_new`: not all of it was known."""
    several = len(query.queries) > 1
    what = "These tools are now in your tool list." if is_new else "You have these tools already; nothing else matches."
    then = "search again only for something else." if is_new else "do not search for this again."
    return _text(
        {
            "tools": [_entry(tool, with_query=several) for tool in found],
            "next": f"{what} Call the one that fits by its name; {then}",
            **_left_out(query),
        }
    )


def repeated_text(query: SearchQuery, found: Sequence[FoundTool]) -> str:
    """The answer to a search that was made before in the run."""
    if found:
        hint = (
            "STOP: you have already searched for this and the answer is the same. Do not search for it again: call one "
            "of these tools, or answer without."
        )
    else:
        hint = (
            "STOP: you have already searched for this and nothing was found. Do not search for it again: go on without "
            "such a tool, and tell the user what cannot be done."
        )
    return _text({"tools": [_entry(tool, with_query=False) for tool in found], "next": hint})


def empty_text(query: SearchQuery, response: ToolSearchResponse) -> str:
    """The answer that explains why nothing was found and what to do instead."""
    asked = f"namespace {query.namespace!r}" if query.namespace else "the tools you may use"
    match response.empty_reason:
        case "catalog_empty":
            why = "The catalog holds no tools yet. Do not search again: answer without tools."
        case "nothing_in_scope":
            why = f"There is nothing in {asked}. Do not repeat this search" + (
                ": leave `namespace` out, or use another one." if query.namespace else ": answer without such a tool."
            )
        case _:
            why = (
                f"No tool in {asked} does this. Do not repeat the same query. If you know another word for the need, "
                "search once with it; otherwise go on without, and tell the user what cannot be done."
            )
    body: dict[str, object] = {"tools": [], "why": why, **_left_out(query)}
    if response.namespaces:
        body["namespaces"] = list(response.namespaces)
    return _text(body)


def _left_out(query: SearchQuery) -> dict[str, object]:
    """A word on needs that were not searched for."""
    told = (
        f"Only the first {MAX_QUERIES} queries were searched for; ask for the other {query.left_out} in another call."
    )
    return {"not_searched": told} if query.left_out else {}


def full_text(most: int) -> str:
    """The answer to a search whose finds no longer fit in the tool list."""
    return _text(
        {
            "tools": [],
            "why": f"Your tool list is full: {most} found tools are the most that one conversation may have. Do not "
            "search again: use the tools you have, and tell the user what cannot be done.",
        }
    )


def withheld_text() -> str:
    """The answer to a search whose finds have no name of their own beside the caller's tools."""
    why = "What matches has the name of a tool of your list, and cannot be shown beside it. Use the tools you have."
    return _text({"tools": [], "why": why})


def listed_names(text: str) -> list[str]:
    """The names that an answer of the search tool lists; empty for any other text."""
    try:
        body: object = decode_json(text)
    except ValueError:
        return []
    tools = cast("Mapping[str, object]", body).get("tools") if isinstance(body, dict) else None
    entries = cast("Sequence[object]", tools) if isinstance(tools, list) else ()
    named = (cast("Mapping[str, object]", entry).get("name") for entry in entries if isinstance(entry, dict))
    return [name for name in named if isinstance(name, str)]


def _entry(tool: FoundTool, *, with_query: bool) -> dict[str, object]:
    entry: dict[str, object] = {"name": tool.name, "description": one_line(tool.reference.definition.description)}
    if tool.reference.also_in:
        # The model may search again with one of these as `namespace` if it wants the tool of another place.
        entry["also_in_namespaces"] = list(tool.reference.also_in)
    if tool.reference.also_as:
        # The same operation of other parents: the model may search for one of these names.
        entry["also_as"] = sibling_aliases(tool.reference)
    if with_query:
        entry["for"] = tool.reference.query
    return entry


def sibling_aliases(reference: ToolReference) -> list[str]:
    """The model-facing names of what stands under `also_as`: many namespaces may hold a tool of the same plain name."""
    return [model_alias(reference.definition.key._replace(name=name)) for name in reference.also_as]


def one_line(description: str) -> str:
    """The first sentence of a description, cut to a line."""
    text = " ".join(description.split())
    first = _SENTENCE_END.split(text, maxsplit=1)[0]
    return first if len(first) <= _MAX_LINE else first[: _MAX_LINE - 1].rstrip() + "…"


def _words(query: str) -> str:
    return " ".join(sorted(set(re.findall(r"\w+", unicodedata.normalize("NFKC", query).casefold()))))


def _text(body: Mapping[str, object]) -> str:
    return encode_json(body).decode()
