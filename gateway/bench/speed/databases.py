"""Vector databases as contenders for the whole search, given what we have.

Our encoder's vectors, and our terms as a sparse vector with their idf modifier; 50 nearest of each, fused by reciprocal
rank, filtered by tenant, with the definition in the payload. Encoding the request into both counts, and so does reading
the definitions of the answer. Settings as in `search`, with `vectors` and `tokens` (files) and `shard` (Edge's folder).
"""

import shutil
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from gateway.bench.speed.artefacts import load_tokens
from gateway.bench.speed.data import BenchData, Floats
from gateway.bench.speed.grown import DEPTH, Grower
from gateway.bench.speed.lanes import Settings, TimedCalls
from gateway.bench.speed.machine import version_of
from indexer import make_embedder
from indexer.lexical import tokenize

_PREFETCH: Final = 50
_BATCH: Final = 512
_TENANT: Final = "default"
_SATURATION: Final = 1.2
_FUSION_K: Final = 60
_LINKS: Final = 16
_BUILD_WIDTH: Final = 100
_FULL_SCAN_KILOBYTES: Final = 10


class Point(NamedTuple):
    """A tool as a point."""

    row: int
    vector: Floats
    terms: Mapping[int, float]
    payload: dict[str, Any]


class Points:
    """A catalog as points of a vector database, and requests as its queries."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.rows = int(settings["rows"])
        self.vectors: Floats = np.load(settings["vectors"], mmap_mode="r")[: self.rows]
        self._encoder = make_embedder(settings["encoder"])
        self._requests: Sequence[str] = settings["requests"]

    def batches(self) -> Iterator[list[Point]]:
        """Every tool; term frequencies are damped, because a sparse index multiplies them with the idf alone."""
        tools = Grower(BenchData(Path(self._settings["data"]))).tools(self.rows)
        batch: list[Point] = []
        for row, (tool, words) in enumerate(zip(tools, load_tokens(self._settings["tokens"]), strict=True)):
            terms = {term: count / (count + _SATURATION) for term, count in _numbered(words).items()}
            payload = {"tenant": _TENANT, "namespace": tool.namespace, "definition": tool.encoded.decode()}
            batch.append(Point(row, self.vectors[row], terms, payload))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def query(self, number: int) -> tuple[list[float], list[int], list[float]]:
        """The vector of a request, and its terms with their weights."""
        text = self._requests[number]
        terms = list(_numbered(tokenize(text)))
        vector: list[float] = self._encoder.embed_queries([text])[0].tolist()
        return vector, terms, [1.0] * len(terms)


def _numbered(terms: Sequence[str]) -> Counter[int]:
    return Counter(zlib.crc32(term.encode()) for term in terms)


def _rows_of(found: Sequence[Any]) -> list[int]:
    """The rows of an answer, once its definitions have been read, as ours have been when they are handed out."""
    for point in found:
        orjson.loads(point.payload["definition"])
    return [int(point.id) for point in found]


def qdrant_local(settings: Settings) -> TimedCalls:
    """qdrant-client's local mode, in memory."""
    from qdrant_client import QdrantClient, models

    points = Points(settings)
    client = QdrantClient(":memory:")
    client.create_collection(
        "tools",
        vectors_config={"dense": models.VectorParams(size=points.vectors.shape[1], distance=models.Distance.DOT)},
        sparse_vectors_config={"sparse": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    for batch in points.batches():
        client.upsert("tools", [_struct(point) for point in batch])
    tenant = models.Filter(must=[models.FieldCondition(key="tenant", match=models.MatchValue(value=_TENANT))])

    def answer(number: int) -> list[int]:
        vector, indices, values = points.query(number)
        sparse = models.SparseVector(indices=indices, values=values)
        found = client.query_points(
            "tools",
            prefetch=[
                models.Prefetch(query=vector, using="dense", limit=_PREFETCH, filter=tenant),
                models.Prefetch(query=sparse, using="sparse", limit=_PREFETCH, filter=tenant),
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=DEPTH,
        )
        return _rows_of(found.points)

    return TimedCalls(answer, {"version": f"qdrant-client {version_of('qdrant-client')}"})


def _struct(point: Point) -> Any:  # noqa: ANN401 - a class of an import that waits until it is needed
    from qdrant_client import models

    sparse = models.SparseVector(indices=list(point.terms), values=list(point.terms.values()))
    return models.PointStruct(
        id=point.row, vector={"dense": point.vector.tolist(), "sparse": sparse}, payload=point.payload
    )


def edge(settings: Settings) -> TimedCalls:
    """Qdrant Edge, exact or (`hnsw`) with its graph; the shard is made once and kept."""
    import qdrant_edge

    points = Points(settings)
    hnsw = bool(settings.get("hnsw", False))
    started = time.perf_counter()
    shard = _edge_shard(Path(settings["shard"]), points, hnsw=hnsw)
    notes = {"version": f"qdrant-edge-py {version_of('qdrant-edge-py')}"}
    built = round(time.perf_counter() - started, 1)
    tenant = qdrant_edge.Filter(must=[qdrant_edge.FieldCondition("tenant", match=qdrant_edge.MatchValue(_TENANT))])
    exact = qdrant_edge.SearchParams(exact=not hnsw)
    fusion: Any = qdrant_edge.Fusion.Rrf(_FUSION_K)  # its stub does not say that it is a Fusion

    def answer(number: int) -> list[int]:
        vector, indices, values = points.query(number)
        sparse = qdrant_edge.SparseVector(indices, values)
        nearest = qdrant_edge.Query.Nearest
        request = qdrant_edge.QueryRequest(
            limit=DEPTH,
            prefetches=[
                qdrant_edge.Prefetch(_PREFETCH, query=nearest(vector, "dense"), filter=tenant, params=exact),
                qdrant_edge.Prefetch(_PREFETCH, query=nearest(sparse, "sparse"), filter=tenant),
            ],
            query=fusion,
            with_payload=True,
        )
        return _rows_of(shard.query(request))

    return TimedCalls(answer, {**notes, "set_up": f"{built} s"})


def _edge_shard(folder: Path, points: Points, *, hnsw: bool) -> Any:  # noqa: ANN401 - as above
    import qdrant_edge

    edge = qdrant_edge
    vectors = {"dense": edge.EdgeVectorParams(size=points.vectors.shape[1], distance=edge.Distance.Dot)}
    sparse = {"sparse": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    config = edge.EdgeConfig(
        vectors=vectors,
        sparse_vectors=sparse,
        max_search_threads=1,
        hnsw_config=edge.HnswIndexConfig(_LINKS, _BUILD_WIDTH, _FULL_SCAN_KILOBYTES) if hnsw else None,
    )
    if folder.exists():
        return edge.EdgeShard.load(str(folder), config)
    draft = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    shard = edge.EdgeShard.create(str(draft), config)
    shard.update(edge.UpdateOperation.create_field_index("tenant", edge.KeywordIndexParams(is_tenant=True)))
    for batch in points.batches():
        made = [
            edge.Point(
                point.row,
                {
                    "dense": point.vector.tolist(),
                    "sparse": edge.SparseVector(list(point.terms), list(point.terms.values())),
                },
                point.payload,
            )
            for point in batch
        ]
        shard.update(edge.UpdateOperation.upsert_points(made))
    if hnsw:
        shard.optimize()
    shard.flush()
    shard.close()
    draft.rename(folder)
    return edge.EdgeShard.load(str(folder), config)
