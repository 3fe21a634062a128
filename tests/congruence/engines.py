"""Nearest tools in scope, asked of each engine in its own words."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.definition import ToolKey
from indexer.replica import Replica
from indexer.search import SearchScope
from indexer.stores.base import StoredTool
from indexer.stores.payload import DENSE, decode_definition, payload_of

Vector: TypeAlias = npt.NDArray[np.float32]


class Found(NamedTuple):
    """A tool and its cosine with the query."""

    key: ToolKey
    score: float


Engine: TypeAlias = Callable[[Vector, SearchScope, int], list[Found]]


def replica_engine(changes: Sequence[Sequence[StoredTool]], dimensions: int) -> Engine:
    """The replica, fed the changes batch by batch."""
    replica = Replica(dimensions)
    for batch in changes:
        replica.apply(batch)
    return searching(replica)


def searching(replica: Replica) -> Engine:
    def search(vector: Vector, scope: SearchScope, k: int) -> list[Found]:
        state = replica.state
        best = state.matrix.top_k(vector, k, rows=state.view(scope).rows)
        return [
            Found(state.table.key(row), score)
            for row, score in zip(best.rows.tolist(), best.scores.tolist(), strict=True)
        ]

    return search


def edge_engine(
    path: Path, changes: Sequence[Sequence[StoredTool]], dimensions: int
) -> tuple[Engine, Callable[[], None]]:
    """Embedded Qdrant with the payload that a server filters by, fed batch by batch, opened anew; how to close it."""
    import qdrant_edge as edge

    path.mkdir(parents=True)
    vectors = edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Dot)
    shard = edge.EdgeShard.create(str(path), edge.EdgeConfig(vectors={DENSE: vectors}))
    for batch in changes:
        points: list[Any] = []
        for tool in batch:
            vector: Any = {} if tool.vector is None else {DENSE: tool.vector}
            points.append(edge.Point(tool.point_id, vector, payload_of(tool)))
        if points:
            shard.update(edge.UpdateOperation.upsert_points(points))
    shard.close()
    shard = edge.EdgeShard.load(str(path))

    def search(vector: Vector, scope: SearchScope, k: int) -> list[Found]:
        conditions: list[Any] = [
            edge.FieldCondition(field, match=edge.MatchAny(list(values))) for field, values in _any_of(scope)
        ]
        conditions += [edge.FieldCondition("tags", match=edge.MatchValue(tag)) for tag in scope.tags]
        if scope.tools is not None:
            conditions.append(edge.HasIdCondition({key.point_id for key in scope.tools}))
        request = edge.QueryRequest(
            limit=k,
            query=edge.Query.Nearest(vector.tolist(), using=DENSE),
            filter=edge.Filter(must=conditions),
            with_payload=True,
        )
        return [Found(_key(point.payload), point.score) for point in shard.query(request)]

    return search, shard.close


def qdrant_engine(client: Any, collection: str) -> Engine:
    """A collection behind `qdrant_client`."""
    from qdrant_client.http import models

    def search(vector: Vector, scope: SearchScope, k: int) -> list[Found]:
        conditions: list[Any] = [
            models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
            for field, values in _any_of(scope)
        ]
        conditions += [models.FieldCondition(key="tags", match=models.MatchValue(value=tag)) for tag in scope.tags]
        if scope.tools is not None:
            conditions.append(models.HasIdCondition(has_id=[str(key.point_id) for key in scope.tools]))
        answer = client.query_points(
            collection,
            query=vector.tolist(),
            using=DENSE,
            query_filter=models.Filter(must=conditions),
            limit=k,
            with_payload=True,
        )
        return [Found(_key(point.payload), point.score) for point in answer.points]

    return search


def _any_of(scope: SearchScope) -> list[tuple[str, Sequence[str]]]:
    fields: list[tuple[str, Sequence[str]]] = [("status", ["active"]), ("tenant", [scope.tenant])]
    if scope.namespaces is not None:
        fields.append(("namespace", sorted(scope.namespaces)))
    if scope.trust is not None:
        fields.append(("trust", sorted(scope.trust)))
    return fields


def _key(payload: Any) -> ToolKey:
    return decode_definition(payload["definition"]).key
