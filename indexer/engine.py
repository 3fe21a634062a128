"""One search over the replica: from a query and its vectors to ranked rows.

The index, the benchmark and the calibration all rank through `rank_rows`, so that what is measured is what is served.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.batch_search import batch_scores
from indexer.combining import (
    BestRows,
    QueryScores,
    SeenRows,
    TextScores,
    best_rows,
    best_rows_by_bits,
    best_rows_by_bounds,
)
from indexer.confidence import (
    LEAD_OVER,
    UNCALIBRATED,
    Calibration,
    calibration_from,
    confidences,
    foreign_requests,
    margins,
)
from indexer.cosine_scale import CosineScale, cosine_scale
from indexer.deeds import deeds_named
from indexer.document import ToolDocument, dense_text, name_text, short_text
from indexer.embedders.base import ClosenessWeights, Embedder, Vectors
from indexer.glossary import with_english_names
from indexer.late_interaction import Closeness, TokenSnapshot
from indexer.lexical import LexicalMatches, LexicalSnapshot, RowTerms
from indexer.matrix import MatrixSnapshot
from indexer.ranking import (
    CONTEXT_WEIGHT,
    COVERED_AGAIN,
    DEED_WORDS,
    LOOKED_AT_AGAIN,
    MAX_UNREAD_SHARE,
    USED_BONUS,
    composed,
    length_in_words,
    needs_weight,
    split_needs,
    unread_share,
    words_share,
)
from indexer.search_plan import GATHER_SHARE
from indexer.top_k import Floats, Rows

Bools: TypeAlias = npt.NDArray[np.bool_]

_VIEWS: Final = ((dense_text, 1.0), (short_text, 1.0), (name_text, 0.5))
"""What a tool's vector is made of; design/retrieval.md, "Document text"."""
_VIEW_WEIGHTS: Final = np.array([[weight for _, weight in _VIEWS]], dtype=np.float32)
TEXT_RECIPE: Final = "t2"
"""Names the views above and the texts they read: a change here makes an index embed its tools again, once."""


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query with the needs it is made of (none for a single one)."""

    text: str
    needs: tuple[str, ...] = ()
    context: str = ""
    """What the user said, where the query is what a model made of it."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What must be embedded, in this order."""
        return (self.text, *self.needs, self.context) if self.context else (self.text, *self.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRows:
    """Rows, best first. All arrays are (m,), m <= k."""

    rows: Rows
    scores: Floats
    """What they are ordered by; comparable within one query only."""
    margins: Floats
    """What speaks for each row, on no fixed scale."""
    confidence: Floats
    """0 to 1: how sure it is that the row answers the query; comparable between queries of one catalog."""
    weak: Bools
    """Where the confidence is no better than requests get that nothing in this catalog serves."""
    cosine: Floats
    """Cosine of the whole query; 0 where there was no vector."""
    coverage: Floats
    """Share of the query's idf mass that stands in the row, 0 to 1."""
    matches: LexicalMatches
    """Postings of the whole query, of all rows."""
    terms: RowTerms
    """(t, m): which of its terms stand in which of `rows`."""


def embed_tools(embedder: Embedder, documents: Sequence[ToolDocument]) -> Vectors:
    """(n, dimensions) unit rows: of each tool the weighted mean of its views. Raises: EmbeddingError.

    One view of all the text drowns the name in parameters, and one of the name alone misses what they say.
    """
    texts = [view(document) for view, _ in _VIEWS for document in documents]
    flat = embedder.embed_documents(texts)
    tools, dimensions = len(documents), flat.shape[1]
    # `np.tensordot` does the same, and for one tool takes four times as long.
    mean = np.dot(_VIEW_WEIGHTS, flat.reshape(len(_VIEWS), tools * dimensions)).reshape(tools, dimensions)
    norms = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.divide(mean, norms, out=np.zeros_like(mean), where=norms > 0)


def plan_query(query: str, context: str = "") -> PlannedQuery:
    """Split a query into what is to be embedded and searched; a context that says the same adds nothing."""
    query, context = composed(query), composed(context)
    return PlannedQuery(query, split_needs(query), "" if context == query else context)


def rank_rows(
    query: PlannedQuery,
    vectors: Vectors | None,
    *,
    matrix: MatrixSnapshot,
    lexical: LexicalSnapshot,
    tokens: TokenSnapshot | None = None,
    k: int,
    rows: Rows | None = None,
    scripts: frozenset[str] | None = None,
    calibration: Calibration = UNCALIBRATED,
    min_confidence: float = 0.0,
    cosines: Floats | None = None,
    favoured: Rows | None = None,
) -> RankedRows:
    """The k best live rows for one query.

    `vectors`: (texts, d) unit rows of `query.texts`, or None to rank by words alone. `matrix` and `lexical` number
    their rows alike, and so do `tokens`, by which the best rows are looked at again. `rows`: the only rows to be found
    (sorted, distinct); None: every live row. `scripts`: those the encoder reads; None: all. `cosines`: (texts, n) of
    the vectors with every row, where they are known. Rows that match neither by word nor by meaning are left out, and
    those below `min_confidence`.
    """
    seen = _seen_rows(matrix, rows)
    if scripts is not None and unread_share(query.text, scripts) > MAX_UNREAD_SHARE:
        vectors = None
    matches = _matches(query.text, lexical)
    whole = _text_scores(matches, lexical, seen)
    scored = QueryScores(
        whole,
        [_text_scores(_matches(need, lexical), lexical, seen) for need in query.needs],
        seen,
        context=_text_scores(_matches(query.context, lexical), lexical, seen) if query.context else None,
        factors=_factors(query.text, lexical, seen),
        bonus=_bonus(favoured, matrix.n_rows, seen),
    )
    found = _best_rows(scored, vectors, matrix, max(k, LOOKED_AT_AGAIN), cosines, calibration.scale)
    located = seen.at(found.places)
    terms = matches.terms_in(located)
    coverage = matches.mass_of(terms)
    close = None
    if tokens is not None:
        near = tokens.closeness(query.texts, located)
        scores = _scores_again(found, query, near, tokens.closeness_weights, coverage, scored.factors)
        order = (-scores).argsort(kind="stable")
        found = BestRows(found.places[order], scores[order], None if found.cosines is None else found.cosines[order])
        located, terms, coverage = located[order], terms[:, order], coverage[order]
        close = Closeness(near[0].text[order], near[0].name[order])
    scores = found.scores
    rival = max(scores[LEAD_OVER], np.float32(0)) if len(scores) > LEAD_OVER else np.float32(0)
    count = int(np.count_nonzero(scores[:k] > 0))
    best, scores = found.places[:count], scores[:count]
    located, terms, coverage = located[:count], terms[:, :count], coverage[:count]
    top_cosine = None if found.cosines is None else found.cosines[:count]
    if close is not None:
        close = Closeness(close.text[:count], close.name[:count])
    margin = margins(coverage, top_cosine, scores - rival, whole.words[best], close)
    threshold = calibration.threshold(query.text)
    confidence = confidences(margin, threshold)
    sure: slice | Bools = slice(None)
    if min_confidence > 0:
        sure = confidence >= min_confidence
        terms = terms[:, sure]
    return RankedRows(
        rows=located[sure],
        scores=scores[sure],
        margins=margin[sure],
        confidence=confidence[sure],
        weak=(margin < threshold)[sure],
        cosine=(top_cosine if top_cosine is not None else np.zeros_like(scores))[sure],
        coverage=coverage[sure],
        matches=matches,
        terms=terms,
    )


def calibrate(
    embedder: Embedder | None,
    *,
    matrix: MatrixSnapshot,
    lexical: LexicalSnapshot,
    tokens: TokenSnapshot | None = None,
    scale: CosineScale | None = None,
) -> Calibration:
    """Ask a catalog what nothing in it serves, and set its thresholds by the answers. Raises: EmbeddingError.

    Some 290 searches: a quarter of a second at 10,000 tools. `scale`: of the catalog of which the rows are a part;
    None: they are all of it.
    """
    live = np.flatnonzero(matrix.penalty == 0)
    if scale is None and len(live):
        scale = cosine_scale(matrix.vectors, live)
    unmeasured = replace(UNCALIBRATED, scale=scale)
    requests = foreign_requests()
    vectors = embedder.embed_queries(requests) if embedder is not None else None
    best: dict[str, float] = {}
    for number, request in enumerate(requests):
        own = vectors[number : number + 1] if vectors is not None else None
        found = rank_rows(
            PlannedQuery(request), own, matrix=matrix, lexical=lexical, tokens=tokens, k=1, calibration=unmeasured
        )
        best[request] = float(found.margins[0]) if len(found.margins) else 0.0
    return calibration_from(best, scale)


def search_rows(
    query: str,
    embedder: Embedder | None,
    *,
    matrix: MatrixSnapshot,
    lexical: LexicalSnapshot,
    tokens: TokenSnapshot | None = None,
    k: int,
    rows: Rows | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> RankedRows:
    """Plan, embed and rank one query. Raises: EmbeddingError."""
    planned = plan_query(query)
    vectors = embedder.embed_queries(planned.texts) if embedder is not None else None
    return rank_rows(
        planned, vectors, matrix=matrix, lexical=lexical, tokens=tokens, k=k, rows=rows, calibration=calibration
    )


def _seen_rows(matrix: MatrixSnapshot, rows: Rows | None) -> SeenRows:
    if matrix.live == matrix.n_rows:
        return SeenRows(rows)
    dead = matrix.penalty < 0
    return SeenRows(None, dead) if rows is None else SeenRows(rows[~dead[rows]])


def _matches(text: str, lexical: LexicalSnapshot) -> LexicalMatches:
    return lexical.match(with_english_names(text))


def _text_scores(matches: LexicalMatches, lexical: LexicalSnapshot, seen: SeenRows) -> TextScores:
    words = seen.of(matches.scores())
    if len(words) == 0:
        return TextScores(words, np.float32(0), 0.0)
    best = int(words.argmax())
    coverage = matches.coverage_of(best if seen.rows is None else int(seen.rows[best]))
    return TextScores(words, words[best], words_share(float(words[best]), coverage, lexical.rarest_idf))


def _factors(query: str, lexical: LexicalSnapshot, seen: SeenRows) -> Floats | None:
    """(m,) what its traits leave of each row's score; None where the query is long."""
    if length_in_words(query) > DEED_WORDS:
        return None
    return seen.of(lexical.trait_factors(deeds_named(query)))


def _bonus(favoured: Rows | None, n_rows: int, seen: SeenRows) -> Floats | None:
    if favoured is None or len(favoured) == 0:
        return None
    bonus = np.zeros(n_rows, dtype=np.float32)
    bonus[favoured] = USED_BONUS
    return seen.of(bonus)


def _best_rows(
    scored: QueryScores,
    vectors: Vectors | None,
    matrix: MatrixSnapshot,
    k: int,
    cosines: Floats | None,
    scale: CosineScale | None,
) -> BestRows:
    if vectors is None:
        unknown = [None] * (1 + len(scored.needs) + (scored.context is not None))
        return best_rows(scored, unknown, unknown, k)
    # The encoder knows nothing of a text whose vector is zero.
    known = [vector if np.count_nonzero(vector) else None for vector in vectors]
    # A narrow view has a scale of its own: what it holds may all lie where the catalog's begins.
    narrow = _is_narrow(scored.seen, matrix)
    lows = [None if scale is None or narrow else scale.low(vector) for vector in vectors]
    if cosines is None and len(known) < matrix.batch_from and not narrow:
        find = best_rows_by_bounds if matrix.bits is None else best_rows_by_bits
        found = find(scored, known, lows, matrix, k)
        if found is not None:
            return found
    return best_rows(scored, _dense(matrix, vectors, known, scored.seen, cosines), lows, k)


def _scores_again(
    found: BestRows,
    query: PlannedQuery,
    near: Sequence[Closeness],
    weights: ClosenessWeights,
    coverage: Floats,
    factors: Floats | None,
) -> Floats:
    """(m,) scores of the rows found, to those of the first of them added what their tokens and their words speak for.

    `near`: to each of `query.texts`. `coverage`: (m,) share of the query's idf mass. `factors`: (n,) of the rows seen.
    """
    gained = _gained(near[0], weights)
    if query.needs:
        parts = [_gained(one, weights) for one in near[1 : 1 + len(query.needs)]]
        share = needs_weight(len(query.needs))
        gained = (1 - share) * gained + share * np.maximum.reduce(parts)
    if query.context:
        gained = (gained + CONTEXT_WEIGHT * _gained(near[-1], weights)) / (1 + CONTEXT_WEIGHT)
    if factors is not None:
        gained *= factors[found.places]
    gained += COVERED_AGAIN * coverage
    first = int(np.count_nonzero(found.scores[:LOOKED_AT_AGAIN] > 0))
    scores = found.scores.copy()
    scores[:first] += gained[:first]
    scores /= 1 + weights.text + weights.name + COVERED_AGAIN
    return scores


def _gained(close: Closeness, weights: ClosenessWeights) -> Floats:
    """(m,) at least 0: what is added to each of m scores."""
    return np.maximum(weights.text * close.text + weights.name * close.name, np.float32(0))


def _is_narrow(seen: SeenRows, matrix: MatrixSnapshot) -> bool:
    return seen.rows is not None and len(seen.rows) < GATHER_SHARE * matrix.n_rows


def _dense(
    matrix: MatrixSnapshot,
    vectors: Vectors,
    known: Sequence[Floats | None],
    seen: SeenRows,
    cosines: Floats | None,
) -> list[Floats | None]:
    """(m,) cosines of the rows seen, for each vector; None for one that is not known."""
    if _is_narrow(seen, matrix):
        return [None if vector is None else matrix.scores(vector, seen.rows) for vector in known]
    if cosines is None and len(vectors) > 1:
        cosines = batch_scores(matrix.vectors, vectors)
    every = [matrix.scores(vectors[0])] if cosines is None else [*cosines]
    if seen.dead is not None:
        # Dead rows must not stretch the scale that the others are put on: they stand where some live row does.
        alive = int(seen.dead.argmin())
        for cosine in every:
            np.copyto(cosine, cosine[alive], where=seen.dead)
    return [None if vector is None else seen.of(cosine) for cosine, vector in zip(every, known, strict=True)]
