"""Documentation as it is published, brought to plain, bounded text."""

import html
import re
from functools import lru_cache
from typing import Final

ELLIPSIS: Final = "..."

_DROPPED = re.compile(r"<(script|style|important-note-title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_ITEM = re.compile(r"\s*<li\b[^>]*>\s*(?:<p>)?\s*", re.IGNORECASE)
_BREAK = re.compile(
    r"\s*</?(?:p|div|br|ul|ol|dl|dt|dd|h\d|note|table|tr|pre|important|fullname)\b[^>]*>\s*", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]+")
_LINES = re.compile(r"\s*\n\s*")
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ufe00-\ufe0f\ud800-\udfff\U000e0000-\U000e01ef]"
)


@lru_cache(maxsize=8_192)
def plain_text(markup: str, limit: int) -> str:
    """HTML or text -> plain text of at most `limit` characters, cut at a sentence or word and marked '...'."""
    # Far more than could be kept is not worth converting: single documents hold 50,000 characters.
    text = markup[: 4 * limit + 400]
    if "<" in text:
        text = _DROPPED.sub(" ", text)
        text = _ITEM.sub("\n- ", text)
        text = _BREAK.sub("\n", text)
        text = _TAG.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    text = _LINES.sub("\n", _SPACES.sub(" ", visible(text))).strip()
    if len(markup) > 4 * limit + 400 and len(text) <= limit:
        return shorten(text + " " + "x" * limit, limit)
    return shorten(text, limit)


def visible(text: str) -> str:
    """The text without characters that no reader sees."""
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", text)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters: whole sentences if they fill half of it, else whole words; '...' says it was cut."""
    if len(text) <= limit:
        return text
    room = text[: limit - len(ELLIPSIS) - 1]
    sentence = max(room.rfind(". "), room.rfind(".\n"), room.rfind("\n"))
    if sentence > limit // 2:
        return f"{room[: sentence + 1].rstrip()} {ELLIPSIS}"
    word = room.rfind(" ")
    return (room[:word] if word > limit // 2 else room).rstrip(" ,;:") + ELLIPSIS
