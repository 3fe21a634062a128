"""What is asked of a Qdrant server that searches by itself: filters and queries, in its client's words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexer.search import SearchScope
from indexer.stores.base import SparseTerms, ToolStatus
from indexer.stores.payload import DENSE, WORDS

if TYPE_CHECKING:
    from qdrant_client.http.models import Condition, FieldCondition, Filter, Prefetch, QueryRequest

_LEAST_CANDIDATES: Final = 50
_CANDIDATES_A_PLACE: Final = 4
FIRST_SHARE: Final = 0.5
"""What the first place of one list adds to a fused score: the server fuses by 1 / (2 + rank), ranks from 0."""


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
        filter=scope_filter(scope, also=[any_of("names", names)]), limit=limit, with_payload=True
    )


def hybrid_query(
    vector: npt.NDArray[np.float32] | None, terms: SparseTerms, scope: SearchScope, limit: int
) -> "QueryRequest | None":
    """The nearest by meaning and the best by words, fused by rank; None where there is neither vector nor word."""
    from qdrant_client.http import models

    within = scope_filter(scope)
    candidates = max(_LEAST_CANDIDATES, _CANDIDATES_A_PLACE * limit)
    lists: list[Prefetch] = []
    if vector is not None:
        lists.append(models.Prefetch(query=vector.tolist(), using=DENSE, filter=within, limit=candidates))
    if len(terms.indices):
        sparse = models.SparseVector(indices=terms.indices.tolist(), values=terms.weights.tolist())
        lists.append(models.Prefetch(query=sparse, using=WORDS, filter=within, limit=candidates))
    if not lists:
        return None
    return models.QueryRequest(
        prefetch=lists,
        query=models.FusionQuery(fusion=models.Fusion.RRF),
        filter=within,
        limit=limit,
        with_payload=True,
        with_vector=[DENSE],
    )
