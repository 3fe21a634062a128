"""Documentation as it is published, brought to plain, bounded text."""

import html
import re
from functools import lru_cache
from typing import Final

ELLIPSIS: Final = "..."

_DROPPED = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_ITEM = re.compile(r"<li\b[^>]*>\s*(?:<p>)?")
_BREAK = re.compile(
    r"\s*</?(?:p|div|br|ul|ol|dl|dt|dd|h\d|note|table|tr|pre|important|fullname)\b[^>]*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ufe00-\ufe0f\ud800-\udfff\U000e0000-\U000e01ef]"
)


@lru_cache(maxsize=8_192)
def plain_text(markup: str, limit: int) -> str:
    """HTML or text -> plain text of at most `limit` characters, cut at a sentence or word and marked '...'."""
    # Far more than could be kept is not worth converting: single documents hold 50,000 characters.
    kept = 3 * limit + 400
    text = _without_tags(markup[:kept]) if "<" in markup else markup[:kept]
    if "&" in text:
        text = html.unescape(text)
    lines = (" ".join(line.split()) for line in visible(text).split("\n"))
    text = "\n".join(line for line in lines if line)
    return shorten(text, limit) if len(markup) <= kept or len(text) > limit else f"{text} {ELLIPSIS}"


def _without_tags(text: str) -> str:
    if "<!--" in text or "<script" in text or "<style" in text:
        text = _DROPPED.sub(" ", text)
    if "<li" in text:
        text = _ITEM.sub("\n- ", text)
    return _TAG.sub("", _BREAK.sub("\n", text))


def visible(text: str) -> str:
    """The text without characters that no reader sees."""
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", text.replace("\r", "\n"))


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
