"""Which ranked tools are one: in several namespaces, or one operation of several parents. No such takes two places.

What the rule finds, and that it costs no recall: design/retrieval.md, "Near-duplicates".
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from indexer.definition import ToolDefinition, ToolKey, TrustTier
from indexer.document import identifier_parts
from indexer.siblings import SAME_OPERATION, are_siblings, is_plainer, names_parent
from indexer.top_k import Floats

Kinship: TypeAlias = Literal["mirror", "version", "sibling"]
"""How two tools of the same last part of the name may be one."""

SAME_MEANING: Final = 0.98
"""Cosine from which two tools of one name say the same."""
_SAME_PARAMETERS: Final = 0.8
"""Share of the parameter names of both that both must have."""
_NAME_END: Final = re.compile(r"[./:]|__")
_JOINT: Final = re.compile(r"[\s_-]+")
_TRUST: Final[tuple[TrustTier, ...]] = ("trusted", "verified", "community", "untrusted")
"""Without it, whoever registers a copy of a tool, or calls one its next version, would take its place."""
_VERSION: Final = re.compile(r"[._-]?v(\d{1,3})$", re.IGNORECASE)
_SUCCESSOR: Final = re.compile(r"(?<=[a-z])[2-9]$", re.IGNORECASE)
"""As in `inspector2`, beside an `inspector`."""


def collapse_duplicates(
    rows: Sequence[int],
    *,
    definition_of: Callable[[int], ToolDefinition],
    key_of: Callable[[int], ToolKey],
    vectors: Floats,
    query: str,
    preferred: Collection[ToolKey] = frozenset(),
    held: Collection[ToolKey] = frozenset(),
) -> dict[int, tuple[int, ...]]:
    """Of ranked rows those that stay, in their order, each with the rows that it stands for.

    A near-duplicate lies in another namespace, has the same last part of its name, the same parameters, a description
    and nearly the same vector. The best of them stays, or one that is `preferred`; so does any whose namespace the
    query names. Of one operation in two versions of an API (`ses`, `sesv2`) the newer one stays; of one operation of
    several parents in a namespace the plainest one, unless the caller has it already (`held`): then another one may be
    wanted. No tool stands for one that is trusted more. `vectors`: (n, d) unit rows.
    """
    keys = [key_of(row) for row in rows]
    names = [_last_part(key.name) for key in keys]
    if len(set(names)) == len(names):
        return dict.fromkeys(rows, ())
    asked = query.casefold()
    groups: list[list[int]] = []
    named: defaultdict[str, list[list[int]]] = defaultdict(list)
    for row, key, name in zip(rows, keys, names, strict=True):
        for group in named[name]:
            early = group[0]
            kinship = _kinship(key_of(early), key)
            if kinship is None or not _near_enough(kinship, vectors, early, row):
                continue
            # Not before, for definitions must be decoded.
            first, second = definition_of(early), definition_of(row)
            if kinship != "version" and not _alike(first, second):
                continue
            late = _stands_for(second, first, preferred, kinship)
            kept, other = (second, first) if late else (first, second)
            if not _wanted_itself(other, kept, kinship, asked, held):
                group[:] = [row, *group] if late else [*group, row]
                break
        else:
            groups.append([row])
            named[name].append(groups[-1])
    return {kept: tuple(others) for kept, *others in groups}


@lru_cache(maxsize=16_384)
def _last_part(name: str) -> str:
    """Of a name in one form for `listOrders`, `list_orders` and `List Orders`; `C#` stays another than `C`."""
    return _one_form(_NAME_END.split(name)[-1] or name)


def _one_form(name: str) -> str:
    return _JOINT.sub("", unicodedata.normalize("NFKC", name)).casefold()


def _kinship(one: ToolKey, other: ToolKey) -> Kinship | None:
    if one.namespace == other.namespace:
        return "sibling" if are_siblings(one.name, other.name) else None
    return "version" if _versions_of_one(one, other) else "mirror"


def _near_enough(kinship: Kinship, vectors: Floats, one: int, other: int) -> bool:
    if kinship == "version":
        return True
    least = SAME_OPERATION if kinship == "sibling" else SAME_MEANING
    return float(np.vecdot(vectors[one], vectors[other])) >= least


def _stands_for(late: ToolDefinition, early: ToolDefinition, preferred: Collection[ToolKey], kinship: Kinship) -> bool:
    """Whether a tool takes the place of one that ranks before it."""
    if late.trust != early.trust:
        return _TRUST.index(late.trust) < _TRUST.index(early.trust)
    if kinship == "version":
        return _is_newer(late.namespace, early.namespace)
    if kinship == "sibling":
        return is_plainer(late.name, early.name)
    return late.key in preferred and early.key not in preferred


def _wanted_itself(
    other: ToolDefinition, kept: ToolDefinition, kinship: Kinship, asked: str, held: Collection[ToolKey]
) -> bool:
    """Whether a tool keeps its place beside the one that would stand for it."""
    if kinship == "sibling":
        return kept.key in held or names_parent(asked, other.name, kept.name)
    # A mirror's too may be an operation of another parent.
    of_named_parent = are_siblings(kept.name, other.name) and names_parent(asked, other.name, kept.name)
    return of_named_parent or _asked_for(other.namespace, kept.namespace, asked)


def _versions_of_one(one: ToolKey, other: ToolKey) -> bool:
    """Whether two tools are one operation of two versions of an API: `ses/SendEmail` and `sesv2/SendEmail`."""
    newer = _is_newer(one.namespace, other.namespace) or _is_newer(other.namespace, one.namespace)
    return newer and _one_form(one.name) == _one_form(other.name)


@lru_cache(maxsize=16_384)
def _is_newer(one: str, other: str) -> bool:
    """Whether a namespace is called as another one is, with a later version's mark."""
    marked, unmarked = _VERSION.search(one), _VERSION.search(other)
    if marked is None:
        return _SUCCESSOR.search(one) is not None and one[:-1] == other
    stem = one[: marked.start()]
    if unmarked is None:
        return stem == other
    return stem == other[: unmarked.start()] and int(marked[1]) > int(unmarked[1])


def _asked_for(namespace: str, kept: str, asked: str) -> bool:
    """Whether a query names what sets one namespace apart from the one that would stand for it."""
    own = {part.casefold() for part in identifier_parts(namespace)}
    return any(word in asked for word in own - {part.casefold() for part in identifier_parts(kept)})


def _alike(one: ToolDefinition, other: ToolDefinition) -> bool:
    return bool(one.description.strip() and other.description.strip()) and _same_parameters(one, other)


def _same_parameters(one: ToolDefinition, other: ToolDefinition) -> bool:
    names, other_names = _parameters(one), _parameters(other)
    return len(names & other_names) >= _SAME_PARAMETERS * len(names | other_names)


def _parameters(definition: ToolDefinition) -> set[str]:
    properties: object = definition.input_schema.get("properties")
    return set(cast("dict[str, object]", properties)) if isinstance(properties, dict) else set()
