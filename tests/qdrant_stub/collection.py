"""One collection of the stub: an embedded shard in a directory."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import qdrant_edge as edge
from qdrant_client.http import models

from tests.qdrant_stub import conversion
from tests.qdrant_stub.conversion import UnknownRequestError

_INDEXES: Final[dict[str, Any]] = {
    "revision": edge.IntegerIndexParams(lookup=False, range=True),
    "version": edge.IntegerIndexParams(lookup=True, range=False),
    "tenant": edge.KeywordIndexParams(is_tenant=True),
    **dict.fromkeys(
        ("namespace", "tags", "status", "trust", "alias", "names", "flags"),
        edge.PayloadSchemaType.Keyword,
    ),
}
"""Made with every shard, and copied: making one takes a tenth of a second each time."""


@cache
def _empty_shard(size: int, sparse: tuple[str, ...]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="qdrant-stub-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config = edge.EdgeConfig(
        vectors={"dense": edge.EdgeVectorParams(size=size, distance=edge.Distance.Dot)},
        sparse_vectors={name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in sparse},
    )
    shard = edge.EdgeShard.create(str(folder / "shard"), config)
    for name, schema in _INDEXES.items():
        shard.update(edge.UpdateOperation.create_field_index(name, schema))
    shard.flush()
    shard.close()
    return folder / "shard"


class StubCollection:
    """A collection; every method takes a parsed body and returns what the server answers under `result`."""

    def __init__(self, config: models.CreateCollection, folder: Path) -> None:
        conversion.only(
            config, "vectors", "sparse_vectors", "shard_number", "replication_factor", "write_consistency_factor"
        )
        vectors, sparse = config.vectors, config.sparse_vectors or {}
        if not isinstance(vectors, dict) or set(vectors) != {"dense"}:
            raise UnknownRequestError("a collection without the one named vector 'dense'")
        conversion.only(vectors["dense"], "size", "distance")
        if vectors["dense"].distance != models.Distance.DOT:
            raise UnknownRequestError("a distance other than Dot")
        if any(one.modifier != models.Modifier.IDF for one in sparse.values()):
            raise UnknownRequestError("sparse vectors without IDF")
        self.config = config
        self.schema: dict[str, Any] = {}
        shutil.copytree(_empty_shard(vectors["dense"].size, tuple(sparse)), folder)
        self._folder = folder
        self._shard = edge.EdgeShard.load(str(folder))
        self.operations = 0

    def close(self) -> None:
        self._shard.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def info(self) -> dict[str, Any]:
        vectors: Any = self.config.vectors
        params = {
            "vectors": {name: one.model_dump(exclude_none=True) for name, one in vectors.items()},
            "sparse_vectors": {
                name: one.model_dump(exclude_none=True) for name, one in (self.config.sparse_vectors or {}).items()
            },
            "shard_number": self.config.shard_number or 1,
            "replication_factor": self.config.replication_factor or 1,
            "write_consistency_factor": self.config.write_consistency_factor or 1,
        }
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "points_count": self._shard.info().points_count,
            "config": {
                "params": params,
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                "optimizer_config": {
                    "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0, "flush_interval_sec": 5,
                },
            },
            "payload_schema": self.schema,
        }  # fmt: skip

    def create_index(self, body: models.CreateFieldIndex) -> dict[str, Any]:
        if body.field_name not in _INDEXES:
            raise UnknownRequestError(f"an index on {body.field_name!r}")
        schema: Any = body.field_schema
        kind = schema if isinstance(schema, models.PayloadSchemaType) else schema.type
        self.schema[body.field_name] = {"data_type": str(getattr(kind, "value", kind)), "points": 0}
        return self._done()

    def upsert(self, body: models.PointsList) -> dict[str, Any]:
        conversion.only(body, "points", "update_filter")
        points = [conversion.point(one) for one in body.points]
        condition = conversion.filter_of(body.update_filter)
        self._shard.update(edge.UpdateOperation.upsert_points(points, condition=condition))
        return self._done()

    def delete(self, body: Any) -> dict[str, Any]:
        match body:
            case models.PointIdsList():
                conversion.only(body, "points")
                ids = [conversion.point_id(one) for one in body.points]
                self._shard.update(edge.UpdateOperation.delete_points(ids))
            case models.FilterSelector():
                conversion.only(body, "filter")
                self._shard.update(edge.UpdateOperation.delete_points_by_filter(conversion.filter_of(body.filter)))
            case _:
                raise UnknownRequestError(f"a selector of kind {type(body).__name__}")
        return self._done()

    def _done(self) -> dict[str, Any]:
        self.operations += 1
        return {"operation_id": self.operations, "status": "completed"}

    def retrieve(self, body: models.PointRequest) -> list[dict[str, Any]]:
        conversion.only(body, "ids", "with_payload", "with_vector")
        ids = [conversion.point_id(one) for one in body.ids]
        found = self._shard.retrieve(ids, conversion.selector(body.with_payload), conversion.selector(body.with_vector))
        return [_record(one) for one in found]

    def scroll(self, body: models.ScrollRequest) -> dict[str, Any]:
        conversion.only(body, "limit", "filter", "offset", "with_payload", "with_vector", "order_by")
        request = edge.ScrollRequest(
            offset=conversion.point_id(body.offset),
            limit=body.limit,
            filter=conversion.filter_of(body.filter),
            with_payload=conversion.selector(body.with_payload),
            with_vector=conversion.selector(body.with_vector),
            order_by=conversion.order_of(body.order_by),
        )
        found, offset = self._shard.scroll(request)
        return {"points": [_record(one) for one in found], "next_page_offset": None if offset is None else str(offset)}

    def count(self, body: models.CountRequest) -> dict[str, Any]:
        conversion.only(body, "filter", "exact")
        request = edge.CountRequest(exact=bool(body.exact), filter=conversion.filter_of(body.filter))
        return {"count": self._shard.count(request)}

    def facet(self, body: models.FacetRequest) -> dict[str, Any]:
        conversion.only(body, "key", "limit", "filter", "exact")
        request = edge.FacetRequest(
            body.key, limit=body.limit or 10, exact=bool(body.exact), filter=conversion.filter_of(body.filter)
        )
        return {"hits": [{"value": hit.value, "count": hit.count} for hit in self._shard.facet(request).hits]}

    def query(self, body: models.QueryRequest) -> dict[str, Any]:
        conversion.only(body, "prefetch", "query", "using", "filter", "limit", "with_payload", "with_vector", "offset")
        request = edge.QueryRequest(
            limit=body.limit or 10,
            offset=body.offset or 0,
            query=conversion.query_of(body.query, body.using),
            prefetches=conversion.prefetches(body.prefetch),
            filter=conversion.filter_of(body.filter),
            with_payload=conversion.selector(body.with_payload),
            with_vector=conversion.selector(body.with_vector),
        )
        found = self._shard.query(request)
        return {"points": [{**_record(one), "score": one.score, "version": one.version} for one in found]}


def _record(found: Any) -> dict[str, Any]:
    return {"id": str(found.id), "payload": found.payload, "vector": conversion.vector_record(found.vector)}
