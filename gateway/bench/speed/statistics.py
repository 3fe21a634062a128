"""What a run is summed up by: medians with quartiles, ratios taken round by round, and how a cost grows with size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values and the quartiles around it."""

    median: float
    low: float
    high: float

    def record(self) -> list[float]:
        """Median first, then the quartiles."""
        return [self.median, self.low, self.high]

    def times(self, factor: float) -> "Spread":
        """In another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles (linear between values). Raises: ValueError without values."""
    if not len(values):
        raise ValueError("no values to take a median of")
    low, median, high = np.percentile(np.asarray(values, dtype=np.float64), [25, 50, 75]).tolist()
    return Spread(median, low, high)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` percent of the values do not exceed (linear between values)."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), share))


def ratio_spread(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    """How many times ours theirs took: a ratio for each round both have, so that a machine that slows cancels out.

    Raises: ValueError where they share no round.
    """
    return spread([their / our for their, our in zip(theirs, ours, strict=False)])


def growth_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of a least-squares line through (log size, log cost): 1 is linear, 0 does not grow.

    Raises: ValueError for fewer than two sizes, or a cost that is not above 0.
    """
    if len(sizes) < 2 or len(sizes) != len(costs) or not all(cost > 0 for cost in costs):
        raise ValueError("growth needs two sizes or more, and costs above 0")
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(costs, dtype=np.float64))
    x -= x.mean()
    return float((x @ (y - y.mean())) / (x @ x))


def step_exponents(sizes: Sequence[float], costs: Sequence[float]) -> list[float]:
    """The exponent between each size and the next: shows where a cost bends."""
    pairs = zip(sizes, sizes[1:], costs, costs[1:], strict=False)
    return [math.log(later / earlier) / math.log(larger / smaller) for smaller, larger, earlier, later in pairs]
