"""Our other ways to the nearest rows: many queries in one pass, certified exact, sign bits. Settings as in `dense`."""

import time
from collections.abc import Collection
from typing import Final

import numpy as np

from gateway.bench.speed.dense import matrix_of, queries_of
from gateway.bench.speed.grown import DEPTH
from gateway.bench.speed.lanes import Settings, TimedCalls

_RECALL: Final = 0.99


def batch(settings: Settings) -> TimedCalls:
    """64 queries in one pass; a call answers all of them."""
    from indexer.batch_search import batch_top_k

    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)

    def answer(_: int) -> Collection[int]:
        return np.asarray(batch_top_k(vectors, queries, DEPTH).rows).ravel()

    return TimedCalls(answer)


def certified(settings: Settings) -> TimedCalls:
    """Exact by proof: bounds from a head of principal components, and the survivors' own rows."""
    from indexer.certified import build_certified_head, certified_top_k

    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    started = time.perf_counter()
    head = build_certified_head(vectors)
    built = round(time.perf_counter() - started, 2)
    survivors = [certified_top_k(vectors, head, query, DEPTH).survivors for query in queries]
    notes = {
        "version": f"head of {head.head_dims}",
        "build_seconds": built,
        "bytes_a_row": round(head.nbytes / len(vectors)),
        "survivors_share": float(np.median(survivors)) / len(vectors),
    }
    return TimedCalls(lambda number: certified_top_k(vectors, head, queries[number], DEPTH).rows, notes)


def bits(settings: Settings) -> TimedCalls:
    """Sign bits, and the exact scores of as many rows as the recall takes that an operator might allow."""
    from indexer.sign_bits import bits_top_k, build_sign_bits, rescore_for

    vectors, queries = matrix_of(settings["vectors"], settings["rows"]), queries_of(settings)
    started = time.perf_counter()
    made = build_sign_bits(vectors)
    rescore = rescore_for(vectors, made, _RECALL)
    built = round(time.perf_counter() - started, 2)
    notes = {
        "version": f"{rescore:,} rescored for recall {_RECALL}",
        "build_seconds": built,
        "bytes_a_row": round(made.nbytes / len(vectors)),
    }
    return TimedCalls(lambda number: bits_top_k(vectors, made, queries[number], DEPTH, rescore=rescore).rows, notes)
