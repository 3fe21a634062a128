"""A race: contenders answer the same queries in turns, so that whatever slows the machine slows all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.bench.speed.lanes import Lane, LaneError, Turn
from gateway.bench.speed.statistics import Spread, percentile, ratio_spread, spread

_MAX_CALLS: Final = 64
_FEWEST_ROUNDS: Final = 2
_FIRST_CALLS: Final = 4
_WORTH_A_P99: Final = 100
_SHORTEST: Final = 1e-6
"""Seconds: a clock may be too coarse to see a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a race may take."""

    rounds: int = 9
    turn_seconds: float = 0.2
    """About how long a turn is: fast contenders make many calls in it, slow ones one."""
    lane_seconds: float = 20.0
    """Of calls of one contender; after that it rests, with the rounds it has."""
    check_seconds: float = 5.0
    """Of further calls, which are not timed: so that answers to many queries are checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A contender by name, and whether its answers are the right ones."""

    name: str
    lane: Lane
    check: Callable[[Mapping[int, Sequence[int]]], tuple[str, float]] | None = None
    """From the answers by query to what was checked and the share that was right, 0 to 1."""
    per_call: int = 1
    """Queries that one call answers: times are of one query."""


@dataclass(slots=True)
class _Run:
    """What a contender did so far."""

    entry: Entry
    notes: Mapping[str, Any]
    calls: int
    medians: list[float] = field(default_factory=list[float])
    seconds: list[float] = field(default_factory=list[float])
    answers: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    @property
    def spent(self) -> float:
        return sum(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one contender reached."""

    name: str
    milliseconds: Spread
    """Of one query: median and quartiles over its turns."""
    p99_milliseconds: float | None
    """None after too few calls to say."""
    ratio: Spread
    """Times the first contender's, by round; 1 for the first itself."""
    check: tuple[str, float] | None
    checked: int
    """Queries whose answers were checked."""
    calls: int
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A race that was run; the first contender is the one the others are compared with."""

    results: tuple[Result, ...]
    skipped: dict[str, str]
    """Why a contender has no result."""


def run_race(
    entries: Sequence[Entry],
    queries: int,
    pace: Pace,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Open every contender, then let them take turns; `progress` hears of steps done and in all.

    One that fails or takes too long is left out, and said to be. Without the first there are no results.
    """
    race = _Race(queries, pace, progress, steps=len(entries) + pace.rounds)
    try:
        runs = [run for entry in entries if (run := race.opened(entry)) is not None]
        for number in range(pace.rounds):
            race.round(runs, number)
        for run in runs:
            race.answer_the_rest(run)
    finally:
        for entry in entries:
            entry.lane.close()
    done = [run for run in runs if run.entry.name not in race.skipped]
    if not done or done[0].entry is not entries[0]:
        return Outcome(results=(), skipped=race.skipped)
    return Outcome(results=tuple(_result(run, done[0]) for run in done), skipped=race.skipped)


class _Race:
    """A race while it is run."""

    def __init__(self, queries: int, pace: Pace, progress: Callable[[int, int], None] | None, *, steps: int) -> None:
        self._queries = queries
        self._pace = pace
        self._progress = progress
        self._steps = steps
        self._done = 0
        self.skipped: dict[str, str] = {}

    def opened(self, entry: Entry) -> _Run | None:
        """A contender set up and warm, with as many calls a turn as fit; None for one that cannot run."""
        self._step()
        try:
            notes = entry.lane.open()
            entry.lane.turn([0])
            seconds = entry.lane.turn([1 % self._queries]).seconds[0]
            if seconds < self._pace.turn_seconds / _FIRST_CALLS:
                # What is read for the first time takes several times as long.
                further = [(2 + call) % self._queries for call in range(_FIRST_CALLS)]
                seconds = min(entry.lane.turn(further).seconds)
        except LaneError as error:
            self.skipped[entry.name] = str(error)
            return None
        calls = min(int(self._pace.turn_seconds / max(seconds, _SHORTEST)), _MAX_CALLS)
        return _Run(entry, notes, max(calls, 1))

    def round(self, runs: Sequence[_Run], number: int) -> None:
        """A turn of each. Another one begins each round: whoever comes after a slow one finds colder caches."""
        first = number % max(len(runs), 1)
        for run in (*runs[first:], *runs[:first]):
            if run.spent <= self._pace.lane_seconds or len(run.medians) < _FEWEST_ROUNDS:
                numbers = [(number * run.calls + call) % self._queries for call in range(run.calls)]
                turn = self._turn(run, numbers)
                if turn is not None:
                    run.medians.append(spread(turn.seconds).median)
                    run.seconds.extend(turn.seconds)
        self._step()

    def answer_the_rest(self, run: _Run) -> None:
        """Untimed: queries that had no turn, as far as the time for that goes."""
        if run.entry.check is None or not run.seconds:
            return
        count = int(self._pace.check_seconds / max(run.spent / len(run.seconds), _SHORTEST))
        missing = [number for number in range(self._queries) if number not in run.answers][:count]
        if missing:
            self._turn(run, missing)

    def _turn(self, run: _Run, numbers: Sequence[int]) -> Turn | None:
        if run.entry.name in self.skipped:
            return None
        try:
            turn = run.entry.lane.turn(numbers)
        except LaneError as error:
            self.skipped[run.entry.name] = str(error)
            return None
        run.answers.update(zip(numbers, turn.answers, strict=True))
        return turn

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._steps)


def _result(run: _Run, first: _Run) -> Result:
    entry = run.entry
    in_milliseconds = 1e3 / entry.per_call
    relative = ratio_spread(run.medians, first.medians).times(first.entry.per_call / entry.per_call)
    return Result(
        name=entry.name,
        milliseconds=spread(run.medians).times(in_milliseconds),
        p99_milliseconds=percentile(run.seconds, 99) * in_milliseconds if len(run.seconds) >= _WORTH_A_P99 else None,
        ratio=relative if run is not first else Spread(1.0, 1.0, 1.0),
        check=entry.check(run.answers) if entry.check is not None else None,
        checked=len(run.answers) * entry.per_call,
        calls=len(run.seconds),
        notes=run.notes,
    )
