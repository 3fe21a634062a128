"""Terms by number, and which terms the chunks of text hold that come again and again."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.columns import Column
from indexer.lexical.tokens import read

_KNOWN_CHARACTERS: Final = 1 << 21
"""Of the chunks whose terms are remembered: some 130,000 of them, 20 MB."""


class ChunkTerms(NamedTuple):
    """The terms of several chunks: (t,) int32 one chunk's after the other's, (chunks,) int64 how many each has."""

    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]


class Vocabulary:
    """Numbers for terms; one writer. Readers look into `numbers`, which only grows."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self.numbers: dict[str, int] = {term: number for number, term in enumerate(terms)}
        self._forget()

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._characters = 0
        self._starts = Column(np.empty(0, dtype=np.int64))
        self._counts = Column(np.empty(0, dtype=np.int64))
        self._terms = Column(np.empty(0, dtype=np.int32))

    def copy(self) -> "Vocabulary":
        """The same numbers in a vocabulary that goes its own way."""
        return Vocabulary(list(self.numbers))

    def terms_of(self, chunks: Sequence[str]) -> ChunkTerms:
        """The terms of chunks of text, new ones numbered in the order in which they come."""
        if self._characters > _KNOWN_CHARACTERS:
            self._forget()
        places = list(map(self._places.get, chunks))
        where = np.array(self._learn(chunks, places) if None in places else places, dtype=np.int64)
        counts = self._counts.view()[where]
        ends = np.cumsum(counts)
        # Of each term its place in `_terms`: where its chunk starts there, and how far into the chunk it is.
        shift = np.repeat(self._starts.view()[where] - ends + counts, counts)
        return ChunkTerms(self._terms.view()[shift + np.arange(len(shift))], counts)

    def _learn(self, chunks: Sequence[str], places: list[int | None]) -> list[int]:
        """Remember the chunks that have no place yet; the places of all of them."""
        known, numbers = self._places, self.numbers
        terms: list[int] = []
        counts: list[int] = []
        found: list[int] = []
        for chunk, place in zip(chunks, places, strict=True):
            if place is None and (place := known.get(chunk)) is None:
                place = known[chunk] = len(known)
                before = len(terms)
                terms += [numbers.setdefault(term, len(numbers)) for term, _ in read(chunk)]
                counts.append(len(terms) - before)
                self._characters += len(chunk)
            found.append(place)
        self._starts.extend(len(self._terms) + np.cumsum(counts) - counts)
        self._counts.extend(np.array(counts, dtype=np.int64))
        self._terms.extend(np.array(terms, dtype=np.int32))
        return found
