"""One search on a Qdrant server: exact names and, in one query, the nearest by meaning and the best by words.

What the replica knows and this does not: `server_index`.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import numpy as np

from indexer.alias import model_alias
from indexer.definition import ToolKey
from indexer.document import document_of
from indexer.duplicates import collapse_duplicates
from indexer.embedders.base import Embedder, Vectors
from indexer.errors import EmbeddingError
from indexer.finding import MAX_QUERIES, MAX_QUERY_LENGTH
from indexer.lexical import FIELDS, tokenize
from indexer.lexical.tokens import surfaces
from indexer.matrix import Floats
from indexer.ranking import name_candidates, parse_select, share_places, worth_showing
from indexer.search import Degradation, SearchScope, ToolReference, ToolSearchRequest
from indexer.server_reading import ServerReader
from indexer.sparse import query_terms
from indexer.stores.base import StoredTool
from indexer.stores.payload import tool_of
from indexer.stores.qdrant_query import FIRST_SHARE, hybrid_query, named_query

if TYPE_CHECKING:
    from qdrant_client.http.models import ScoredPoint

_log = logging.getLogger(__name__)

_MAX_SURPLUS: Final = 100
_SPARE: Final = 16
_MAX_SCORE: Final = 0.99
_MAX_SHOWN_NAMESPACES: Final = 8


@dataclass(frozen=True, slots=True)
class _Hit:
    """A found tool and what speaks for it."""

    tool: StoredTool
    score: float
    reasons: tuple[str, ...]
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Need:
    """A query: the names that it may mean, and its vector if it is to be ranked."""

    text: str
    names: tuple[str, ...]
    is_selection: bool
    vector: Floats | None = None


async def search_server(
    reader: ServerReader, request: ToolSearchRequest, embedder: Embedder
) -> tuple[tuple[ToolReference, ...], Degradation]:
    """The results of a request; empty where there is nothing. Raises: StoreUnavailableError, StoreError."""
    texts = [text for query in request.queries if (text := _readable(query))][:MAX_QUERIES]
    if not texts or request.max_results < 1:
        return (), "none"
    needs, degraded = await _read(texts, embedder)
    exact, found = await _ask(reader, request, needs)
    shown = set(request.already_found)
    hits: list[dict[ToolKey, _Hit]] = []
    for need, points in zip(needs, found, strict=True):
        named = {tool.key: _Hit(tool, 1.0, ("exact name",)) for tool in _named(exact, need)}
        alone = not named and request.collapse_duplicates and request.scope.namespaces is None
        ranked = _ranked(request, need, points, shown if alone else None)
        hits.append(named | {key: hit for key, hit in ranked.items() if key not in named})
        shown |= hits[-1].keys()
    places = share_places([list(one) for one in hits], request.max_results, request.already_found)
    results = [_reference(hits[number][key], needs[number].text, request.scope) for key, number in places]
    # The server filtered by the same scope; this is the second lock on the door.
    return tuple(one for one in results if request.scope.admits(one.definition)), degraded


async def _ask(
    reader: ServerReader, request: ToolSearchRequest, needs: Sequence[_Need]
) -> "tuple[list[StoredTool], list[Sequence[ScoredPoint]]]":
    """Tools that bear a name that was asked for, and what ranks best for each need: one request."""
    folded = list(dict.fromkeys(name.casefold() for need in needs for name in need.names))
    depth = request.max_results + min(len(request.already_found), _MAX_SURPLUS) + _SPARE
    ranked = {
        place: query
        for place, need in enumerate(needs)
        if not need.is_selection
        and (query := hybrid_query(need.vector, query_terms(need.text), request.scope, depth)) is not None
    }
    named, *answers = await reader.query([named_query(folded, request.scope, _MAX_SURPLUS), *ranked.values()])
    by_place = dict(zip(ranked, answers, strict=True))
    return [tool_of(point.payload, None) for point in named], [by_place.get(place, []) for place in range(len(needs))]


def _readable(query: str) -> str:
    return query[:MAX_QUERY_LENGTH].encode("utf-8", "replace").decode().strip()


async def _read(texts: Sequence[str], embedder: Embedder) -> tuple[list[_Need], Degradation]:
    """The needs with their vectors; None for one of which the encoder knows nothing, and for all where it fails."""
    selected = [parse_select(text) for text in texts]
    free = [text for text, names in zip(texts, selected, strict=True) if not names]
    degraded: Degradation = "none"
    vectors: Vectors | Sequence[None] = [None] * len(free)
    if free:
        try:
            vectors = await anyio.to_thread.run_sync(embedder.embed_queries, free)
        except EmbeddingError:
            _log.exception("the encoder %s failed on a query; searching by words alone", embedder.embedder_id)
            degraded = "lexical"
    given = iter(vectors)
    needs: list[_Need] = []
    for text, names in zip(texts, selected, strict=True):
        vector = None if names else next(given)
        known = vector if vector is not None and vector.any() else None
        needs.append(_Need(text, names or name_candidates(text), bool(names), known))
    return needs, degraded


def _named(tools: Sequence[StoredTool], need: _Need) -> list[StoredTool]:
    """Those that bear one of the names of a need, in the order of the names."""
    found: dict[ToolKey, StoredTool] = {}
    for name in need.names:
        folded = name.casefold()
        for tool in tools:
            key = tool.key
            if folded in (key.name.casefold(), model_alias(key).casefold(), f"{key.namespace}/{key.name}".casefold()):
                found.setdefault(key, tool)
    return list(found.values())


def _ranked(
    request: ToolSearchRequest, need: _Need, points: "Sequence[ScoredPoint]", shown: Collection[ToolKey] | None
) -> dict[ToolKey, _Hit]:
    """Hits, best first. `shown`: tools that stand for their near-duplicates if they can; None: nothing collapses."""
    if not points:
        return {}
    tools = [tool_of(point.payload, point.vector) for point in points]
    most = FIRST_SHARE * (1 if need.vector is None else 2)
    scores = np.array([min(point.score / most, _MAX_SCORE) for point in points], dtype=np.float32)
    rows = _worth_showing(request, tools, scores)
    kept: dict[int, tuple[int, ...]] = dict.fromkeys(rows, ())
    if shown is not None:
        kept = collapse_duplicates(
            rows,
            definition_of=lambda row: tools[row].definition,
            key_of=lambda row: tools[row].key,
            vectors=_vectors(tools),
            query=need.text,
            preferred=shown,
        )
    words = surfaces(need.text)
    return {
        tools[row].key: _Hit(
            tools[row],
            # One that is shown already may stand for a better one, in its place.
            round(float(scores[min(row, *others, len(scores) - 1)]), 4),
            _reasons(need, words, tools[row]),
            tuple(dict.fromkeys(tools[other].key.namespace for other in others))[:_MAX_SHOWN_NAMESPACES],
        )
        for row, others in kept.items()
    }


def _worth_showing(request: ToolSearchRequest, tools: Sequence[StoredTool], scores: Floats) -> list[int]:
    """The places that come near enough to the best one that the caller does not have yet."""
    rows = list(range(len(tools)))
    if request.worth_share <= 0:
        return rows
    best = next((row for row in rows if tools[row].key not in request.already_found), 0)
    return rows[: best + worth_showing(scores[best:], request.worth_share)]


def _vectors(tools: Sequence[StoredTool]) -> Floats:
    """(n, d) unit rows; a tool whose vector did not come has a zero row, which resembles none."""
    width = next((len(tool.vector) for tool in tools if tool.vector is not None), 1)
    empty = np.zeros(width, dtype=np.float32)
    return np.stack([empty if tool.vector is None else tool.vector for tool in tools])


def _reasons(need: _Need, words: dict[str, str], tool: StoredTool) -> tuple[str, ...]:
    document = document_of(tool.definition)
    there = {term for name in FIELDS for term in tokenize(getattr(document, name))}
    matched = dict.fromkeys(word for term, word in words.items() if term in there)
    reasons = [f"words: {', '.join(matched)}"] if matched else []
    if need.vector is not None and tool.vector is not None:
        cosine = float(np.vecdot(need.vector, tool.vector))
        reasons += [f"meaning: {cosine:.2f}"] if cosine > 0 else []
    return tuple(reasons)


def _reference(hit: _Hit, query: str, scope: SearchScope) -> ToolReference:
    namespaces = scope.namespaces
    return ToolReference(
        definition=hit.tool.definition,
        alias=model_alias(hit.tool.key),
        score=hit.score,
        reasons=hit.reasons,
        query=query,
        also_in=tuple(name for name in hit.also_in if namespaces is None or name in namespaces),
    )
