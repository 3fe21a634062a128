"""Contenders in turns: times of a fake clock, answers checked, and what becomes of those that fail."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from typing_extensions import override

from gateway.bench.speed.lanes import LaneError, TimedCalls, Turn
from gateway.bench.speed.race import Entry, Pace, run_race
from gateway.bench.speed.statistics import Spread


class FakeClock:
    """Seconds that pass only when someone works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class LocalLane:
    """A contender in this process, which takes so many seconds a call and finds one row."""

    def __init__(self, clock: FakeClock, seconds: float, *, finds: int = 0, fails_in_turn: int = 0) -> None:
        self._clock = clock
        self._seconds = seconds
        self._finds = finds
        self._fails_in_turn = fails_in_turn
        self.turns: list[list[int]] = []
        self.closed = False

    def open(self) -> Mapping[str, Any]:
        return {"version": "1"}

    def turn(self, numbers: Sequence[int]) -> Turn:
        self.turns.append(list(numbers))
        if self._fails_in_turn and len(self.turns) >= self._fails_in_turn:
            raise LaneError("cut after 60 s")
        return TimedCalls(self._work, clock=self._clock).turn(numbers)

    def _work(self, number: int) -> list[int]:
        self._clock.now += self._seconds
        return [self._finds]

    def close(self) -> None:
        self.closed = True


class AbsentLane(LocalLane):
    """One that cannot be set up."""

    def open(self) -> Mapping[str, Any]:
        raise LaneError("failed: ModuleNotFoundError: no peer")


PACE = Pace(rounds=3, turn_seconds=0.010, lane_seconds=10.0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_times_and_ratios_are_those_of_the_clock(clock: FakeClock) -> None:
    entries = [
        Entry(name="ours", lane=LocalLane(clock, 0.001)),
        Entry(name="theirs", lane=LocalLane(clock, 0.004)),
    ]

    ours, theirs = run_race(entries, 8, PACE).results

    assert ours.milliseconds.median == pytest.approx(1.0)
    assert theirs.milliseconds.median == pytest.approx(4.0)
    assert ours.ratio == Spread(1.0, 1.0, 1.0)
    assert theirs.ratio.median == pytest.approx(4.0)


def test_fast_contenders_make_many_calls_a_turn_and_slow_ones_one(clock: FakeClock) -> None:
    fast, slow = LocalLane(clock, 0.001), LocalLane(clock, 0.1)

    run_race([Entry(name="fast", lane=fast), Entry(name="slow", lane=slow)], 4, PACE)

    assert [len(turn) for turn in fast.turns] == [1, 1, 4, 10, 10, 10]
    assert [len(turn) for turn in slow.turns] == [1, 1, 1, 1, 1]


class CoolLane(LocalLane):
    """Takes twice as long for its first two calls."""

    @override
    def _work(self, number: int) -> list[int]:
        self._clock.now += self._seconds if sum(map(len, self.turns[:-1])) < 2 else 0.0
        return super()._work(number)


def test_calls_a_turn_are_those_of_a_contender_that_is_warm(clock: FakeClock) -> None:
    lane = CoolLane(clock, 0.001)

    run_race([Entry(name="cool", lane=lane)], 8, PACE)

    assert [len(turn) for turn in lane.turns] == [1, 1, 4, 10, 10, 10]


def test_a_contender_that_spent_its_time_rests_after_two_rounds(clock: FakeClock) -> None:
    slow = LocalLane(clock, 20.0)

    outcome = run_race([Entry(name="ours", lane=LocalLane(clock, 0.001)), Entry(name="slow", lane=slow)], 4, PACE)

    assert len(slow.turns) == 2 + 2
    assert outcome.results[1].calls == 2


def test_a_time_of_several_queries_is_that_of_one(clock: FakeClock) -> None:
    entries = [
        Entry(name="batch", lane=LocalLane(clock, 0.064), per_call=64),
        Entry(name="one by one", lane=LocalLane(clock, 0.002)),
    ]

    batch, single = run_race(entries, 1, PACE).results

    assert batch.milliseconds.median == pytest.approx(1.0)
    assert single.ratio.median == pytest.approx(2.0)


def test_answers_to_every_query_are_checked(clock: FakeClock) -> None:
    heard: list[Mapping[int, Sequence[int]]] = []

    def check(answers: Mapping[int, Sequence[int]]) -> tuple[str, float]:
        heard.append(answers)
        return "right", sum(found == [7] for found in answers.values()) / len(answers)

    entries = [Entry(name="ours", lane=LocalLane(clock, 0.02, finds=7), check=check)]

    (ours,) = run_race(entries, 20, PACE).results

    assert ours.check == ("right", 1.0)
    assert sorted(heard[0]) == list(range(20))
    assert ours.calls == 3


@pytest.mark.parametrize(
    ("lane", "reason"),
    [(AbsentLane, "no peer"), (LocalLane, "cut after 60 s")],
    ids=["cannot be set up", "fails in a turn"],
)
def test_a_peer_that_fails_is_named_with_its_reason_and_nothing_else_is_lost(
    clock: FakeClock, lane: type[LocalLane], reason: str
) -> None:
    ours, other = LocalLane(clock, 0.001), LocalLane(clock, 0.003)
    failing = lane(clock, 0.002, fails_in_turn=4)
    entries = [Entry(name=name, lane=one) for name, one in (("ours", ours), ("peer", failing), ("other", other))]

    outcome = run_race(entries, 4, PACE)

    assert [result.name for result in outcome.results] == ["ours", "other"]
    assert outcome.results[1].ratio.median == pytest.approx(3.0)
    assert reason in outcome.skipped["peer"]
    assert ours.closed and other.closed and failing.closed


def test_without_ours_there_is_nothing_to_compare_with(clock: FakeClock) -> None:
    entries = [Entry(name="ours", lane=AbsentLane(clock, 1)), Entry(name="theirs", lane=LocalLane(clock, 0.001))]

    outcome = run_race(entries, 4, PACE)

    assert outcome.results == ()
    assert "ours" in outcome.skipped


def test_another_contender_begins_each_round(clock: FakeClock) -> None:
    order: list[str] = []

    class Noting(LocalLane):
        def __init__(self, name: str) -> None:
            super().__init__(clock, 0.01)
            self.name = name

        def turn(self, numbers: Sequence[int]) -> Turn:
            order.append(self.name)
            return super().turn(numbers)

    run_race([Entry(name=name, lane=Noting(name)) for name in "abc"], 4, PACE)

    assert order[6:] == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
