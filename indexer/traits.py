"""What a search knows of a tool beside its words and meaning, in one small number a row.

Its deed, how many words its name has, and whether its owner calls it deprecated: of operations that a request fits
alike, it most likely means one that does the deed it names, the plain one (`DescribeInstances`, not
`DescribeInstanceCreditSpecifications`), and no deprecated one. What each is worth: design/retrieval.md, "Deeds" and
"Plain names".
"""

import re
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.deeds import DEEDS, DeedMask, conflicts, deeds_of_tool
from indexer.document import ToolDocument, identifier_parts

Floats: TypeAlias = npt.NDArray[np.float32]
Traits: TypeAlias = int
"""A deed mask, above it three bits of name length, above those one for a deprecated tool; fits in 16 bits."""

DEED_WEIGHT: Final = np.float32(0.12)
"""What a tool loses that undoes what is asked for."""
NAME_WORD_WEIGHT: Final = np.float32(0.01)
"""What a tool loses for each word of its name, up to `_MOST_WORDS`."""
DEPRECATED_WEIGHT: Final = np.float32(0.1)
"""What a deprecated tool loses."""

_MOST_WORDS: Final = 7
_LENGTH_BIT: Final = len(DEEDS)
_DEPRECATED_BIT: Final = _LENGTH_BIT + 3
_NOTICE: Final = 200
"""Characters of a description in which a tool would say that it is deprecated."""
_DEPRECATED: Final = re.compile(
    r"^\W*deprecated\b|\b(?:is|are|been|now) deprecated\b|\bdeprecated[:.)\]]|path to deprecation"
    r"|no longer (?:recommended|supported)",
    re.IGNORECASE,
)


def traits_of(document: ToolDocument) -> Traits:
    """The traits of one tool."""
    words = min(len(identifier_parts(document.name)), _MOST_WORDS)
    tagged = "deprecated" in document.tags.casefold().split("\n")
    deprecated = tagged or _says_deprecated(document.description[:_NOTICE])
    deeds = deeds_of_tool(document.name, document.description)
    return deeds | words << _LENGTH_BIT | deprecated << _DEPRECATED_BIT


def _says_deprecated(text: str) -> bool:
    folded = text.casefold()
    # One of these is in every notice, and to look for them takes a tenth of the pattern's time.
    return ("deprecat" in folded or "no longer" in folded) and _DEPRECATED.search(text) is not None


@lru_cache(maxsize=64)
def trait_factors(wanted: DeedMask) -> Floats:
    """(2^13,) for each number of traits: what is left of the score of such a tool, above 0 and at most 1.

    `wanted`: the deeds that a request names.
    """
    traits = np.arange(1 << (_DEPRECATED_BIT + 1))
    apart = conflicts(wanted)[traits & ((1 << _LENGTH_BIT) - 1)]
    words = (traits >> _LENGTH_BIT & _MOST_WORDS).astype(np.float32)
    deprecated = (traits >> _DEPRECATED_BIT).astype(np.float32)
    kept = (1 - DEED_WEIGHT * apart) * (1 - NAME_WORD_WEIGHT * words) * (1 - DEPRECATED_WEIGHT * deprecated)
    factors = np.asarray(kept, dtype=np.float32)
    factors.flags.writeable = False
    return factors
