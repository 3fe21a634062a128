"""What kind of deed a request asks the scripted model for; the kinds are those that search knows."""

import re
from typing import Final

from indexer import DEEDS, DeedMask, deeds_named

_READ: Final[DeedMask] = 1 << DEEDS.index("read")
_ASKS: Final = re.compile(r"\s*(?:which|what|who|where|when|how|show|list|tell)\b")


def deeds_of_request(request: str) -> DeedMask:
    """The kinds of deed that the words of a request name; 0 for one that names none."""
    # "Show me how to delete" asks to be shown, and so do "how much" and "which"; but "make … and tell …" does make.
    return _READ if _ASKS.match(request.casefold()) else deeds_named(request)
