"""How lexical and dense scores become one order; pure functions on stated arrays.

What each step is worth, and what was tried without gain: design/retrieval.md.
"""

import re
import unicodedata
from collections.abc import Collection, Hashable, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from indexer import arabic
from indexer.document import identifier_parts

Floats: TypeAlias = npt.NDArray[np.float32]
Item = TypeVar("Item", bound=Hashable)

MAX_NEEDS: Final = 10
MIN_NEED_WORDS: Final = 3
MAX_UNREAD_SHARE: Final = 0.3
"""More of a query than this in scripts an encoder does not read, and words alone decide."""

CONTEXT_WEIGHT: Final = np.float32(0.4)
"""What the user said, beside 1 for the query that a model made of it; design/retrieval.md, "The conversation"."""
DEED_WORDS: Final = 15
"""A longer request asks for more than it names: the last of its steps may undo what the first has made."""
USED_BONUS: Final = np.float32(0.1)
"""For tools of a namespace that the conversation has used; design/retrieval.md, "The conversation"."""
LOOKED_AT_AGAIN: Final = 16
"""The best rows whose tokens are compared with those of the query; as good as all of them."""
COVERED_AGAIN: Final = np.float32(0.15)
"""What a query all of whose words are covered adds there; design/retrieval.md, "Tokens again"."""

_ARABIC_FORMS: Final = re.compile("[\ufb50-\ufdff\ufe70-\ufefc]+")
_SELECT: Final = re.compile(r"\s*select\s*:(.*)", re.IGNORECASE | re.DOTALL)
LEAST_SPREAD: Final = 0.25
# Cosines of a handful of tools may differ by chance alone: stretched to the whole scale, a difference of .02 would
# outweigh a word that matches. Catalogs of a hundred tools and more spread wider than this for any query.

_BELOW: Final = np.float32(1e-3)
"""Of the scale for each unit of cosine where it does not reach: a row there has an order, and no other weight."""

HALF_EVIDENCE: Final = 3.0
"""So many words that a single tool holds, each of weight 1, speak for a match half as much as words ever can."""
PARTLY_COVERED: Final = 0.6
"""The share that words have, of what they have where all of a query is covered, as coverage falls to nothing."""
READ_COVERAGE: Final = 0.1
"""With less of the query covered than this (a query in another language than the catalog) words fade away."""

