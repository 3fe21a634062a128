"""From the bodies that `qdrant_client` sends, read by its own models, to the embedded engine's words.

A field that is set and not read here is an error: what a test asks for must not be passed over in silence.
"""

from typing import Any, cast
from uuid import UUID

import qdrant_edge as edge
from pydantic import BaseModel
from qdrant_client.http import models


class UnknownRequestError(Exception):
    """A request, or a part of one, that the stub does not know."""


def only(model: BaseModel, *names: str) -> None:
    """Raises: UnknownRequestError if anything but these fields is set."""
    others = {name for name in type(model).model_fields if getattr(model, name) is not None} - set(names)
    if others:
        raise UnknownRequestError(f"{type(model).__name__} with {', '.join(sorted(others))}")


def point_id(value: Any) -> Any:
    return UUID(value) if isinstance(value, str) else value


def point(given: models.PointStruct) -> Any:
    if not isinstance(given.vector, dict):
        raise UnknownRequestError("a point without named vectors")
    vectors = {name: vector(value) for name, value in given.vector.items()}
    return edge.Point(point_id(given.id), vectors, dict(given.payload or {}))


def vector(given: Any) -> Any:
    if isinstance(given, models.SparseVector):
        return edge.SparseVector(given.indices, given.values)
    if isinstance(given, list):
        return cast("list[float]", given)
    raise UnknownRequestError(f"a vector of kind {type(given).__name__}")


def vector_record(found: Any) -> Any:
    """A vector of the engine as the server writes it."""
    if isinstance(found, dict):
        return {name: vector_record(one) for name, one in found.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(found, edge.SparseVector):
        return {"indices": list(found.indices), "values": list(found.values)}
    return found


def filter_of(given: models.Filter | None) -> Any:
    if given is None:
        return None
    only(given, "must", "should", "must_not")
    return edge.Filter(
        must=conditions(given.must), should=conditions(given.should), must_not=conditions(given.must_not)
    )


def conditions(given: Any) -> list[Any] | None:
    if given is None:
        return None
    return [condition(one) for one in (given if isinstance(given, list) else [given])]  # pyright: ignore[reportUnknownVariableType]


def condition(given: Any) -> Any:
    match given:
        case models.Filter():
            return filter_of(given)
        case models.HasIdCondition():
            return edge.HasIdCondition({point_id(one) for one in given.has_id})
        case models.FieldCondition():
            only(given, "key", "match", "range")
            return edge.FieldCondition(given.key, match=match_of(given.match), range=range_of(given.range))
        case _:
            raise UnknownRequestError(f"a condition of kind {type(given).__name__}")


def match_of(given: Any) -> Any:
    match given:
        case None:
            return None
        case models.MatchValue():
            return edge.MatchValue(given.value)
        case models.MatchAny():
            return edge.MatchAny(cast("Any", list(given.any)))
        case _:
            raise UnknownRequestError(f"a match of kind {type(given).__name__}")


def range_of(given: Any) -> Any:
    if given is None:
        return None
    if not isinstance(given, models.Range):
        raise UnknownRequestError(f"a range of kind {type(given).__name__}")
    return edge.RangeFloat(gte=given.gte, gt=given.gt, lte=given.lte, lt=given.lt)


def order_of(given: Any) -> Any:
    if given is None:
        return None
    if not isinstance(given, models.OrderBy):
        raise UnknownRequestError("order by a bare key")
    only(given, "key", "direction")
    descending = given.direction == models.Direction.DESC
    return edge.OrderBy(given.key, direction=edge.Direction.Desc if descending else edge.Direction.Asc)


def selector(given: Any) -> Any:
    """Which payload fields or vectors are wanted."""
    if given is None or isinstance(given, bool | list):
        return given  # pyright: ignore[reportUnknownVariableType]
    raise UnknownRequestError(f"a selector of kind {type(given).__name__}")


def query_of(given: Any, using: str | None) -> Any:
    match given:
        case None:
            return None
        case list():
            return edge.Query.Nearest(cast("list[float]", given), using=using)
        case models.SparseVector():
            return edge.Query.Nearest(edge.SparseVector(given.indices, given.values), using=using)
        case models.NearestQuery():
            only(given, "nearest")
            return query_of(given.nearest, using)
        case models.RrfQuery():
            only(given.rrf, "k", "weights")
            return edge.Fusion.Rrf(given.rrf.k or 2, given.rrf.weights)
        case models.FusionQuery() if given.fusion == models.Fusion.RRF:
            return edge.Fusion.Rrf(2)
        case _:
            raise UnknownRequestError(f"a query of kind {type(given).__name__}")


def prefetches(given: Any) -> list[Any]:
    if given is None:
        return []
    found = cast("list[models.Prefetch]", given if isinstance(given, list) else [given])
    return [prefetch(one) for one in found]


def prefetch(given: models.Prefetch) -> Any:
    only(given, "query", "using", "filter", "limit", "prefetch")
    return edge.Prefetch(
        limit=given.limit or 10,
        query=query_of(given.query, given.using),
        prefetches=prefetches(given.prefetch),
        filter=filter_of(given.filter),
    )
