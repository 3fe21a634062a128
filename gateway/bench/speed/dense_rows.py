"""The rows on the nearest vectors: whole catalogs, batches of queries, and filters."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from gateway.bench.speed.bench import Bench, Contestant, RaceRow
from gateway.bench.speed.data import SEED
from gateway.bench.speed.dense import batch_recall_check, recall_check
from gateway.bench.speed.grown import QUERIES, DenseFiles, exact_top

NAIVE: Final = "numpy X@q + argpartition"
LIMIT: Final = "numpy X.max(), the memory limit"
FAISS_FLAT: Final = "faiss flat"
USEARCH: Final = "usearch exact"
OWN: Final = "toolscout"
BITS: Final = "toolscout sign bits"
FULL_SCAN: Final = "toolscout full scan"
ONE_BY_ONE: Final = "toolscout one by one"

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_FAISS: Final = (
    ("faiss flat", "flat"),
    ("faiss SQfp16", "sqfp16"),
    ("faiss SQ8", "sq8"),
    ("faiss HNSW16 ef 64", "hnsw"),
    ("faiss IVF nprobe 64", "ivf"),
)
_TRAINED: Final = ("hnsw", "ivf")
_LARGE: Final = 100_000
_MILLION: Final = 1_000_000
FILTERS: Final = ((0.01, "1 %"), (0.001, "0.1 %"))

RowMaker = Callable[[Bench], RaceRow]


def short(rows: int) -> str:
    """1000 as 1k, a million as 1m."""
    return f"{rows // 1_000_000}m" if rows >= _MILLION else f"{rows // 1000}k"


def dense_rows() -> Iterator[tuple[str, bool, RowMaker]]:
    """(key, whether it belongs to a quick run, how it is made)."""
    for dimensions in (384, 256):
        for rows in SIZES:
            key = f"dense-{short(rows)}-{dimensions}"
            yield key, rows == 100_000, _bound(_whole, key, dimensions, rows)
    for rows in (10_000, 100_000):
        key = f"batch-{short(rows)}-384"
        yield key, rows == 100_000, _bound(_batch, key, 384, rows)
    for share, said in FILTERS:
        key = f"filter-{said.replace(' %', 'pct')}-100k-384"
        yield key, True, _bound(_filtered, key, 384, 100_000, share, said)


def _bound(make: Callable[..., RaceRow], *arguments: Any) -> RowMaker:  # noqa: ANN401 - handed on as they came
    return lambda bench: make(bench, *arguments)


def _settings(files: DenseFiles) -> dict[str, Any]:
    return {"vectors": str(files.vectors), "queries": str(files.queries), "rows": files.rows}


def _whole(bench: Bench, key: str, dimensions: int, rows: int) -> RaceRow:
    files = bench.files(dimensions, rows)
    given, check = _settings(files), recall_check(np.load(files.truth).tolist())
    contestants = [
        Contestant(name=OWN, maker="own_passes:planned", settings=given, check=check),
        Contestant(name=LIMIT, maker="dense:memory_limit", settings=given),
        Contestant(name=NAIVE, maker="dense:naive", settings=given, check=check),
    ]
    if rows >= _LARGE:
        contestants += [
            Contestant(name=FULL_SCAN, maker="dense:full_scan", settings=given, check=check),
            Contestant(name=BITS, maker="own_passes:bits", settings=given, check=check),
        ]
    for name, kind in _FAISS:
        skip = ""
        if kind in _TRAINED and bench.options.quick:
            skip = "only in a full run: it takes longer to build than all the rest"
        elif kind == "hnsw" and rows >= _MILLION:
            skip = "its graph takes many minutes to build on one thread"
        contestants.append(
            Contestant(
                name=name,
                maker="dense_peers:faiss_index",
                settings={**given, "kind": kind},
                group="faiss",
                package="faiss-cpu",
                check=check,
                skip=skip,
            )
        )
    contestants.append(
        Contestant(
            name=USEARCH,
            maker="dense_peers:usearch_exact",
            settings=given,
            group="usearch",
            package="usearch",
            check=check,
        )
    )
    title = f"10 nearest of {rows:,} x {dimensions}"
    return RaceRow(key=key, title=title, queries=QUERIES, contestants=contestants)


def _batch(bench: Bench, key: str, dimensions: int, rows: int) -> RaceRow:
    files = bench.files(dimensions, rows)
    given, check = _settings(files), batch_recall_check(np.load(files.truth).tolist())

    one_by_one = "only in a full run: a call takes a second" if bench.options.quick else ""

    def of(name: str, maker: str, group: str = "own", package: str = "", skip: str = "", **more: object) -> Contestant:
        return Contestant(
            name=name,
            maker=maker,
            settings={**given, **more},
            group=group,
            package=package,
            skip=skip,
            check=check,
            per_call=QUERIES,
        )

    contestants = [
        of(OWN, "own_passes:batch"),
        of(ONE_BY_ONE, "dense:one_by_one", skip=one_by_one),
        of("numpy Q@X.T + argpartition", "dense:naive_batch"),
        of(FAISS_FLAT, "dense_peers:faiss_index", "faiss", "faiss-cpu", kind="flat", batch=True),
        of("faiss SQfp16", "dense_peers:faiss_index", "faiss", "faiss-cpu", kind="sqfp16", batch=True),
        of(USEARCH, "dense_peers:usearch_exact", "usearch", "usearch", batch=True),
    ]
    title = f"64 queries at once, {rows:,} x {dimensions}, time of one"
    return RaceRow(key=key, title=title, queries=1, contestants=contestants)


def _filtered(bench: Bench, key: str, dimensions: int, rows: int, share: float, said: str) -> RaceRow:
    files = bench.files(dimensions, rows)
    file = bench.data.folder / f"filter-{rows}-{share}.npy"
    if not file.exists():
        chosen = np.random.default_rng((SEED, rows)).choice(rows, size=int(rows * share), replace=False)
        np.save(file, np.sort(chosen))
    vectors = np.load(files.vectors, mmap_mode="r")
    truth = exact_top(vectors, np.load(files.queries), np.load(file)).tolist()
    given, check = {**_settings(files), "filter": str(file)}, recall_check(truth)
    contestants = [
        Contestant(name=OWN, maker="dense:filtered", settings=given, check=check),
        Contestant(name=FULL_SCAN, maker="dense:filtered_full_scan", settings=given, check=check),
        Contestant(name="numpy boolean mask", maker="dense:naive_filtered", settings=given, check=check),
    ]
    title = f"10 nearest within {said} of {rows:,} x {dimensions}"
    return RaceRow(key=key, title=title, queries=QUERIES, contestants=contestants)
