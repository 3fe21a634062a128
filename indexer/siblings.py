"""One operation under several parents, as REST catalogs name it: `folders.sinks.create`, `projects.sinks.create`.

Names are paths of resources with dots between them. What the rule finds, and what it is worth: design/retrieval.md,
"Parents of one operation".
"""

from functools import lru_cache
from typing import Final

from indexer.document import identifier_parts
from indexer.glossary import with_english_names

SAME_OPERATION: Final = 0.9
"""Cosine from which two such tools say the same but for the parent; the same at 0.8 and 0.95."""
_USUAL_PARENT: Final = "projects"
"""Under it nearly everything stands that has several parents, and to nearly all requests it is the one meant."""
_TAIL: Final = 2
"""The last parts of a name: what the operation is done to, and the operation."""


def are_siblings(one: str, other: str) -> bool:
    """Whether two names of one namespace end in the same resource and operation, at least one of them with a parent."""
    parts, others = one.split("."), other.split(".")
    return one != other and parts[-_TAIL:] == others[-_TAIL:] and min(len(parts), len(others)) >= _TAIL


def is_plainer(one: str, other: str) -> bool:
    """Whether of two siblings the first one is more likely meant by a request that names no parent."""
    return _plainness(one) < _plainness(other)


def names_parent(query: str, sibling: str, kept: str) -> bool:
    """Whether a query names what sets a sibling's name apart from the one that would stand for it."""
    own = _words(sibling) - _words(kept)
    if not own:
        return False
    asked = with_english_names(query).casefold()
    return any(word in asked for word in own)


def _plainness(name: str) -> tuple[bool, int]:
    parts = name.split(".")
    return parts[0] != _USUAL_PARENT, len(parts)


@lru_cache(maxsize=16_384)
def _words(name: str) -> frozenset[str]:
    """In the singular: `folders` is asked for by `in a folder`."""
    words = (part.casefold().removesuffix("s") for part in identifier_parts(name))
    return frozenset([word for word in words if word])
