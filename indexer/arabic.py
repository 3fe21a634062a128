"""Arabic words in one spelling, and their stems.

Spelling varies with the writer (hamza, dots of final letters, vowel signs, digits); what is folded is what users leave
out. Stems after "light10" of Larkey, Ballesteros and Connell, "Light Stemming for Arabic Information Retrieval" (2007).
"""

import re
from functools import lru_cache
from typing import Final

MARKS: Final = r"\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0640"
"""Vowel signs and the stroke that makes words longer: inside a character class."""
LETTERS: Final = (
    r"\u0620-\u063f\u0641-\u064a\u066e\u066f\u0671-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0750-\u077f\u08a0-\u08b4"
)
"""Letters of Arabic and of the languages that share its script: inside a character class."""

_ARABIC: Final = re.compile(rf"[{MARKS}{LETTERS}\u0660-\u0669\u06f0-\u06f9]")
_WRITTEN: Final = "أإآٱىةئؤیکہھڤ" + "٠١٢٣٤٥٦٧٨٩" + "۰۱۲۳۴۵۶۷۸۹"
_FOLDED: Final = "اااايهيويكههف" + "0123456789" * 2
_MARKS_LEFT_OUT: Final = re.compile(rf"[{MARKS}]+")
_FOLD: Final = str.maketrans(_WRITTEN, _FOLDED)
# Persian and Urdu words have other endings; those with a letter of their own stay whole.
_ARABIC_WORD: Final = re.compile(r"[\u0621-\u063a\u0641-\u064a]+")

_ARTICLES: Final = ("ال", "بال", "كال", "فال", "لل")
_ENDINGS: Final = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_LEAST_LEFT: Final = 2
"""Letters that an article or an ending must leave; the conjunction in front must leave one more."""

_STOP_TEXT: Final = """
    و ب ل ك ف من في على إلى عن مع بين منذ حتى خلال ضمن لدى عند عندي عندنا أن إن لأن لكن أو أم ثم قد لقد سوف لم لن لا ليس
    ما ماذا هل أي أية كيف لماذا متى أين هذا هذه هذان هؤلاء ذلك تلك الذي التي الذين اللي هو هي هم نحن أنا أنت كان كانت
    يكون تكون لي لنا له لها لهم لك بي به بها فيه فيها منه منها عليه عليها إليه إليها كل بعض غير كما إذا لو كي لكي عندما
    حيث أيضا فقط جدا الآن هنا هناك يا أريد أرغب أود أحتاج نحتاج نريد أرجو رجاء فضلك سمحت ممكن يمكن يمكنك أستطيع هلا
    ابي أبغى ابغا نبغى بدي عايز عايزة عاوز محتاج شو ايش وش ليش وين اللى دي ده دا مش مو علشان عشان حق بتاع تبع
    """


def is_arabic(text: str) -> bool:
    """Whether anything in a text is written in Arabic letters or digits."""
    return not text.isascii() and _ARABIC.search(text) is not None


def folded(text: str) -> str:
    """A text in one spelling: no vowel signs, one alef, final letters without their choice of dots, ASCII digits.

    Other scripts stay as they are.
    """
    return _MARKS_LEFT_OUT.sub("", text).translate(_FOLD) if is_arabic(text) else text


STOP_WORDS: Final = frozenset(folded(_STOP_TEXT).split())
"""In their folded spelling."""


def is_stop_word(word: str) -> bool:
    """Whether a folded word, with `and` before it or without, says nothing of what a request is about."""
    return word in STOP_WORDS or word.removeprefix("و") in STOP_WORDS


@lru_cache(maxsize=1 << 14)
def bare(word: str) -> str:
    """A folded word without the conjunction, preposition and article that are written as part of it."""
    if word.startswith("و") and len(word) > _LEAST_LEFT + 1:
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + _LEAST_LEFT:
            return word[len(article) :]
    return word


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """Light stem of a folded word: `bare`, and without the endings of plural, feminine and pronoun."""
    if not _ARABIC_WORD.fullmatch(word):
        return word
    word = bare(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _LEAST_LEFT:
            word = word[: -len(ending)]
    return word