_SENTENCE_END: Final = re.compile(
    # Breaks from the first white space on: looked for from each one, a row of spaces takes time with its square.
    r"(?<=[.!?…؟۔])[\"'”’»)\]]*\s+(?=\S)|(?<=[。！？｡])[」』”’）]*|[;；؛]\s*|(?<!\s)\s*\n\s*"
)
_UNSPACED_LETTERS: Final = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_WORDS: Final = re.compile(rf"(?:[^\W_]|[{arabic.MARKS}])+")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|no|st|approx)|\b[A-Za-zء-ي])\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION: Final = 16
"""Characters of a text's end in which one stands, and what is before it."""
_WRITTEN_AS_NAME: Final = re.compile(r"[_.\-/:]|[a-z][A-Z]")
"""A separator, or a capital inside."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][\w.\-/:]*[A-Za-z0-9]", re.ASCII)


class Stretch(NamedTuple):
    """Puts values between two known ones on a scale from 0 to 1: `(value - low) * factor`."""

    low: np.float32
    factor: np.float32
    open_below: bool = False
    """Whether cosines may lie below `low`: they come out just above 0, in their order."""

    def of(self, values: Floats) -> Floats:
        """Of two values the higher one never comes out lower."""
        stretched = values - self.low
        stretched *= self.factor
        if self.open_below:
            floor = values + 1
            floor *= _BELOW
            np.maximum(stretched, floor, out=stretched)
        return stretched


def stretch_between(
    low: np.float32, high: np.float32, least_spread: float = 0.0, *, open_below: bool = False
) -> Stretch:
    """As if low and high lay at least `least_spread` apart; everything to 0 where they are equal."""
    if not high > low:
        return Stretch(low, np.float32(0))
    return Stretch(low, np.float32(1 / max(high - low, least_spread)), open_below)


def fuse(lexical: Floats, top: np.float32, meaning: Floats | None, share: float) -> Floats:
    """(n,) scores 0..1: `share * lexical / top + (1 - share) * meaning`.

    `lexical`: BM25F scores. `top`: the highest of all rows, these or others. `meaning`: cosines on their scale, or None
    where there is no vector. Where no word matches the meaning stands alone, and the other way round. Weighted sum
    against rank fusion: design/retrieval.md, "Fusion".
    """
    if top <= 0:
        return lexical if meaning is None else meaning
    words = np.asarray(lexical / top, dtype=np.float32)
    if meaning is not None:
        words *= share
        words += (1 - share) * meaning
    return words


def words_share(score: float, coverage: float, rarest_idf: float) -> float:
    """What share, 0 to 1, words have in a query's fused scores: as much as the best match by words has to show.

    `score`: its BM25F score. `coverage`: share of the query's idf mass that stands in it. `rarest_idf`: of a word that
    a single tool holds, the unit of evidence, so that catalogs of any size are alike.
    """
    evidence = score / (score + HALF_EVIDENCE * rarest_idf) if score > 0 else 0.0
    return min(1.0, coverage / READ_COVERAGE) * (PARTLY_COVERED + (1 - PARTLY_COVERED) * coverage) * evidence


def composed(text: str) -> str:
    """A text in one encoding of each letter: some keyboards and file names part letters from their accents, and pages
    of print hold Arabic letters in the forms they take.

    The rest of what NFKC changes stays: needs are parted at the stops of Chinese and Japanese.
    """
    if text.isascii():
        return text
    return _ARABIC_FORMS.sub(_compatible, unicodedata.normalize("NFC", text))


def _compatible(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", found.group())


def split_needs(query: str) -> tuple[str, ...]:
    """The sentences of a task of several, each long enough to be a need; empty for a single one.

    Reads English, Korean, Chinese, Japanese and Arabic stops, semicolons and line breaks; at most `MAX_NEEDS`.
    """
    if _SENTENCE_END.search(query) is None:
        return ()
    sentences = _sentences(query)
    if len(sentences) < 2:
        return ()
    needs = tuple(sentence for sentence in sentences if length_in_words(sentence) >= MIN_NEED_WORDS)
    return needs[:MAX_NEEDS] if len(needs) > 1 else ()


def needs_weight(needs: int) -> float:
    """What share of the final score the needs have: 0.15 each, half at most."""
    return min(0.5, 0.15 * needs)


def parse_select(query: str) -> tuple[str, ...]:
    """The names of `select:a,b`, or none for any other query."""
    found = _SELECT.fullmatch(query)
    if found is None:
        return ()
    return tuple(dict.fromkeys(name for part in found[1].split(",") if (name := part.strip())))


def canonical_name(name: str) -> str:
    """One form for `getWeather`, `get_weather`, `get-weather` and `Get Weather`."""
    return "".join(identifier_parts(unicodedata.normalize("NFKC", name))).casefold()


def name_candidates(query: str) -> tuple[str, ...]:
    """What in a query may be the exact name of a tool: the whole of it, then words written as identifiers are.

    Words in capitals are left out: on development queries a tool named `api` or `create` was hardly ever what `API`
    or `CREATE` meant, while words with a separator or a capital inside named a needed tool nine times in ten.
    """
    whole = query.strip().strip("`\"'")
    if _WRITTEN_AS_NAME.search(query) is None:
        return (whole,) if whole else ()
    written = (word for word in _IDENTIFIER.findall(query) if _WRITTEN_AS_NAME.search(word))
    return tuple(dict.fromkeys(name for name in (whole, *written) if name))


def share_places(
    ranked: Sequence[Sequence[Item]], k: int, already_found: Collection[Item] = frozenset()
) -> list[tuple[Item, int]]:
    """Up to k (item, query number): the queries' best in turn, no item twice, items already found last."""
    if len(ranked) == 1 and not already_found:
        return [(item, 0) for item in islice(dict.fromkeys(ranked[0]), k)]
    fresh = [[item for item in items if item not in already_found] for items in ranked]
    known = [[item for item in items if item in already_found] for items in ranked]
    places: dict[Item, int] = {}
    for lists in (fresh, known):
        for rank in range(max((len(items) for items in lists), default=0)):
            for query, items in enumerate(lists):
                if rank < len(items):
                    places.setdefault(items[rank], query)
    return list(places.items())[:k]


def worth_showing(scores: Floats, share: float) -> int:
    """How many of (n,) scores, best first, come near enough to the best to be handed out; at least one of any.

    What each share costs and saves: design/retrieval.md, "Adaptive k".
    """
    return max(1, int(np.count_nonzero(scores >= share * scores[0]))) if len(scores) else 0


def script_of(letter: str) -> str:
    """The script of a letter by its Unicode name: `latin`, `hangul`, `cjk`, …"""
    return unicodedata.name(letter, "unknown").split(" ", 1)[0].split("-", 1)[0].lower()


def unread_share(query: str, scripts: frozenset[str]) -> float:
    """Share of a query's letters that stand in other scripts than these, 0 to 1."""
    letters = [letter for letter in query if letter.isalpha()]
    unread = sum(script_of(letter) not in scripts for letter in letters)
    return unread / len(letters) if letters else 0.0


def _sentences(query: str) -> list[str]:
    sentences: list[str] = []
    joined = ""
    for piece in _SENTENCE_END.split(query):
        joined = f"{joined} {piece}".strip() if joined else piece.strip()
        if not _ABBREVIATION.search(joined[-_LONGEST_ABBREVIATION:]):
            sentences.append(joined)
            joined = ""
    return [sentence for sentence in (*sentences, joined) if sentence]


def length_in_words(sentence: str) -> float:
    """Words; of scripts written without spaces, two characters count as one."""
    if sentence.isascii():
        return len(_WORDS.findall(sentence))
    unspaced = len(_UNSPACED_LETTERS.findall(sentence))
    return len(_WORDS.findall(_UNSPACED_LETTERS.sub(" ", sentence))) + unspaced / 2
