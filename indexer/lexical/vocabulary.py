"""Terms by number, and which terms the chunks of text hold that come again and again."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from indexer.lexical.tokens import read

_KNOWN_CHARACTERS: Final = 1 << 21
"""Of the chunks whose terms are remembered: some 130,000 of them, 25 MB."""
_AROUND_WORDS: Final = ".,;:()\"'`[]{}!?*<>"
_LONGEST_STRIPPED: Final = 64
"""Longer chunks are read by another rule than shorter ones."""


class _KnownChunks(dict[str, tuple[int, ...]]):
    """The terms of chunks; asked for one that it does not hold, it learns it: those that it holds are found in C."""

    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__()
        self._numbers = numbers
        self.characters = 0

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        numbers = self._numbers
        # Half of the new ones are known words with a comma: to look twice takes a quarter of reading.
        bare = chunk.strip(_AROUND_WORDS) if len(chunk) <= _LONGEST_STRIPPED and chunk.isascii() else chunk
        if bare != chunk:
            terms = self[chunk] = self[bare] if bare else ()
        else:
            terms = self[chunk] = tuple([numbers.setdefault(term, len(numbers)) for term, _ in read(chunk)])
        self.characters += len(chunk)
        return terms


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

    def terms_of(self, chunks: Iterable[str]) -> Iterator[int]:
        """The terms of chunks of text, new ones numbered in the order in which they come."""
        if self._known.characters > self._known_characters:
            self._known = _KnownChunks(self.numbers)
        return chain.from_iterable(map(self._known.__getitem__, chunks))
