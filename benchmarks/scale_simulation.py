"""Searches over several gateways, event by event: queues, batches, pauses, and a gateway that fails and comes back.

A worker is a gateway process with a core of its own. It takes what waits, at most a batch, and answers all of it at
once; how long that takes is drawn from what was measured (`benchmarks.scale_costs`). Equal seeds give equal runs.
`benchmarks.scale_plan` puts the figures of a plan together with it.
"""

import heapq
import math
import random
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

Routing = Literal["random", "shared"]
Draw = Callable[[random.Random, int], float]
"""How many seconds a batch of so many searches takes."""
_Event = Callable[[float], None]
"""What happens at a moment, given that moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What stops a worker again and again: changes that are applied, the garbage collector."""

    every_seconds: float
    lasts_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Work in a thread beside, again and again: meanwhile everything takes twice as long."""

    every_seconds: float
    lasts_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A gateway that dies with all its workers, and is back some time later."""

    at_seconds: float
    back_after_seconds: float
    noticed_after_seconds: float
    """Until then the balancer sends it its share, and every such search is tried again elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is simulated; searches come at random moments (Poisson), at a mean rate."""

    searches_per_second: float
    workers: int
    draw: Draw
    max_batch: int = 1
    workers_per_gateway: int = 1
    routing: Routing = "random"
    """`random`: a queue a worker, as with connections spread over processes; `shared`: one queue for all."""
    pauses: Sequence[Pause] = ()
    background: Sequence[Background] = ()
    failure: Failure | None = None
    retry_seconds: float = 0.05
    """Between a search that was lost and its next try."""
    seconds: float = 60.0
    warm_up_seconds: float = 5.0
    """Not counted."""
    seed: int = 1


@dataclass(slots=True)
class Outcome:
    """What became of the searches that arrived after the warm-up."""

    arrived: list[float] = field(default_factory=list[float])
    """When, in seconds."""
    took: list[float] = field(default_factory=list[float])
    """From the first try to the answer, in seconds."""
    waited: list[float] = field(default_factory=list[float])
    """Of that, before its work began."""
    retries: int = 0
    unanswered: int = 0
    """Still waiting at the end: a plan that leaves many has too few workers."""
    busy_seconds: float = 0.0
    batches: int = 0

    def percentile(self, share: float, *, since: float = 0.0, until: float = math.inf) -> float:
        """Seconds within which this share of the searches that arrived in a window were answered; NaN of none."""
        times = sorted(t for at, t in zip(self.arrived, self.took, strict=True) if since <= at < until)
        if not times:
            return math.nan
        return times[min(len(times) - 1, math.ceil(share * len(times)) - 1)]


def drawn_from(samples: Mapping[int, Sequence[float]], added_seconds: float = 0.0) -> Draw:
    """Draws from measured times, {batch: [milliseconds, ...]}; `added_seconds` for each search beside it.

    Between two measured batch sizes the larger one is drawn, in proportion to the searches in it.
    """
    sizes = sorted(samples)

    def draw(source: random.Random, batch: int) -> float:
        size = sizes[min(bisect_left(sizes, batch), len(sizes) - 1)]
        return source.choice(samples[size]) / 1e3 * batch / size + batch * added_seconds

    return draw


class _Search:
    __slots__ = ("arrived",)

    def __init__(self, arrived: float) -> None:
        self.arrived = arrived


class _Worker:
    __slots__ = ("alive", "began", "generation", "gateway", "paused", "queue", "serving", "shared_until")

    def __init__(self, gateway: int, queue: "deque[_Search]") -> None:
        self.gateway = gateway
        self.queue = queue
        self.serving: list[_Search] = []
        self.began = 0.0
        self.alive = True
        self.paused = 0.0
        """Until when it does not begin anything."""
        self.shared_until = 0.0
        """Until when it shares its core with work in the background."""
        self.generation = 0
        """Raised by a failure: what it was doing then never ends."""


def simulate(setup: Setup) -> Outcome:
    """Run it."""
    return _Simulation(setup).run()


