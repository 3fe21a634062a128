"""What takes turns in a race: a contender that has been set up and can be asked again and again."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Seconds, of any origin."""
Settings: TypeAlias = Mapping[str, Any]
"""What a contender is made of, as JSON: paths, sizes, options."""


class LaneError(Exception):
    """A contender that cannot go on, and why; the race goes on without it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Some calls in a row."""

    seconds: list[float]
    """Of each call."""
    answers: list[list[int]]
    """The rows that each call found, best first."""


class Contender(Protocol):
    """A contender in the process that runs it."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What is worth saying of it beside its speed: a version, memory, how it was set up."""
        ...

    def turn(self, numbers: Sequence[int]) -> Turn:
        """Answer the queries of these numbers, each timed by itself."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class TimedCalls:
    """A contender that is one function of a query's number to the rows it finds."""

    call: Callable[[int], Collection[int]]
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    clock: Clock = time.perf_counter

    def turn(self, numbers: Sequence[int]) -> Turn:
        seconds: list[float] = []
        answers: list[list[int]] = []
        for number in numbers:
            started = self.clock()
            found = self.call(number)
            seconds.append(self.clock() - started)
            answers.append(list(map(int, found)))
        return Turn(seconds, answers)

    def close(self) -> None:
        """What it is made of goes when nobody holds it any more."""


class Lane(Protocol):
    """A contender as a race sees it, in this process or in another."""

    def open(self) -> Mapping[str, Any]:
        """Set it up; its notes. Raises: LaneError."""
        ...

    def turn(self, numbers: Sequence[int]) -> Turn:
        """As `Contender.turn`. Raises: LaneError."""
        ...

    def close(self) -> None: ...
