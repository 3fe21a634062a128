"""Contenders for the nearest rows of a matrix: ours, plain numpy, and the memory's own limit.

All answer with the 10 rows of the largest inner product, one query a call unless they say otherwise. Settings:
`vectors`, `queries` (files of `grown.DenseFiles`), `rows`, and what a contender names itself.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gateway.bench.speed.grown import DEPTH
from gateway.bench.speed.lanes import Settings, TimedCalls
from indexer import VectorMatrix

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@lru_cache(maxsize=2)
def matrix_of(vectors: str, rows: int) -> Floats:
    """(rows, d) read into memory of this process's own, which the kernel may put on large pages as the index's is."""
    return np.array(np.load(vectors, mmap_mode="r")[:rows])


def queries_of(settings: Settings) -> Floats:
    """(64, d) unit rows."""
    return np.load(settings["queries"])


def _own_matrix(settings: Settings) -> VectorMatrix:
    vectors = matrix_of(settings["vectors"], settings["rows"])
    return VectorMatrix.from_arrays({"vectors": vectors, "penalty": np.zeros(len(vectors), dtype=np.float32)})


def full_scan(settings: Settings) -> TimedCalls:
    """Our scan of every row."""
    snapshot, queries = _own_matrix(settings).snapshot(), queries_of(settings)
    return TimedCalls(lambda number: snapshot.top_k(queries[number], DEPTH).rows)


def filtered(settings: Settings) -> TimedCalls:
    """The same for a view: only the sorted rows of a file."""
    snapshot, queries = _own_matrix(settings).snapshot(), queries_of(settings)
    rows = np.load(settings["filter"])
    return TimedCalls(lambda number: snapshot.top_k(queries[number], DEPTH, rows=rows).rows)


def filtered_full_scan(settings: Settings) -> TimedCalls:
    """A view answered the other way: score every row, and hide those outside by a penalty."""
    snapshot, queries = _own_matrix(settings).snapshot(), queries_of(settings)
    penalty = np.full(snapshot.n_rows, -4.0, dtype=np.float32)
    penalty[np.load(settings["filter"])] = 0.0
    return TimedCalls(lambda number: snapshot.top_k(queries[number], DEPTH, penalty=penalty).rows)


def one_by_one(settings: Settings) -> TimedCalls:
    """A batch, one query after the other; a call answers all 64."""
    snapshot, queries = _own_matrix(settings).snapshot(), queries_of(settings)

    def answer(_: int) -> Collection[int]:
        found: Rows = np.concatenate([snapshot.top_k(query, DEPTH).rows for query in queries])
        return found

    return TimedCalls(answer)


def naive(settings: Settings) -> TimedCalls:
    """`X @ q` and argpartition: what everyone writes first."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    return TimedCalls(lambda number: _naive_top(vectors @ queries[number]), {"version": f"numpy {np.__version__}"})


def naive_batch(settings: Settings) -> TimedCalls:
    """`Q @ X.T` and argpartition of its rows; a call answers all 64."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)

    def answer(_: int) -> Collection[int]:
        scores = queries @ vectors.T
        found: Rows = np.concatenate([_naive_top(row) for row in scores])
        return found

    return TimedCalls(answer, {"version": f"numpy {np.__version__}"})


def _naive_top(scores: Floats) -> Rows:
    best = np.argpartition(-scores, DEPTH)[:DEPTH]
    return best[np.argsort(-scores[best])]


def memory_limit(settings: Settings) -> TimedCalls:
    """`X.max()`: reads every number once and keeps none, which no exact scan can beat; finds nothing."""
    vectors = matrix_of(settings["vectors"], settings["rows"])

    def read(_: int) -> Collection[int]:
        vectors.max()
        return ()

    return TimedCalls(read)


def naive_filtered(settings: Settings) -> TimedCalls:
    """`X @ q`, what lies outside masked away, argpartition."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    outside = np.ones(len(vectors), dtype=np.bool_)
    outside[np.load(settings["filter"])] = False

    def answer(number: int) -> Collection[int]:
        scores = vectors @ queries[number]
        scores[outside] = -4.0
        return _naive_top(scores)

    return TimedCalls(answer, {"version": f"numpy {np.__version__}"})


def recall_check(truth: Sequence[Sequence[int]]) -> Callable[[Any], tuple[str, float]]:
    """Share of the nearest rows that were found, mean over the queries that were answered."""
    wanted = [frozenset(rows) for rows in truth]

    def check(answers: dict[int, Sequence[int]]) -> tuple[str, float]:
        shares = [len(wanted[number].intersection(found)) / len(wanted[number]) for number, found in answers.items()]
        return "recall@10", float(np.mean(shares))

    return check


def batch_recall_check(truth: Sequence[Sequence[int]]) -> Callable[[Any], tuple[str, float]]:
    """As `recall_check`, of calls that answer every query one after the other."""
    single = recall_check(truth)

    def check(answers: dict[int, Sequence[int]]) -> tuple[str, float]:
        found = next(iter(answers.values()))
        depth = len(found) // len(truth)
        return single({number: found[number * depth : (number + 1) * depth] for number in range(len(truth))})

    return check
