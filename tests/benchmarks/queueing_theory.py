"""What a queue should give where mathematics knows it."""

import math

from benchmarks.scale_simulation import Draw


def waiting_of_mmc(searches_per_second: float, service_seconds: float, workers: int) -> float:
    """Mean seconds in an M/M/c queue before the work begins (Erlang C).

    A. O. Allen, Probability, Statistics and Queueing Theory, 2nd ed., 1990, section 5.3.
    """
    offered = searches_per_second * service_seconds
    load = offered / workers
    below = sum(offered**number / math.factorial(number) for number in range(workers))
    last = offered**workers / math.factorial(workers) / (1 - load)
    return last / (below + last) * service_seconds / (workers * (1 - load))


def waiting_of_mg1(searches_per_second: float, mean_seconds: float, variance: float = 0.0) -> float:
    """Mean seconds in an M/G/1 queue before the work begins (Pollaczek-Khinchine); without variance, of M/D/1.

    The same book, section 5.4.
    """
    load = searches_per_second * mean_seconds
    return searches_per_second * (variance + mean_seconds**2) / (2 * (1 - load))


def exponential(mean_seconds: float) -> Draw:
    """A batch takes as long as its searches one by one would, each exponentially distributed."""
    return lambda source, batch: sum(source.expovariate(1 / mean_seconds) for _ in range(batch))


def constant(seconds: float) -> Draw:
    """Every search takes the same time."""
    return lambda source, batch: seconds * batch
