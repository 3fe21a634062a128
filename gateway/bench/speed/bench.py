"""What every row of the benchmark is given: the data, processes to measure in, and how long things may take."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.bench.progress import Progress
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.grown import DenseFiles, dense_files
from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.machine import version_of
from gateway.bench.speed.processes import RemoteLane, Worker
from gateway.bench.speed.race import Entry, Outcome, Pace, run_race

Check = Callable[[Mapping[int, Sequence[int]]], tuple[str, float]]

FULL: Final = Pace()
QUICK: Final = Pace(rounds=5, turn_seconds=0.1, lane_seconds=2.0, check_seconds=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """After so many seconds a contender is cut and shown as skipped."""

    open_seconds: float = 300.0
    turn_seconds: float = 60.0
    measure_seconds: float = 1800.0
    """Of our own measurements, which fill whole catalogs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the run was asked for."""

    quick: bool = False
    peers: bool = False
    """Also contenders whose packages are no dependency of this product."""
    pythons: Mapping[str, str] = field(default_factory=dict[str, str])
    """Interpreters of other environments, by the name of the contender that lives there."""
    million: bool = False
    """Also fill a whole catalog of a million tools."""
    only: tuple[str, ...] = ()
    """Rows whose keys hold one of these; none: all of them."""

    def wants(self, key: str) -> bool:
        return not self.only or any(part in key for part in self.only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A contender that is still to be set up."""

    name: str
    maker: str
    settings: Settings = field(default_factory=dict[str, Any])
    group: str = "own"
    """Those of one group share a process and its data."""
    package: str = ""
    """The distribution of a peer: without it, or without `--peers`, it does not run. Empty: it always does."""
    skip: str = ""
    """Why it is not even tried."""
    check: Check | None = None
    per_call: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRow:
    """A race of one row of the report."""

    key: str
    title: str
    queries: int
    contestants: Sequence[Contestant]
    """The first is the one the others are compared with."""


@dataclass(slots=True)
class Bench:
    """One run."""

    data: BenchData
    encoder: str
    """As `make_embedder` knows it."""
    options: Options
    heard: Progress
    caps: Caps = field(default_factory=Caps)

    def files(self, dimensions: int, rows: int) -> DenseFiles:
        return dense_files(self.data, dimensions, rows, self.heard)

    def text_settings(self) -> dict[str, Any]:
        """The requests, in a form that a worker is told."""
        return {
            "data": str(self.data.folder),
            "encoder": self.encoder,
            "requests": [request.text for request in self.data.requests],
            "needed": [request.row for request in self.data.requests],
        }

    def race(self, row: RaceRow) -> Outcome:
        """Run the contestants that are here; the others are named with the reason."""
        pace = QUICK if self.options.quick else FULL
        skipped: dict[str, str] = {}
        workers: dict[tuple[str, str], Worker] = {}
        entries: list[Entry] = []
        for number, one in enumerate(row.contestants):
            reason = self._absent(one)
            if reason:
                skipped[one.name] = reason
                continue
            python = self.options.pythons.get(one.name, sys.executable)
            worker = workers.setdefault((one.group, python), Worker(python))
            lane = RemoteLane(
                worker,
                number,
                one.maker,
                one.settings,
                open_seconds=self.caps.open_seconds,
                turn_seconds=self.caps.turn_seconds,
            )
            entries.append(Entry(name=one.name, lane=lane, check=one.check, per_call=one.per_call))
        try:
            outcome = run_race(
                entries, row.queries, pace, progress=lambda done, total: self.heard(row.title, done, total)
            )
        finally:
            for worker in workers.values():
                worker.stop()
        return Outcome(results=outcome.results, skipped={**skipped, **outcome.skipped})

    def _absent(self, one: Contestant) -> str:
        if not one.package:
            return one.skip
        if not self.options.peers:
            return "not asked for: --peers"
        if one.name not in self.options.pythons and not version_of(one.package):
            return f"not installed: pip install {one.package}"
        return one.skip

    def measure(self, maker: str, settings: Settings) -> dict[str, Any]:
        """The record of one measurement, made in a process of its own. Raises: LaneError."""
        worker = Worker()
        try:
            message = {"op": "measure", "maker": maker, "settings": dict(settings)}
            record: dict[str, Any] = worker.ask(message, self.caps.measure_seconds)["measured"]
            return record
        finally:
            worker.stop()
