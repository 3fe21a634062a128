"""A race: contenders answer the same queries in turns, so that whatever slows the machine slows all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.bench.speed.lanes import Lane, LaneError
from gateway.bench.speed.statistics import Spread, percentile, ratio_spread, spread

_MAX_CALLS: Final = 64
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
    steps = len(entries) + pace.rounds
    skipped: dict[str, str] = {}
    runs: list[_Run] = []
    try:
        for number, entry in enumerate(entries):
            run = _opened(entry, queries, pace, skipped)
            if run is not None:
                runs.append(run)
            if progress is not None:
                progress(number + 1, steps)
        for number in range(pace.rounds):
            # Another one begins each round: whoever comes after a slow one finds colder caches.
            order = runs[number % len(runs) :] + runs[: number % len(runs)] if runs else []
            for run in order:
                if run.entry.name not in skipped:
                    _take_turn(run, number, queries, pace, skipped)
            if progress is not None:
                progress(len(entries) + number + 1, steps)
        for run in runs:
            if run.entry.check is not None and run.entry.name not in skipped:
                _answer_the_rest(run, queries, pace, skipped)
    finally:
        for entry in entries:
            entry.lane.close()
    done = [run for run in runs if run.entry.name not in skipped]
    if not done or done[0].entry is not entries[0]:
        return Outcome(results=(), skipped=skipped)
    return Outcome(results=tuple(_result(run, done[0]) for run in done), skipped=skipped)


def _opened(entry: Entry, queries: int, pace: Pace, skipped: dict[str, str]) -> _Run | None:
    """A contender set up and warm, with as many calls a turn as fit."""
    try:
        notes = entry.lane.open()
        entry.lane.turn([0])
        seconds = entry.lane.turn([1 % queries]).seconds[0]
    except LaneError as error:
        skipped[entry.name] = str(error)
        return None
    calls = min(int(pace.turn_seconds / max(seconds, _SHORTEST)), _MAX_CALLS)
    return _Run(entry, notes, max(calls, 1))


def _take_turn(run: _Run, number: int, queries: int, pace: Pace, skipped: dict[str, str]) -> None:
    if run.spent > pace.lane_seconds and len(run.medians) >= 2:
        return
    numbers = list(_numbers(number, run.calls, queries))
    try:
        turn = run.entry.lane.turn(numbers)
    except LaneError as error:
        skipped[run.entry.name] = str(error)
        return
    run.medians.append(spread(turn.seconds).median)
    run.seconds.extend(turn.seconds)
    run.answers.update(zip(numbers, turn.answers, strict=True))


def _answer_the_rest(run: _Run, queries: int, pace: Pace, skipped: dict[str, str]) -> None:
    """Untimed: queries that had no turn, as far as the time for a contender goes, so that the check is of many."""
    missing = [number for number in range(queries) if number not in run.answers]
    count = int(pace.lane_seconds / max(run.spent / len(run.seconds), _SHORTEST))
    if not missing[:count]:
        return
    try:
        turn = run.entry.lane.turn(missing[:count])
    except LaneError as error:
        skipped[run.entry.name] = str(error)
        return
    run.answers.update(zip(missing, turn.answers, strict=False))


def _numbers(round_number: int, calls: int, queries: int) -> Iterator[int]:
    for call in range(calls):
        yield (round_number * calls + call) % queries


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
        calls=len(run.seconds),
        notes=run.notes,
    )
