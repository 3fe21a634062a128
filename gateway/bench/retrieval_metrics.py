"""Retrieval metrics of ranked tools against needs, and their intervals; pure functions on stated arrays.

A query's needs are sets of interchangeable tools. A need is met at the rank of its first tool; later tools of a need
that is met gain nothing. With needs of one tool each this is the usual binary nDCG, recall and reciprocal rank.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import numpy.typing as npt

DEPTH: Final = 10
METRICS: Final = ("ndcg@10", "recall@1", "recall@5", "recall@10", "mrr", "completeness@10", "hit@1")
_RESAMPLES: Final = 1_000
_SEED: Final = 7


def met_ranks(ranked: Sequence[int], needs: Sequence[AbstractSet[int]]) -> list[int]:
    """The 0-based ranks at which a need is met for the first time, ascending."""
    open_needs = list(needs)
    ranks: list[int] = []
    for rank, tool in enumerate(ranked):
        for need in open_needs:
            if tool in need:
                open_needs.remove(need)
                ranks.append(rank)
                break
    return ranks


def query_metrics(ranked: Sequence[int], needs: Sequence[AbstractSet[int]]) -> tuple[float, ...]:
    """The values of `METRICS` for one query, each 0 to 1. nDCG as in Järvelin and Kekäläinen (2002), gains 0 or 1."""
    ranks = met_ranks(ranked[:DEPTH], needs)
    gain = sum(1 / math.log2(rank + 2) for rank in ranks)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(needs), DEPTH)))
    recall = [sum(rank < depth for rank in ranks) / len(needs) for depth in (1, 5, 10)]
    first = 1 / (ranks[0] + 1) if ranks else 0.0
    return (gain / ideal, *recall, first, float(recall[-1] == 1), float(bool(ranks) and ranks[0] == 0))


def bootstrap_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """95 % interval of the mean of (n,) values, by resampling them; paired if they are differences."""
    if len(values) == 0:
        return math.nan, math.nan
    random = np.random.default_rng(_SEED)
    # Drawing how often each value is taken is the same as drawing values, in a tenth of the memory traffic.
    counts = random.multinomial(len(values), np.full(len(values), 1 / len(values)), size=_RESAMPLES)
    low, high = np.percentile(counts @ values / len(values), [2.5, 97.5])
    return float(low), float(high)
