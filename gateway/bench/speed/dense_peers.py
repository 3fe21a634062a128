"""Vector libraries of others over the same rows: faiss and usearch. Settings as in `dense`, and `kind`."""

import time
from collections.abc import Collection
from importlib import import_module
from typing import Any, Final

import numpy as np

from gateway.bench.speed.dense import matrix_of, queries_of
from gateway.bench.speed.grown import DEPTH
from gateway.bench.speed.lanes import Settings, TimedCalls
from gateway.bench.speed.machine import version_of

_HNSW_LINKS: Final = 16
_HNSW_SEARCH: Final = 64


def faiss_index(settings: Settings) -> TimedCalls:
    """An index of the kind asked for: flat, sq8, sqfp16, hnsw or ivf, built on one thread."""
    faiss: Any = import_module("faiss")
    faiss.omp_set_num_threads(1)
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    index = _faiss_kind(faiss, settings["kind"], *vectors.shape)
    started = time.perf_counter()
    if not index.is_trained:
        index.train(vectors)
    index.add(vectors)
    built = round(time.perf_counter() - started, 1)
    notes = {"version": f"faiss {version_of('faiss-cpu')}", "build_seconds": built}
    batch = settings.get("batch", False)
    if batch:
        return TimedCalls(lambda _: index.search(queries, DEPTH)[1].ravel(), notes)
    return TimedCalls(lambda number: index.search(queries[number : number + 1], DEPTH)[1][0], notes)


def _faiss_kind(faiss: Any, kind: str, rows: int, dimensions: int) -> Any:  # noqa: ANN401 - an untyped library
    inner = faiss.METRIC_INNER_PRODUCT
    match kind:
        case "flat":
            return faiss.IndexFlatIP(dimensions)
        case "sq8":
            return faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_8bit, inner)
        case "sqfp16":
            return faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_fp16, inner)
        case "hnsw":
            index = faiss.IndexHNSWFlat(dimensions, _HNSW_LINKS, inner)
            index.hnsw.efSearch = _HNSW_SEARCH
            return index
        case "ivf":
            lists = 1024 if rows <= 200_000 else 2048
            index = faiss.index_factory(dimensions, f"IVF{lists},Flat", inner)
            # Enough for its recall, and minutes sooner than the defaults on one thread.
            index.cp.niter, index.cp.max_points_per_centroid = 10, 64
            index.nprobe = 64
            return index
        case _:
            raise ValueError(f"unknown kind {kind!r}")


def usearch_exact(settings: Settings) -> TimedCalls:
    """`usearch.index.search(..., exact=True)`."""
    module: Any = import_module("usearch.index")
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    metric, notes = module.MetricKind.IP, {"version": f"usearch {version_of('usearch')}"}
    if settings.get("batch", False):

        def answer_all(_: int) -> Collection[int]:
            found = module.search(vectors, queries, DEPTH, metric, exact=True, threads=1)
            return np.asarray(found.keys).ravel()

        return TimedCalls(answer_all, notes)

    def answer(number: int) -> Collection[int]:
        return module.search(vectors, queries[number], DEPTH, metric, exact=True, threads=1).keys

    return TimedCalls(answer, notes)
