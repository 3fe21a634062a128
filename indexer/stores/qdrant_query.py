"""What is asked of a Qdrant server that searches by itself: filters and queries, in its client's words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexer.search import SearchScope
from indexer.stores.base import SparseTerms, ToolStatus
from indexer.stores.payload import DENSE, WORDS

if TYPE_CHECKING:
    from qdrant_client.http.models import Condition, FieldCondition, Filter, Prefetch, QueryRequest

_LEAST_CANDIDATES: Final = 32
_SPARE: Final = 16
"""How many more than wanted come back, so that near-duplicates do not take the places of others."""
_CANDIDATES_A_TEXT: Final = 8
"""How many more come back for each further text. What these figures are worth: design/qdrant.md, "Past the memory
budget"."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryText:
    """One text of a search as an engine reads it: (d,) unit vector, None where the encoder knows nothing of it."""

    vector: npt.NDArray[np.float32] | None
    terms: SparseTerms


def scope_filter(scope: SearchScope, *, status: ToolStatus = "active", also: "Sequence[Condition]" = ()) -> "Filter":
    """The points that a caller may see; `also`: further conditions."""
    from qdrant_client.http import models

    conditions: list[Condition] = [_is("status", status), _is("tenant", scope.tenant)]
    if scope.namespaces is not None:
        conditions.append(any_of("namespace", sorted(scope.namespaces)))
    if scope.trust is not None:
        conditions.append(any_of("trust", sorted(scope.trust)))
    conditions.extend(_is("tags", tag) for tag in sorted(scope.tags))
    if scope.tools is not None:
        conditions.append(models.HasIdCondition(has_id=[str(key.point_id) for key in scope.tools]))
    return models.Filter(must=[*conditions, *also])


def any_of(field: str, values: Sequence[str]) -> "FieldCondition":
    from qdrant_client.http import models

    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def any_tenant() -> "Filter":
    """All active tools."""
    from qdrant_client.http import models

    return models.Filter(must=[_is("status", "active")])


def _is(field: str, value: str) -> "FieldCondition":
    from qdrant_client.http import models

    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def named_query(names: Sequence[str], scope: SearchScope, limit: int) -> "QueryRequest":
    """The points in scope that bear one of the names, which are case-folded."""
    from qdrant_client.http import models

    return models.QueryRequest(
        filter=scope_filter(scope, also=[any_of("names", names)]), limit=limit, with_payload=True, with_vector=[DENSE]
    )


def candidates_query(
    texts: Sequence[QueryText],
    within: "Filter",
    wanted: int,
    *,
    favoured: "Filter | None" = None,
    furthest: bool = False,
) -> "QueryRequest | None":
    """For each text the nearest by meaning and the best by words, the best of all lists fused by rank.

    None where there is neither vector nor word. `wanted`: places to be filled. `favoured`: points among which the best
    for the first text come, too. `furthest`: also the point that means the opposite, at which cosines are lowest.
    """
    from qdrant_client.http import models

    asked = [(text, within) for text in texts] + [(text, favoured) for text in texts[:1] if favoured is not None]
    limit = max(_LEAST_CANDIDATES, wanted + _SPARE) + _CANDIDATES_A_TEXT * (len(asked) - 1)
    lists: list[Prefetch] = []
    for text, where in asked:
        if text.vector is not None:
            lists.append(models.Prefetch(query=text.vector.tolist(), using=DENSE, filter=where, limit=limit))
        if len(text.terms.indices):
            sparse = models.SparseVector(indices=text.terms.indices.tolist(), values=text.terms.weights.tolist())
            lists.append(models.Prefetch(query=sparse, using=WORDS, filter=where, limit=limit))
    if not lists:
        return None
    if furthest:
        away = [(-text.vector).tolist() for text in texts if text.vector is not None]
        lists += [models.Prefetch(query=vector, using=DENSE, filter=within, limit=1) for vector in away]
        limit += len(away)
    return models.QueryRequest(
        prefetch=lists,
        query=models.FusionQuery(fusion=models.Fusion.RRF),
        filter=within,
        limit=limit,
        with_payload=True,
        with_vector=[DENSE],
    )


def rarity_query(term: int) -> "QueryRequest":
    """The point in which one hashed term weighs most, of all tools: its score tells how rare the term is."""
    from qdrant_client.http import models

    return models.QueryRequest(
        query=models.SparseVector(indices=[term], values=[1.0]), using=WORDS, limit=1, with_vector=[WORDS]
    )
