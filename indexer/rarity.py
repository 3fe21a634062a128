"""How rare words are in a catalog on a server: asked in the same request as the query that needs it, and remembered."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import log1p
from typing import TYPE_CHECKING, Any, Final, cast, final

from indexer.glossary import with_english_names
from indexer.lexical.tokens import surfaces
from indexer.sparse import hashed
from indexer.stores.payload import WORDS

if TYPE_CHECKING:
    from qdrant_client.http.models import ScoredPoint

MOST_ASKED: Final = 128
"""Words that one request asks for; those beyond weigh nothing in it, and are asked for by the next."""


@final
class Rarities:
    """Remembers idf by hashed term, as the server weighs it; used in one thread."""

    def __init__(self) -> None:
        self._idf: dict[int, float | None] = {}

    def __len__(self) -> int:
        return len(self._idf)

    def unknown(self, texts: Iterable[str], most: int = MOST_ASKED) -> list[int]:
        """Hashed terms of the texts that are to be asked for."""
        terms = dict.fromkeys(hashed(term) for text in texts for term in terms_of(text))
        return list(islice((term for term in terms if term not in self._idf), most))

    def learn(self, terms: Sequence[int], answers: "Sequence[Sequence[ScoredPoint]]") -> None:
        """Take what the queries of `qdrant_query.rarity_query` gave: a score is idf times the weight in the point."""
        for term, points in zip(terms, answers, strict=True):
            # Rounded, so that words that are equally rare come out equal.
            self._idf[term] = round(points[0].score / _weight(points[0], term), 4) if points else None

    def of(self, texts: Iterable[str], tools: int) -> Mapping[str, float]:
        """The idf of each term of the texts that is known; a word that no tool holds has the highest."""
        nowhere = log1p((tools + 0.5) / 0.5)
        known = {term: hashed(term) for text in texts for term in terms_of(text)}
        found = {term: self._idf[number] for term, number in known.items() if number in self._idf}
        return {term: nowhere if idf is None else idf for term, idf in found.items()}


def terms_of(text: str) -> Iterable[str]:
    """The distinct terms that a search looks for."""
    return surfaces(with_english_names(text))


def _weight(point: "ScoredPoint", term: int) -> float:
    words = cast("dict[str, Any]", point.vector)[WORDS]
    return float(words.values[words.indices.index(term)])