class _Simulation:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._random = random.Random(setup.seed)
        shared: deque[_Search] = deque()
        self._workers = [
            _Worker(number // setup.workers_per_gateway, shared if setup.routing == "shared" else deque())
            for number in range(setup.workers)
        ]
        self._listed = list(self._workers)
        """Workers that the balancer sends searches to."""
        self._events: list[tuple[float, int, _Event]] = []
        self._order = 0
        self._outcome = Outcome()

    def run(self) -> Outcome:
        setup = self._setup
        self._at(self._random.expovariate(setup.searches_per_second), self._arrive)
        for pause in setup.pauses:
            for worker in self._workers:
                self._at(self._random.random() * pause.every_seconds, partial(self._pause, worker, pause))
        for work in setup.background:
            for worker in self._workers:
                self._at(self._random.random() * work.every_seconds, partial(self._share, worker, work))
        if (failure := setup.failure) is not None:
            self._at(failure.at_seconds, self._fail)
            self._at(failure.at_seconds + failure.noticed_after_seconds, self._notice)
            self._at(failure.at_seconds + failure.back_after_seconds, self._come_back)
        while self._events and self._events[0][0] <= setup.seconds:
            now, _, happen = heapq.heappop(self._events)
            happen(now)
        queues = {id(worker.queue): worker.queue for worker in self._workers}
        waiting = [*(one for queue in queues.values() for one in queue)]
        waiting += [one for worker in self._workers for one in worker.serving]
        self._outcome.unanswered = sum(one.arrived >= setup.warm_up_seconds for one in waiting)
        return self._outcome

    def _at(self, time: float, event: _Event) -> None:
        self._order += 1  # events of one moment happen in the order in which they were made
        heapq.heappush(self._events, (time, self._order, event))

    def _arrive(self, now: float) -> None:
        self._at(now + self._random.expovariate(self._setup.searches_per_second), self._arrive)
        self._route(_Search(now), now)

    def _route(self, search: _Search, now: float) -> None:
        if self._setup.routing == "shared":
            self._workers[0].queue.append(search)
            for worker in self._workers:
                if worker.alive and not worker.serving and worker.paused <= now:
                    self._begin(worker, now)
                    return
            return
        worker = self._listed[self._random.randrange(len(self._listed))]
        if not worker.alive:
            self._retry(search, now)
            return
        worker.queue.append(search)
        if not worker.serving:
            self._begin(worker, now)

    def _begin(self, worker: _Worker, now: float) -> None:
        if not worker.alive or worker.serving or worker.paused > now or not worker.queue:
            return
        count = min(len(worker.queue), self._setup.max_batch)
        worker.serving = [worker.queue.popleft() for _ in range(count)]
        worker.began = now
        seconds = self._setup.draw(self._random, count) * (2 if now < worker.shared_until else 1)
        if now >= self._setup.warm_up_seconds:
            self._outcome.busy_seconds += seconds
            self._outcome.batches += 1
        self._at(now + seconds, partial(self._done, worker, worker.generation))

    def _done(self, worker: _Worker, generation: int, now: float) -> None:
        if generation != worker.generation:
            return
        if worker.paused > now:  # it stood still meanwhile
            self._at(worker.paused, partial(self._done, worker, generation))
            return
        for search in worker.serving:
            if search.arrived >= self._setup.warm_up_seconds:
                self._outcome.arrived.append(search.arrived)
                self._outcome.took.append(now - search.arrived)
                self._outcome.waited.append(worker.began - search.arrived)
        worker.serving = []
        self._begin(worker, now)

    def _pause(self, worker: _Worker, pause: Pause, now: float) -> None:
        worker.paused = max(worker.paused, now) + pause.lasts_seconds
        self._at(worker.paused, partial(self._begin, worker))
        self._at(now + pause.every_seconds, partial(self._pause, worker, pause))

    def _share(self, worker: _Worker, work: Background, now: float) -> None:
        worker.shared_until = max(worker.shared_until, now + work.lasts_seconds)
        self._at(now + work.every_seconds, partial(self._share, worker, work))

    def _retry(self, search: _Search, now: float) -> None:
        self._outcome.retries += search.arrived >= self._setup.warm_up_seconds
        self._at(now + self._setup.retry_seconds, partial(self._route, search))

    # The first gateway fails, is taken off the balancer's list, and comes back.

    @property
    def _first(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.gateway == 0]

    def _fail(self, now: float) -> None:
        for worker in self._first:
            worker.alive = False
            worker.generation += 1
            lost = [*worker.serving, *(() if self._setup.routing == "shared" else worker.queue)]
            worker.serving = []
            if self._setup.routing == "random":
                worker.queue.clear()
            for search in lost:
                self._retry(search, now)

    def _notice(self, now: float) -> None:
        self._listed = [worker for worker in self._listed if worker.alive]

    def _come_back(self, now: float) -> None:
        for worker in self._first:
            worker.alive = True
        self._listed = list(self._workers)
