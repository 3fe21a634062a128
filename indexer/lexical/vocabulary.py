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


class _KnownChunks(dict[str, int]):
    """The places of chunks whose terms are known; asked for another, it learns it: what is known is found in C."""

    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__()
        self._numbers = numbers
        self.characters = 0
        self.terms: list[int] = []
        self.counts: list[int] = []
        """Of the chunks that were learnt since these lists were last emptied."""

    def __missing__(self, chunk: str) -> int:
        numbers = self._numbers
        terms = [numbers.setdefault(term, len(numbers)) for term, _ in read(chunk)]
        self.terms += terms
        self.counts.append(len(terms))
        self.characters += len(chunk)
        self[chunk] = place = len(self)
        return place


class Vocabulary:
    """Numbers for terms; one writer. Readers look into `numbers`, which only grows."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self.numbers: dict[str, int] = {term: number for number, term in enumerate(terms)}
        self._forget()

    def _forget(self) -> None:
        self._places = _KnownChunks(self.numbers)
        self._starts = Column(np.empty(0, dtype=np.int64))
        self._counts = Column(np.empty(0, dtype=np.int64))
        self._terms = Column(np.empty(0, dtype=np.int32))

    def copy(self) -> "Vocabulary":
        """The same numbers in a vocabulary that goes its own way."""
        return Vocabulary(list(self.numbers))

    def terms_of(self, chunks: Sequence[str]) -> ChunkTerms:
        """The terms of chunks of text, new ones numbered in the order in which they come."""
        if self._places.characters > _KNOWN_CHARACTERS:
            self._forget()
        where = np.fromiter(map(self._places.__getitem__, chunks), dtype=np.int64, count=len(chunks))
        self._note_new()
        counts = self._counts.view()[where]
        ends = np.cumsum(counts)
        # Of each term its place in `_terms`: where its chunk starts there, and how far into the chunk it is.
        shift = np.repeat(self._starts.view()[where] - ends + counts, counts)
        return ChunkTerms(self._terms.view()[shift + np.arange(len(shift))], counts)

    def _note_new(self) -> None:
        known = self._places
        if known.counts:
            counts = np.array(known.counts, dtype=np.int64)
            self._starts.extend(len(self._terms) + np.cumsum(counts) - counts)
            self._counts.extend(counts)
            self._terms.extend(np.array(known.terms, dtype=np.int32))
            known.counts, known.terms = [], []
