"""Terms by number, and which terms the chunks of text hold that come again and again."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.lexical.tokens import read

_KNOWN_CHARACTERS: Final = 1 << 21
"""Of the chunks whose terms are remembered: some 130,000 of them, 20 MB."""


class ChunkTerms(NamedTuple):
    """The terms of several chunks: (t,) int32 one chunk's after the other's, (chunks,) int64 how many each has."""

    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]


class _KnownChunks(dict[str, int]):
    """The places of chunks whose terms are known; asked for another, it learns it: what is known is found in C.

    `counts` and `starts` (int64): how many terms the chunk at each place has, and from where on they lie in `terms`
    (int32).
    """

    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__()
        self._numbers = numbers
        self.characters = 0
        self.counts, self.starts, self.terms = array("q"), array("q"), array("i")

    def __missing__(self, chunk: str) -> int:
        numbers = self._numbers
        terms = [numbers.setdefault(term, len(numbers)) for term, _ in read(chunk)]
        self.counts.append(len(terms))
        self.starts.append(len(self.terms))
        self.terms.extend(terms)
        self.characters += len(chunk)
        self[chunk] = place = len(self)
        return place


class Vocabulary:
    """Numbers for terms; one writer. Readers look into `numbers`, which only grows."""

    def __init__(self, terms: Iterable[str] = (), *, known_characters: int = _KNOWN_CHARACTERS) -> None:
        """`known_characters`: of chunks that are remembered; beyond that they are learnt anew."""
        self._known_characters = known_characters
        self.numbers: dict[str, int] = {term: number for number, term in enumerate(terms)}
        self._known = _KnownChunks(self.numbers)

    def copy(self) -> "Vocabulary":
        """The same numbers in a vocabulary that goes its own way."""
        return Vocabulary(self.numbers)

    def terms_of(self, chunks: Sequence[str]) -> ChunkTerms:
        """The terms of chunks of text, new ones numbered in the order in which they come."""
        if self._known.characters > self._known_characters:
            self._known = _KnownChunks(self.numbers)
        known = self._known
        places = np.fromiter(map(known.__getitem__, chunks), dtype=np.int64, count=len(chunks))
        counts: npt.NDArray[np.int64] = np.asarray(known.counts)[places]
        starts: npt.NDArray[np.int64] = np.asarray(known.starts)[places]
        # Of each term its place in `known.terms`: where its chunk starts there, and how far into the chunk it is.
        shift = (starts - counts.cumsum() + counts).repeat(counts)
        return ChunkTerms(np.asarray(known.terms)[shift + np.arange(len(shift))], counts)
