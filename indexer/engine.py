"""One search over the replica: from a query and its vectors to ranked rows.

The index, the benchmark and the calibration all rank through `rank_rows`, so that what is measured is what is served.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.batch_search import batch_scores
from indexer.confidence import (
    LEAD_OVER,
    UNCALIBRATED,
    Calibration,
    calibration_from,
    confidences,
    foreign_requests,
    margins,
)
from indexer.document import ToolDocument, dense_text, name_text, short_text
from indexer.embedders.base import Embedder, Vectors
from indexer.lexical import LexicalMatches, LexicalSnapshot
from indexer.matrix import Floats, MatrixSnapshot, Rows, block_top_k
from indexer.ranking import MAX_UNREAD_SHARE, fuse, needs_weight, split_needs, unread_share, words_share

Bools: TypeAlias = npt.NDArray[np.bool_]

_GATHER_SHARE: Final = 0.25
"""A view of fewer rows than this share is gathered, not scanned."""

_VIEWS: Final = ((dense_text, 1.0), (short_text, 1.0), (name_text, 0.5))
"""What a tool's vector is made of; design/retrieval.md, "Document text"."""
TEXT_RECIPE: Final = "t2"
"""Names the views above and the texts they read: a change here makes an index embed its tools again, once."""


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query with the needs it is made of (none for a single one)."""

    text: str
    needs: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What must be embedded, in this order."""
        return (self.text, *self.needs)


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
    """Postings of the whole query, of all rows: which words speak for a row."""


def embed_tools(embedder: Embedder, documents: Sequence[ToolDocument]) -> Vectors:
    """(n, dimensions) unit rows: of each tool the weighted mean of its views. Raises: EmbeddingError.

    One view of all the text drowns the name in parameters, and one of the name alone misses what they say.
    """
    texts = [view(document) for view, _ in _VIEWS for document in documents]
    flat = embedder.embed_documents(texts)
    views = flat.reshape(len(_VIEWS), len(documents), flat.shape[1])
    weights = np.array([weight for _, weight in _VIEWS], dtype=np.float32)
    mean = np.tensordot(weights, views, axes=1)
    norms = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.divide(mean, norms, out=np.zeros_like(mean), where=norms > 0)


def plan_query(query: str) -> PlannedQuery:
    """Split a query into what is to be embedded and searched."""
    return PlannedQuery(query, split_needs(query))


def rank_rows(
    query: PlannedQuery,
    vectors: Vectors | None,
    *,
    matrix: MatrixSnapshot,
    lexical: LexicalSnapshot,
    k: int,
    rows: Rows | None = None,
    scripts: frozenset[str] | None = None,
    calibration: Calibration = UNCALIBRATED,
    min_confidence: float = 0.0,
    cosines: Floats | None = None,
) -> RankedRows:
    """The k best live rows for one query.

    `vectors`: (1 + needs, d) unit rows of `query.texts`, or None to rank by words alone. `matrix` and `lexical` number
    their rows alike. `rows`: the only rows to be found (sorted, distinct); None: every live row. `scripts`: those the
    encoder reads; None: all. `cosines`: (1 + needs, n) of the vectors with every row, where they are known. Rows that
    match neither by word nor by meaning are left out, and those below `min_confidence`.
    """
    seen = _seen_rows(matrix, rows)
    if scripts is not None and unread_share(query.text, scripts) > MAX_UNREAD_SHARE:
        vectors = None
    matches = lexical.match(query.text)
    words = seen.of(matches.scores())
    dense = _dense(matrix, vectors, seen, cosines) if vectors is not None else [None] * len(query.texts)
    cosine = dense[0]
    fused = fuse(words, cosine, _words_share(matches, words, lexical, seen))
    if query.needs:
        share = needs_weight(len(query.needs))
        parts = _score_needs(query.needs, dense[1:], lexical, seen)
        fused = np.asarray((1 - share) * fused + share * parts, dtype=np.float32)
    if seen.dead is not None:
        np.copyto(fused, np.float32(-1), where=seen.dead)
    best = block_top_k(fused, max(k, LEAD_OVER + 1))
    scores = fused[best]
    rival = max(scores[LEAD_OVER], np.float32(0)) if len(best) > LEAD_OVER else np.float32(0)
    found = scores[:k] > 0
    best, scores = best[:k][found], scores[:k][found]
    located = best if seen.rows is None else seen.rows[best]
    coverage = matches.coverage(located)
    top_cosine = cosine[best] if cosine is not None else None
    margin = margins(coverage, top_cosine, scores - rival, words[best])
    threshold = calibration.threshold(query.text)
    confidence = confidences(margin, threshold)
    sure = slice(None) if min_confidence <= 0 else confidence >= min_confidence
    return RankedRows(
        rows=located[sure],
        scores=scores[sure],
        margins=margin[sure],
        confidence=confidence[sure],
        weak=(margin < threshold)[sure],
        cosine=(top_cosine if top_cosine is not None else np.zeros_like(scores))[sure],
        coverage=coverage[sure],
        matches=matches,
    )


