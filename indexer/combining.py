"""From what words and vectors say of each row to the best rows of a query: all of them read, or most left unread.

Every step from a cosine to a fused score is one that never turns an order round, in float32 too: so upper bounds of the
cosines give upper bounds of the fused scores, and rows whose bound lies below the k best need not be read. In the place
of bounds there may be estimates; then the best rows are most likely among those that are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from indexer.certified import CertifiedTopK, bounded_top_k, upper_bounds
from indexer.matrix import MatrixSnapshot
from indexer.ranking import CONTEXT_WEIGHT, LEAST_SPREAD, Stretch, fuse, needs_weight, stretch_between
from indexer.sign_bits import likely_top_k
from indexer.top_k import Floats, Rows, TopK, block_top_k, dot_scores, gathered_scores

Bools: TypeAlias = npt.NDArray[np.bool_]
Lows: TypeAlias = Sequence[np.float32 | None]
"""Of each text where the scale of its cosines begins; None: at the lowest of those that are seen."""
_Scalar = TypeVar("_Scalar", bound=np.generic)

_UNSEEN: Final = np.float32(-2.0)
"""Below every cosine."""


class BestRows(NamedTuple):
    """Places in the list of rows seen, best first, with their fused scores and the cosines of the whole query."""

    places: Rows
    scores: Floats
    cosines: Floats | None


class SeenRows(NamedTuple):
    """What a search may find. `rows`: only these, all live; None: every row that is not `dead` (None: all live)."""

    rows: Rows | None
    dead: Bools | None = None

    def of(self, values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Of (n,) values those of the rows; all of them, the dead ones' too, where there is no list of rows."""
        return values if self.rows is None else values[self.rows]

    def at(self, places: Rows) -> Rows:
        return places if self.rows is None else self.rows[places]


@dataclass(frozen=True, slots=True)
class TextScores:
    """What words say for one text: (m,) BM25F scores of the rows seen, the highest, and the share they have."""

    words: Floats
    top: np.float32
    share: float

    def fused(self, dense: Floats | None, stretch: Stretch, places: Rows | None) -> Floats:
        words = self.words if places is None else self.words[places]
        return fuse(words, self.top, None if dense is None else stretch.of(dense), self.share)


@dataclass(frozen=True, slots=True)
class QueryScores:
    """What words say for a query and for each of its needs, of the rows seen; and what else moves a row."""

    whole: TextScores
    needs: Sequence[TextScores]
    seen: SeenRows
    context: TextScores | None = None
    """For what the user said, where a search was told; its cosines come after those of the needs."""
    factors: Floats | None = None
    """(m,) above 0: what the deed of each row leaves of what speaks for it."""
    bonus: Floats | None = None
    """(m,) at least 0, added to the final scores."""

    def fused(self, dense: Sequence[Floats | None], stretches: Sequence[Stretch], places: Rows | None = None) -> Floats:
        """(m,) final scores of the rows seen, or of the places asked for; -1 for a dead row.

        `dense`: cosines of the same rows with the query and each need, None where there is no vector. A need that
        matches few words says less.
        """
        fused = self.whole.fused(dense[0], stretches[0], places)
        if self.needs:
            best_top = max(float(need.top) for need in self.needs) or 1.0
            parts = np.zeros_like(fused)
            for number, need in enumerate(self.needs, start=1):
                cosines, stretch = dense[number], stretches[number]
                weight = np.float32(0.5 + 0.5 * float(need.top) / best_top)
                np.maximum(parts, need.fused(cosines, stretch, places) * weight, out=parts)
            share = needs_weight(len(self.needs))
            fused = np.asarray((1 - share) * fused + share * parts, dtype=np.float32)
        fused = self._moved(fused, dense, stretches, places)
        if self.seen.dead is not None:
            dead = self.seen.dead if places is None else self.seen.dead[places]
            np.copyto(fused, np.float32(-1), where=dead)
        return fused

    def _moved(
        self, fused: Floats, dense: Sequence[Floats | None], stretches: Sequence[Stretch], places: Rows | None
    ) -> Floats:
        """By deed, by what the user said, and by what was used before; a higher score never comes out lower."""
        if self.factors is not None:
            fused = fused * _at(self.factors, places)
        if self.context is not None:
            said = self.context.fused(dense[-1], stretches[-1], places)
            fused = np.asarray((fused + CONTEXT_WEIGHT * said) / (1 + CONTEXT_WEIGHT), dtype=np.float32)
        if self.bonus is not None:
            fused = fused + _at(self.bonus, places)
        return fused


def _at(values: Floats, places: Rows | None) -> Floats:
    return values if places is None else values[places]


def best_rows(query: QueryScores, dense: Sequence[Floats | None], lows: Lows, k: int) -> BestRows:
    """The k best of the rows seen, from (m,) cosines of each of them."""
    stretches = [_stretch_over(cosines, low) for cosines, low in zip(dense, lows, strict=True)]
    fused = query.fused(dense, stretches)
    best = block_top_k(fused, k)
    return BestRows(best, fused[best], None if dense[0] is None else dense[0][best])


