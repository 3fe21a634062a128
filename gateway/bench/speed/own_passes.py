"""Our other ways to the nearest rows: many queries in one pass, certified exact, sign bits. Settings as in `dense`."""

import time
from collections.abc import Collection
from typing import Final

import numpy as np

from gateway.bench.speed.dense import full_scan, matrix_of, queries_of
from gateway.bench.speed.grown import DEPTH
from gateway.bench.speed.lanes import Settings, TimedCalls
from indexer.batch_search import batch_top_k
from indexer.certified import build_certified_head, certified_top_k
from indexer.search_plan import plan_search
from indexer.sign_bits import bits_top_k, build_sign_bits

_RECALL: Final = 0.99


def batch(settings: Settings) -> TimedCalls:
    """64 queries in one pass; a call answers all of them."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)

    def answer(_: int) -> Collection[int]:
        return np.asarray(batch_top_k(vectors, queries, DEPTH).rows).ravel()

    return TimedCalls(answer)


def planned(settings: Settings) -> TimedCalls:
    """What the index does for a whole catalog of this size, exactly."""
    plan = plan_search(rows=settings["rows"], dimensions=queries_of(settings).shape[1])
    return certified(settings) if plan.method == "certified" else full_scan(settings)


def certified(settings: Settings) -> TimedCalls:
    """Exact by proof: bounds from a head of principal components, and the survivors' own rows."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    started = time.perf_counter()
    head = build_certified_head(vectors)
    built = round(time.perf_counter() - started, 2)
    survivors = [certified_top_k(vectors, head, query, DEPTH).survivors for query in queries]
    notes = {
        "version": f"certified, head of {head.head_dims}",
        "build_seconds": built,
        "bytes_a_row": round(head.nbytes / len(vectors)),
        "survivors_share": float(np.median(survivors)) / len(vectors),
    }
    return TimedCalls(lambda number: certified_top_k(vectors, head, queries[number], DEPTH).rows, notes)


def bits(settings: Settings) -> TimedCalls:
    """Sign bits, and the exact scores of as many rows as the recall takes that an operator might allow."""
    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    started = time.perf_counter()
    made = build_sign_bits(vectors, recall=_RECALL)
    built = round(time.perf_counter() - started, 2)
    notes = {
        "version": f"{made.rescore:,} rescored for recall {_RECALL}",
        "build_seconds": built,
        "bytes_a_row": round(made.nbytes / len(vectors)),
    }
    return TimedCalls(
        lambda number: bits_top_k(vectors, made, queries[number], DEPTH, rescore=made.rescore).rows, notes
    )
