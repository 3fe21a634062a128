"""Characters that no reader sees: a name or a text that holds one says something else than it shows."""

import re
import unicodedata
from typing import Final

INVISIBLE: Final = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # control characters, ANSI escapes among them
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides and isolates
    "\u00ad\u180e\u200b\u2060-\u2065\ufeff"  # no width
    "\ufff9-\ufffb"  # interlinear annotation
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff]"  # halves of surrogate pairs
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"  # runs of variation selectors can carry bytes
    "|(?<=[\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?=[\u0000-\u007f])"  # joiners join nothing in ASCII
)
_MAY_HIDE: Final = re.compile(
    "[\u007f-\u009f\u00ad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]"
)
"""Every character of `INVISIBLE` that JSON text holds as it is, whatever stands beside it: found in a tenth of the
time."""
_ESCAPED: Final = re.compile(rb"\\[bfu]")
LINE_BREAKING: Final = re.compile("[\t\n\r\u2028\u2029\u200e\u200f\u061c\u200c\u200d]")
"""Beside `INVISIBLE`, what a name may not hold but a text may."""

_WITHOUT_WIDTH: Final = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u00ad\u180e\u2060\ufeff]")
"""Marks of direction, and others that stand for nothing beside or inside words; keyboards and copied pages add them."""


def without_marks(text: str) -> str:
    """A text as it is seen: without marks of direction, with a space where an invisible one parts words."""
    return text if text.isascii() else _WITHOUT_WIDTH.sub("", text).replace("\u200b", " ")


def is_plain(data: bytes) -> bool:
    """Whether JSON text surely has no invisible character: those of ASCII are escaped, or DEL."""
    return not _ESCAPED.search(data) and not (
        _MAY_HIDE.search(data.decode()) if not data.isascii() else b"\x7f" in data
    )


def named_character(character: str) -> str:
    """What is wrong with a text that holds an invisible character, for an error."""
    code = ord(character[0])
    return (
        f"contains U+{code:04X} ({unicodedata.name(character[0], 'control character').lower()}), which no reader sees"
    )
