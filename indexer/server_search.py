"""One search on a Qdrant server: candidates in one request, ranked here as the replica ranks its rows.

What comes back are exact names and, for each text of each query, the nearest by meaning and the best by words. How rare
words are is asked along with them. What the replica knows and this does not: `server_index`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import anyio.to_thread

from indexer.candidates import as_part, replica_of
from indexer.confidence import Calibration
from indexer.embedders.base import Embedder, Vectors
from indexer.embedders.known import KnownQueries
from indexer.engine import PlannedQuery, plan_query
from indexer.errors import EmbeddingError
from indexer.finding import MAX_QUERIES, MAX_SURPLUS, find_tools, readable
from indexer.ranking import name_candidates, parse_select
from indexer.rarity import Rarities
from indexer.search import ToolSearchRequest, ToolSearchResponse
from indexer.server_measure import CatalogMeasure
from indexer.server_memory import CatalogMemory
from indexer.server_reading import ServerReader
from indexer.sparse import query_terms
from indexer.stores.payload import tool_of
from indexer.stores.qdrant_query import (
    QueryText,
    any_of,
    candidates_query,
    named_query,
    rarity_query,
    scope_filter,
)

if TYPE_CHECKING:
    from qdrant_client.http.models import QueryRequest, ScoredPoint

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, read: the names that may be meant, and its queries that name no tools."""

    names: tuple[str, ...]
    """Case-folded."""
    planned: tuple[PlannedQuery, ...]

    @property
    def texts(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(plan.texts for plan in self.planned)))


async def search_server(
    reader: ServerReader,
    request: ToolSearchRequest,
    embedder: Embedder,
    *,
    measure: CatalogMeasure,
    memory: CatalogMemory,
    revision: int,
) -> ToolSearchResponse:
    """Answer a request from what the server finds; an encoder that fails costs meaning, not the answer.

    Raises: StoreUnavailableError, StoreError.
    """
    asked = _read(request)
    vectors = await anyio.to_thread.run_sync(_embed, asked.texts, embedder)
    calibration = measure.calibration
    if asked.planned and await memory.is_narrow(request.scope, measure):
        # Cosines in a part of the catalog may all lie where those of the whole begin.
        calibration = replace(calibration, scale=None)
    queries = [
        query for plan in asked.planned if (query := _candidates(request, plan, vectors, calibration)) is not None
    ]
    points = await _ask(reader, request, asked, queries, memory.rarities)
    words = measure.words(memory.rarities.of(asked.texts, measure.tools))
    known = KnownQueries(vectors, embedder)

    def ranked() -> ToolSearchResponse:
        tools = {tool.key: tool for tool in (tool_of(point.payload, point.vector) for point in points)}
        state = replica_of(list(tools.values()), embedder)
        return find_tools(as_part(state, words, calibration, revision), request, known)

    return await anyio.to_thread.run_sync(ranked)


def _read(request: ToolSearchRequest) -> _Asked:
    queries = [text for query in request.queries if (text := readable(query))][:MAX_QUERIES]
    if request.max_results < 1:
        return _Asked((), ())
    selections = [parse_select(query) for query in queries]
    names = chain.from_iterable(
        selected or name_candidates(query) for query, selected in zip(queries, selections, strict=True)
    )
    context = readable(request.context)
    planned = [plan_query(query, context) for query, selected in zip(queries, selections, strict=True) if not selected]
    return _Asked(tuple(dict.fromkeys(name.casefold() for name in names)), tuple(planned))


def _embed(texts: Sequence[str], embedder: Embedder) -> dict[str, Vectors]:
    """(dimensions,) of each text; of none where the encoder fails."""
    if not texts:
        return {}
    try:
        return dict(zip(texts, embedder.embed_queries(texts), strict=True))
    except EmbeddingError as error:
        _log.warning("the encoder %s failed on a query; searching by words alone: %s", embedder.embedder_id, error)
        return {}


async def _ask(
    reader: ServerReader,
    request: ToolSearchRequest,
    asked: _Asked,
    candidates: "Sequence[QueryRequest]",
    rarities: Rarities,
) -> "list[ScoredPoint]":
    """Tools that bear a name that was asked for, and the best for each query: one request, or none for nothing."""
    if not asked.names:
        return []
    queries = [named_query(asked.names, request.scope, MAX_SURPLUS), *candidates]
    terms = rarities.unknown(asked.texts)
    answers = await reader.query([*queries, *map(rarity_query, terms)])
    rarities.learn(terms, answers[len(queries) :])
    return list(chain.from_iterable(answers[: len(queries)]))


def _candidates(
    request: ToolSearchRequest, plan: PlannedQuery, vectors: dict[str, Vectors], calibration: Calibration
) -> "QueryRequest | None":
    texts: list[QueryText] = []
    for text in plan.texts:
        vector = vectors.get(text)
        texts.append(QueryText(vector if vector is not None and vector.any() else None, query_terms(text)))
    scope, used = request.scope, sorted(request.used_namespaces)
    return candidates_query(
        texts,
        scope_filter(scope),
        request.max_results + min(len(request.already_found), MAX_SURPLUS),
        favoured=scope_filter(scope, also=[any_of("namespace", used)]) if used else None,
        furthest=calibration.scale is None,
    )