def calibrate(embedder: Embedder | None, *, matrix: MatrixSnapshot, lexical: LexicalSnapshot) -> Calibration:
    """Ask a catalog what nothing in it serves, and set its thresholds by the answers. Raises: EmbeddingError.

    Some 240 searches: a quarter of a second at 10,000 tools.
    """
    requests = foreign_requests()
    vectors = embedder.embed_queries(requests) if embedder is not None else None
    best: dict[str, float] = {}
    for number, request in enumerate(requests):
        own = vectors[number : number + 1] if vectors is not None else None
        found = rank_rows(PlannedQuery(request), own, matrix=matrix, lexical=lexical, k=1)
        best[request] = float(found.margins[0]) if len(found.margins) else 0.0
    return calibration_from(best)


def search_rows(
    query: str,
    embedder: Embedder | None,
    *,
    matrix: MatrixSnapshot,
    lexical: LexicalSnapshot,
    k: int,
    rows: Rows | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> RankedRows:
    """Plan, embed and rank one query. Raises: EmbeddingError."""
    planned = plan_query(query)
    vectors = embedder.embed_queries(planned.texts) if embedder is not None else None
    return rank_rows(planned, vectors, matrix=matrix, lexical=lexical, k=k, rows=rows, calibration=calibration)


class _SeenRows(NamedTuple):
    """What a search may find. `rows`: only these, all live; None: every row that is not `dead` (None: all live)."""

    rows: Rows | None
    dead: Bools | None = None

    def of(self, values: Floats) -> Floats:
        """Of (n,) values those of the rows; all of them, the dead ones' too, where there is no list of rows."""
        return values if self.rows is None else values[self.rows]


def _seen_rows(matrix: MatrixSnapshot, rows: Rows | None) -> _SeenRows:
    if matrix.live == matrix.n_rows:
        return _SeenRows(rows)
    dead = matrix.penalty < 0
    return _SeenRows(None, dead) if rows is None else _SeenRows(rows[~dead[rows]])


def _words_share(matches: LexicalMatches, words: Floats, lexical: LexicalSnapshot, seen: _SeenRows) -> float:
    if len(words) == 0:
        return 0.0
    best = int(words.argmax())
    coverage = matches.coverage_of(best if seen.rows is None else int(seen.rows[best]))
    return words_share(float(words[best]), coverage, lexical.rarest_idf)


def _dense(matrix: MatrixSnapshot, vectors: Vectors, seen: _SeenRows, cosines: Floats | None) -> list[Floats | None]:
    """(m,) cosines of the rows seen, for each vector; None for a zero one: the encoder knows nothing of that text."""
    known = [bool(vector.any()) for vector in vectors]
    if seen.rows is not None and len(seen.rows) < _GATHER_SHARE * matrix.n_rows:
        return [
            matrix.scores(vector, seen.rows) if is_known else None
            for vector, is_known in zip(vectors, known, strict=True)
        ]
    if cosines is None:
        one = len(vectors) == 1
        cosines = matrix.scores(vectors[0])[None] if one else batch_scores(matrix.vectors, vectors)
    if seen.dead is not None:
        # Dead rows must not stretch the scale that the others are put on: they stand where some live row does.
        np.copyto(cosines, cosines[:, seen.dead.argmin(), None], where=seen.dead)
    return [seen.of(cosine) if is_known else None for cosine, is_known in zip(cosines, known, strict=True)]


def _score_needs(
    needs: tuple[str, ...],
    dense: Sequence[Floats | None],
    lexical: LexicalSnapshot,
    seen: _SeenRows,
) -> Floats:
    """(m,) the best any need says of each row seen; a need that matches few words says less."""
    matches = [lexical.match(need) for need in needs]
    words = [seen.of(found.scores()) for found in matches]
    tops = [float(scores.max(initial=0.0)) for scores in words]
    best_top = max(tops) or 1.0
    best = np.zeros_like(words[0])
    for found, scores, top, cosine in zip(matches, words, tops, dense, strict=True):
        fused = fuse(scores, cosine, _words_share(found, scores, lexical, seen))
        np.maximum(best, fused * np.float32(0.5 + 0.5 * top / best_top), out=best)
    return best
