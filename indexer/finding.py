"""One search over one state of the replica: exact names, ranked rows, shared places, reasons."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import Final, NamedTuple

import numpy as np

from indexer.batch_search import batch_scores
from indexer.columns import Rows
from indexer.definition import ToolDefinition, ToolKey
from indexer.duplicates import collapse_duplicates
from indexer.embedders.base import Embedder, Vectors
from indexer.engine import PlannedQuery, RankedRows, plan_query, rank_rows
from indexer.errors import EmbeddingError
from indexer.invisible import without_marks
from indexer.ranking import name_candidates, parse_select, share_places, worth_showing
from indexer.replica_state import ReplicaState, ScopeView
from indexer.search import Degradation, EmptyReason, SearchScope, ToolReference, ToolSearchRequest, ToolSearchResponse
from indexer.top_k import Floats

_log = logging.getLogger(__name__)

MAX_SUGGESTED_NAMESPACES: Final = 8
MAX_QUERIES: Final = 5
MAX_QUERY_LENGTH: Final = 4_000
"""Characters of one query that are read: a need is a sentence, and a search must not hold up others."""
MAX_SURPLUS: Final = 100
"""How many more than asked for are ranked, so that tools already found do not take the places of others."""
_SPARE: Final = 6
"""How many more are ranked, so that near-duplicates do not take the places of others; four times as many if needed."""
_MAX_DEPTH: Final = 1_024
_SHOWN: Final = 8
"""Of the namespaces or the names that a tool stands for."""
_MAX_SCORE: Final = 0.99
"""Of anything but an exact name."""


class _Hit(NamedTuple):
    """A row and what speaks for it."""

    row: int
    score: float
    reasons: tuple[str, ...]
    duplicates: tuple[int, ...] = ()
    """Rows that it stands for."""


class _Need(NamedTuple):
    """One query of a request and its hits, best first."""

    query: str
    hits: dict[ToolKey, _Hit]


class _Asked(NamedTuple):
    """A request, read: its view of the catalog and its queries, those that name tools with the names."""

    request: ToolSearchRequest
    view: ScopeView
    queries: Sequence[str]
    selections: Sequence[tuple[str, ...]]
    planned: Sequence[PlannedQuery]
    """Of the queries that name none, in their order."""


class _Read(NamedTuple):
    """A planned query as the encoder reads it; `cosines` where they were worked out for several at once."""

    plan: PlannedQuery
    vectors: Vectors | None
    cosines: Floats | None = None


def find_tools(state: ReplicaState, request: ToolSearchRequest, embedder: Embedder) -> ToolSearchResponse:
    """Answer a request from one state of the catalog; an encoder that fails costs meaning, not the answer."""
    return find_together(state, [request], embedder)[0]


def find_together(
    state: ReplicaState, requests: Sequence[ToolSearchRequest], embedder: Embedder
) -> list[ToolSearchResponse]:
    """Answer several requests from one state: their queries are embedded, and the vectors read, for all at once."""
    asked = [_read(state, request) for request in requests]
    read, degraded = _embed([plan for one in asked for plan in one.planned], embedder)
    if len(asked) > 1 and read:
        whole = [one.view.rows is None for one in asked for _ in one.planned]
        read = _with_cosines(state, read, whole)
    remaining = iter(read)
    return [_answer(state, one, remaining, degraded) for one in asked]


def _read(state: ReplicaState, request: ToolSearchRequest) -> _Asked:
    view = state.view(request.scope)
    queries = [text for query in request.queries if (text := readable(query))][:MAX_QUERIES]
    if not view.count or request.max_results < 1:
        queries = []
    selections = [parse_select(query) for query in queries]
    context = readable(request.context)
    planned = [plan_query(query, context) for query, names in zip(queries, selections, strict=True) if not names]
    return _Asked(request, view, queries, selections, planned)


def _answer(
    state: ReplicaState, asked: _Asked, remaining: Iterator[_Read], degraded: Degradation
) -> ToolSearchResponse:
    """`remaining`: the planned queries of this request and of those after it, each taken as its turn comes."""
    request, view = asked.request, asked.view
    if not asked.queries:
        return _nothing(state, request, view)
    needs: list[_Need] = []
    shown = set(request.already_found)
    for query, names in zip(asked.queries, asked.selections, strict=True):
        exact = _exact_hits(state, request, view, names or name_candidates(query))
        if not names:
            alone = not exact and request.collapse_duplicates and request.scope.namespaces is None
            hits = _ranked_hits(state, request, view, next(remaining), shown if alone else None)
            exact |= {key: hit for key, hit in hits.items() if key not in exact}
        shown |= exact.keys()
        needs.append(_Need(query, exact))
    return _respond(state, request, view, needs, degraded if asked.planned else "none")


def readable(query: str) -> str:
    """What of a query is read: its beginning, without marks that nobody sees; encoders take no halves of characters."""
    text = query[:MAX_QUERY_LENGTH]
    return (text if text.isascii() else without_marks(text).encode("utf-8", "replace").decode()).strip()


def _embed(planned: Sequence[PlannedQuery], embedder: Embedder) -> tuple[list[_Read], Degradation]:
    """Each query with its vectors, embedded as one batch; without vectors where the encoder fails."""
    texts = [text for plan in planned for text in plan.texts]
    if not texts:
        return [], "none"
    try:
        vectors = embedder.embed_queries(texts)
    except EmbeddingError as error:
        _log.warning("the encoder %s failed on a query; searching by words alone: %s", embedder.embedder_id, error)
        return [_Read(plan, None) for plan in planned], "lexical"
    if len(planned) == 1:
        return [_Read(planned[0], vectors)], "none"
    ends = np.cumsum([len(plan.texts) for plan in planned])
    return [_Read(plan, own) for plan, own in zip(planned, np.split(vectors, ends[:-1]), strict=True)], "none"


def _with_cosines(state: ReplicaState, read: Sequence[_Read], whole: Sequence[bool]) -> list[_Read]:
    """The same, with the cosines of every row where all of the catalog is looked through; read in one pass."""
    vectors = [one.vectors for one, all_rows in zip(read, whole, strict=True) if all_rows and one.vectors is not None]
    if sum(map(len, vectors)) < state.matrix.batch_from:
        return list(read)
    cosines = iter(
        np.split(batch_scores(state.matrix.vectors, np.concatenate(vectors)), np.cumsum([*map(len, vectors)])[:-1])
    )
    return [
        one._replace(cosines=next(cosines)) if all_rows and one.vectors is not None else one
        for one, all_rows in zip(read, whole, strict=True)
    ]


def _exact_hits(
    state: ReplicaState, request: ToolSearchRequest, view: ScopeView, names: Sequence[str]
) -> dict[ToolKey, _Hit]:
    hits: dict[ToolKey, _Hit] = {}
    for name in names:
        rows = state.rows_named(request.scope.tenant, name)
        for row in rows:
            if _in_view(view.rows, row):
                hits.setdefault(state.table.key(row), _Hit(row, 1.0, ("exact name",)))
            if len(hits) >= request.max_results + MAX_SURPLUS:
                return hits
    return hits


def _ranked_hits(
    state: ReplicaState,
    request: ToolSearchRequest,
    view: ScopeView,
    read: _Read,
    shown: Collection[ToolKey] | None,
) -> dict[ToolKey, _Hit]:
    """Hits, best first. `shown`: tools that stand for their near-duplicates if they can; None: nothing collapses."""
    wanted = request.max_results + min(len(request.already_found), MAX_SURPLUS)
    depth = wanted if shown is None else wanted + _SPARE
    while True:
        ranked = rank_rows(
            read.plan,
            read.vectors,
            cosines=read.cosines,
            matrix=state.matrix,
            lexical=state.lexical,
            tokens=state.tokens,
            k=depth,
            rows=view.rows,
            calibration=state.calibration,
            min_confidence=request.min_confidence,
            favoured=state.namespace_rows(request.scope.tenant, request.used_namespaces),
        )
        rows = _worth_showing(state, request, ranked)
        kept = dict.fromkeys(rows, ()) if shown is None else _collapse(state, request, rows, read.plan.text, shown)
        if len(kept) >= wanted or len(rows) < depth or depth >= _MAX_DEPTH:
            break
        depth *= 4
    if not rows:
        return {}
    place_of = {row: place for place, row in enumerate(rows)}
    stay = list(islice(kept.items(), wanted))
    # One that is shown already may stand for a better one, in its place.
    best_places = [min(place_of[one] for one in (row, *others)) if others else place_of[row] for row, others in stay]
    scores = _shown_scores(ranked, best_places)
    reasons = _reasons(ranked, [place_of[row] for row, _ in stay])
    return {
        state.table.key(row): _Hit(row, score, why, others)
        for (row, others), score, why in zip(stay, scores, reasons, strict=True)
    }


def _worth_showing(state: ReplicaState, request: ToolSearchRequest, ranked: RankedRows) -> list[int]:
    """The rows that come near enough to the best one that the caller does not have yet."""
    rows: list[int] = ranked.rows.tolist()
    if request.worth_share <= 0:
        return rows
    fresh = (place for place, row in enumerate(rows) if state.table.key(row) not in request.already_found)
    best = next(fresh, 0)
    return rows[: best + worth_showing(ranked.scores[best:], request.worth_share)]


def _collapse(
    state: ReplicaState, request: ToolSearchRequest, rows: Sequence[int], query: str, shown: Collection[ToolKey]
) -> dict[int, tuple[int, ...]]:
    return collapse_duplicates(
        rows,
        definition_of=state.table.definition,
        key_of=state.table.key,
        vectors=state.matrix.vectors,
        query=query,
        preferred=shown,
        held=request.already_found,
    )


def _shown_scores(ranked: RankedRows, places: Sequence[int]) -> list[float]:
    """Scores for people, 0 to 1: in the order of the ranking, the best as high as its confidence."""
    best = min(max(ranked.confidence.tolist()), _MAX_SCORE)
    scores: list[float] = ranked.scores.tolist()
    highest = scores[0]
    return [round(best * min(scores[place] / highest, 1.0), 4) for place in places]


def _reasons(ranked: RankedRows, places: Sequence[int]) -> list[tuple[str, ...]]:
    """What speaks for the rows in some places, for people; of their words the rarest first."""
    idf: list[float] = ranked.matches.idf.tolist()
    rarest_first = sorted(range(len(idf)), key=idf.__getitem__, reverse=True)
    words = [ranked.matches.terms[term] for term in rarest_first]
    held: list[list[bool]] = ranked.terms[rarest_first].T.tolist()
    cosines: list[float] = ranked.cosine.tolist()
    weak: list[bool] = ranked.weak.tolist()
    return [_told(compress(words, held[place]), cosines[place], weak=weak[place]) for place in places]


def _told(words: Iterable[str], cosine: float, *, weak: bool) -> tuple[str, ...]:
    reasons: list[str] = []
    if joined := ", ".join(words):
        reasons.append(f"words: {joined}")
    if cosine > 0:
        reasons.append(f"meaning: {cosine:.2f}")
    if weak:
        reasons.append("weak match")
    return tuple(reasons)


def _respond(
    state: ReplicaState,
    request: ToolSearchRequest,
    view: ScopeView,
    needs: Sequence[_Need],
    degraded: Degradation,
) -> ToolSearchResponse:
    places = share_places([list(need.hits) for need in needs], request.max_results, request.already_found)
    results = [_reference(state, needs[number].hits[key], needs[number].query, request.scope) for key, number in places]
    # The engine filtered by the same scope; this is the second lock on the door.
    admitted = tuple([reference for reference in results if request.scope.admits(reference.definition)])
    if not admitted:
        return _nothing(state, request, view, degraded)
    found = request.already_found
    known = bool(found) and all(reference.definition.key in found for reference in admitted)
    return ToolSearchResponse(
        results=admitted,
        catalog_revision=state.revision,
        degraded=degraded,
        empty_reason="all_already_found" if known else "",
    )


def _reference(state: ReplicaState, hit: _Hit, query: str, scope: SearchScope) -> ToolReference:
    table = state.table
    return ToolReference(
        definition=table.definition(hit.row),
        alias=table.alias(hit.row),
        score=hit.score,
        reasons=hit.reasons,
        query=query,
        also_in=_also_in(state, hit, scope) if hit.duplicates else (),
        also_as=_also_as(state, hit, scope) if hit.duplicates else (),
    )


def _also_in(state: ReplicaState, hit: _Hit, scope: SearchScope) -> tuple[str, ...]:
    own = state.table.key(hit.row).namespace
    return tuple(dict.fromkeys(one.namespace for one in _stood_for(state, hit, scope) if one.namespace != own))[:_SHOWN]


def _also_as(state: ReplicaState, hit: _Hit, scope: SearchScope) -> tuple[str, ...]:
    own = state.table.key(hit.row).namespace
    return tuple([one.name for one in _stood_for(state, hit, scope) if one.namespace == own])[:_SHOWN]


def _stood_for(state: ReplicaState, hit: _Hit, scope: SearchScope) -> Iterator[ToolDefinition]:
    return filter(scope.admits, map(state.table.definition, hit.duplicates))


def _nothing(
    state: ReplicaState, request: ToolSearchRequest, view: ScopeView, degraded: Degradation = "none"
) -> ToolSearchResponse:
    reason: EmptyReason = "no_match"
    if not state.live:
        reason = "catalog_empty"
    elif not view.count:
        reason = "nothing_in_scope"
    namespaces = state.table.count_namespaces(state.live_rows(request.scope), state.n_rows)
    largest = sorted(namespaces, key=lambda name: (-namespaces[name], name))[:MAX_SUGGESTED_NAMESPACES]
    return ToolSearchResponse(
        results=(),
        catalog_revision=state.revision,
        degraded=degraded,
        empty_reason=reason,
        namespaces=tuple(largest),
    )


def _in_view(rows: Rows | None, row: int) -> bool:
    if rows is None:
        return True
    place = int(np.searchsorted(rows, row))
    return place < len(rows) and int(rows[place]) == row
