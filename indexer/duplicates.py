"""Which ranked tools are one tool in several namespaces; a mirror must not take the places of other tools.

What the rule finds, and that it costs no recall: design/retrieval.md, "Near-duplicates".
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final, cast

import numpy as np

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import identifier_parts
from indexer.matrix import Floats

SAME_MEANING: Final = 0.98
"""Cosine from which two tools of one name say the same."""
_SAME_PARAMETERS: Final = 0.8
"""Share of the parameter names of both that both must have."""
_NAME_END: Final = re.compile(r"[./:]|__")
_JOINT: Final = re.compile(r"[\s_-]+")


def collapse_duplicates(
    rows: Sequence[int],
    *,
    definition_of: Callable[[int], ToolDefinition],
    key_of: Callable[[int], ToolKey],
    vectors: Floats,
    query: str,
    preferred: Collection[ToolKey] = frozenset(),
) -> dict[int, tuple[int, ...]]:
    """Of ranked rows those that stay, in their order, each with the rows that it stands for.

    A near-duplicate lies in another namespace, has the same last part of its name, the same parameters, a description
    and nearly the same vector. The best of them stays, or one that is `preferred`; so does any whose namespace the
    query names. `vectors`: (n, d) unit rows.
    """
    names = [_last_part(key_of(row).name) for row in rows]
    if len(set(names)) == len(names):
        return dict.fromkeys(rows, ())
    asked = query.casefold()
    groups: list[list[int]] = []
    named: defaultdict[str, list[list[int]]] = defaultdict(list)
    for row, name in zip(rows, names, strict=True):
        same_name = named[name]
        for group in same_name:
            kept, other = group[0], row
            if key_of(row) in preferred and key_of(kept) not in preferred:
                kept, other = row, kept
            if (
                key_of(kept).namespace != key_of(other).namespace
                # The cheapest first: definitions must be decoded.
                and float(np.vecdot(vectors[kept], vectors[other])) >= SAME_MEANING
                and not _asked_for(key_of(other).namespace, key_of(kept).namespace, asked)
                and _alike(definition_of(kept), definition_of(other))
            ):
                group[:] = [kept, other, *group[1:]] if kept == row else [*group, row]
                break
        else:
            groups.append([row])
            same_name.append(groups[-1])
    return {kept: tuple(others) for kept, *others in groups}


@lru_cache(maxsize=16_384)
def _last_part(name: str) -> str:
    """Of a name in one form for `listOrders`, `list_orders` and `List Orders`; `C#` stays another than `C`."""
    return _JOINT.sub("", unicodedata.normalize("NFKC", _NAME_END.split(name)[-1] or name)).casefold()


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