def best_rows_by_bounds(
    query: QueryScores, vectors: Sequence[Floats | None], lows: Lows, matrix: MatrixSnapshot, k: int
) -> BestRows | None:
    """As `best_rows`, the same rows and scores, from the head of the matrix; None where that would not be faster."""
    head = matrix.head
    if head is None:
        return None

    def bounds(vector: Floats) -> Floats:
        return upper_bounds(matrix.vectors, head, vector)

    return _best_rows_by(query, vectors, lows, matrix, k, bounds, bounded_top_k)


def best_rows_by_bits(
    query: QueryScores, vectors: Sequence[Floats | None], lows: Lows, matrix: MatrixSnapshot, k: int
) -> BestRows | None:
    """As `best_rows`, most of the same rows, from the sign bits of the matrix; None where it has none.

    Scores are exact for the rows that are found, but for the scale of the cosines, which ends at the highest of those
    that were worked out.
    """
    bits = matrix.bits
    if bits is None:
        return None

    def estimates(vector: Floats) -> Floats:
        return np.concatenate((bits.cosines(vector), dot_scores(matrix.vectors[bits.n_rows :], vector)))

    def find(estimates: Floats, exact: Callable[[Rows], Floats], k: int, *, above: float) -> TopK:
        return likely_top_k(estimates, exact, k, rescore=bits.rescore, above=above)

    return _best_rows_by(query, vectors, lows, matrix, k, estimates, find)


class _Find(Protocol):
    """The k best of (n,) scores above a value, of which there are bounds or estimates; None where it does not pay."""

    def __call__(
        self, known: Floats, exact: Callable[[Rows], Floats], k: int, /, *, above: float
    ) -> TopK | CertifiedTopK | None: ...


class _ReadText(NamedTuple):
    """One text's meaning: bounds or estimates of its cosines, and `scores`: those of some places, exactly; places that
    were not asked for before must be ascending."""

    known: Floats | None
    stretch: Stretch
    scores: Callable[[Rows], Floats] | None


def _best_rows_by(
    query: QueryScores,
    vectors: Sequence[Floats | None],
    lows: Lows,
    matrix: MatrixSnapshot,
    k: int,
    limits: Callable[[Floats], Floats],
    find: _Find,
) -> BestRows | None:
    texts: list[_ReadText] = []
    for vector, low in zip(vectors, lows, strict=True):
        if vector is None:
            texts.append(_NO_MEANING)
            continue
        # Without a `low` the scale begins at the lowest cosine, and to find that by bounds costs more than a scan.
        text = None if low is None else _read(vector, low, matrix, query.seen, limits(vector), find)
        if text is None:
            return None
        texts.append(text)
    stretches = [text.stretch for text in texts]

    def fused(places: Rows) -> Floats:
        cosines = [None if text.scores is None else text.scores(places) for text in texts]
        return query.fused(cosines, stretches, places)

    found = find(query.fused([text.known for text in texts], stretches), fused, k, above=0.0)
    if found is None:
        return None
    whole = texts[0].scores
    return BestRows(found.rows, found.scores, None if whole is None else whole(found.rows))


def _read(
    vector: Floats, low: np.float32, matrix: MatrixSnapshot, seen: SeenRows, limits: Floats, find: _Find
) -> _ReadText | None:
    """None where the bounds say too little, or no row is alive."""
    known = seen.of(limits)
    if seen.dead is not None:
        np.copyto(known, _UNSEEN, where=seen.dead)

    cosines = np.full(len(known), np.nan, dtype=np.float32)

    def scores(places: Rows) -> Floats:
        new = places[np.isnan(cosines[places])]
        if len(new):
            cosines[new] = gathered_scores(matrix.vectors, seen.at(new), vector)
        return cosines[places]

    def live_scores(places: Rows) -> Floats:
        return scores(places) if seen.dead is None else np.where(seen.dead[places], _UNSEEN, scores(places))

    highest = find(known, live_scores, 1, above=float(_UNSEEN))
    if highest is None or len(highest.scores) == 0:
        return None
    return _ReadText(known, _stretch_from(low, highest.scores[0]), scores)


_NO_STRETCH: Final = Stretch(np.float32(0), np.float32(0))
_NO_MEANING: Final = _ReadText(None, _NO_STRETCH, None)


def _stretch_over(cosines: Floats | None, low: np.float32 | None) -> Stretch:
    if cosines is None or len(cosines) == 0:
        return _NO_STRETCH
    if low is None:
        return stretch_between(np.minimum.reduce(cosines), np.maximum.reduce(cosines), LEAST_SPREAD)
    return _stretch_from(low, np.maximum.reduce(cosines))


def _stretch_from(low: np.float32, high: np.float32) -> Stretch:
    return stretch_between(min(low, high), high, LEAST_SPREAD, open_below=True)
