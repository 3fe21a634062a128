"""From text to index terms, in any script.

Words are split as identifiers are, case-folded, stripped of Latin accents and stemmed (Snowball, chosen by script;
Arabic: `indexer.arabic`).
Scripts written without spaces become character n-grams: bigrams for Hangul and kana, single characters and bigrams
for Han. What each choice is worth: design/retrieval.md, "Tokens".
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Final, cast

import Stemmer

from indexer import arabic
from indexer.document import identifier_parts

_MAX_WORD: Final = 64
"""Characters of a word that count: hashes and base64 blobs never match anything."""
_CACHED_CHUNK: Final = 40
"""Longer chunks are rarely seen twice."""

_HAN: Final = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = r"\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL: Final = r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_UNSPACED: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer

_RUNS: Final = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<bigrams>[{_HANGUL}]+|[{_KANA}]+|[{_UNSPACED}]+)"
    rf"|(?P<number>\d+(?:\.\d+)+)|(?P<arabic>[{arabic.LETTERS}{arabic.MARKS}]+)"
    rf"|(?P<word>[^\W_{_HAN}{_KANA}{_HANGUL}{_UNSPACED}{arabic.LETTERS}{arabic.MARKS}]+)"
)
_POINTED_NUMBER: Final = re.compile(r"\d\.\d")
_STOP_TEXT: Final = """
    a about above after again all also am an and any are as at be because been before being between both but by can
    could did do does doing don down during each either else ever few for from further had has have having he help her
    here hers him his how however i if in into is it its itself just kindly let like ll may me might mine more most much
    must my myself need needs no nor not now of off on once one only onto or other our ours out over own per please re
    s same shall she should so some such t than thank thanks that the their theirs them then there these they this
    those through to too under until up upon us ve very via wanna want wants was we were what when where whether which
    while who whom whose why will wish with within without would yes you your yours d m doesn isn aren wasn didn won
"""
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
_KANA_PARTICLES: Final = frozenset("をはがにでともへのやかよねしてたな")


def tokenize(text: str) -> list[str]:
    """Terms of a text in order, repeats kept."""
    return [term for chunk in chunks(text) for term, _ in analyse(chunk)]


def surfaces(text: str) -> dict[str, str]:
    """Distinct terms of a query in order, each with the word it was written as."""
    found: dict[str, str] = {}
    for chunk in chunks(text):
        for term, surface in analyse(chunk):
            found.setdefault(term, surface)
    return found


def chunks(text: str) -> list[str]:
    """The text parted at white space, in compatibility form: the unit that `analyse` reads and callers cache."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).split()


def analyse(chunk: str) -> tuple[tuple[str, str], ...]:
    """The terms of one chunk, each with the word it was written as."""
    return _cached(chunk) if len(chunk) <= _CACHED_CHUNK else read(chunk)


@lru_cache(maxsize=1 << 15)
def _cached(chunk: str) -> tuple[tuple[str, str], ...]:
    return read(chunk)


def read(chunk: str) -> tuple[tuple[str, str], ...]:
    """As `analyse`, for callers that remember it themselves."""
    if not chunk.isascii() or len(chunk) > _MAX_WORD:
        return tuple(_runs(chunk))
    if chunk.isalpha() and chunk.islower():
        return _part_terms(chunk)
    if not ("." in chunk and _POINTED_NUMBER.search(chunk)):
        # All runs are words then, and end where the parts of identifiers end.
        return tuple([pair for part in identifier_parts(chunk) for pair in _part_terms(part)])
    return tuple(_runs(chunk))


def _runs(chunk: str) -> Iterator[tuple[str, str]]:
    for run in _RUNS.finditer(chunk):
        text = run.group()
        match run.lastgroup:
            case "han":
                yield from ((character, character) for character in text)
                yield from _bigrams(text)
            case "bigrams":
                if len(text) > 1:
                    yield from _bigrams(text)
                elif text not in _KANA_PARTICLES:
                    yield text, text
            case "number":
                yield arabic.folded(text), text
            case "arabic":
                yield from _arabic_terms(text)
            case _:
                yield from _word_terms(text)


def _bigrams(run: str) -> Iterator[tuple[str, str]]:
    for first, second in zip(run, run[1:], strict=False):
        yield first + second, first + second


def _arabic_terms(run: str) -> Iterator[tuple[str, str]]:
    word = arabic.folded(run[:_MAX_WORD])
    if word and not arabic.is_stop_word(word):
        yield arabic.stem(word), run[:_MAX_WORD]


def _word_terms(word: str) -> Iterator[tuple[str, str]]:
    for part in identifier_parts(without_accents(word[:_MAX_WORD])):
        yield from _part_terms(part)


@lru_cache(maxsize=1 << 15)
def _part_terms(part: str) -> tuple[tuple[str, str], ...]:
    """`s3` is one word; `address2` is that and `address` too."""
    term = arabic.folded(part.casefold())
    if term in STOP_WORDS:
        return ()
    if term.isalpha():
        return ((stem(term), part),)
    letters = term.rstrip("0123456789")
    if len(letters) > 2 and letters.isalpha():
        return (term, part), (stem(letters), part)
    return ((term, part),)


_LATIN_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "ı": "i"}
)


def without_accents(word: str) -> str:
    """Latin letters without their accents, in their case; other scripts keep theirs (Cyrillic `й` is a letter)."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word.translate(_LATIN_LETTERS))
    if not decomposed[0].isascii():
        return word
    return unicodedata.normalize("NFC", "".join(letter for letter in decomposed if not unicodedata.combining(letter)))


_STEMMERS: Final = (  # first and last code point of a script, and the Snowball language that reads it
    ("a", "ɏ", "english"),
    ("Ͱ", "Ͽ", "greek"),
    ("Ѐ", "ԯ", "russian"),
    ("԰", "֏", "armenian"),
    ("ऀ", "ॿ", "hindi"),
    ("஀", "௿", "tamil"),
)


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Snowball stem of a folded word; words of a script without a stemmer stay as they are."""
    stemmer = _stemmer(word[0])
    return stemmer(word) if stemmer is not None else word


def _stemmer(letter: str) -> Callable[[str], str] | None:
    for first, last, language in _STEMMERS:
        if first <= letter <= last:
            return _load_stemmer(language)
    return None


@cache
def _load_stemmer(language: str) -> Callable[[str], str]:
    # PyStemmer ships no type stubs; its own cache (the 0) is off, because `stem` has one.
    return cast(Callable[[str], str], Stemmer.Stemmer(language, 0).stemWord)  # pyright: ignore[reportUnknownMemberType]
