"""Gateways that write and follow one store, in any interleaving: no acknowledged change is lost or missed."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from qdrant_client import QdrantClient

from indexer.definition import ToolDefinition, ToolKey
from indexer.errors import StoreUnavailableError
from indexer.stores.base import SharedToolStore
from indexer.stores.memory import MemoryToolStore
from indexer.stores.qdrant import QdrantToolStore
from tests.contracts.stores import LOCAL
from tests.indexer.interleaving import DIMENSIONS, Actor, Clock, Gateway, stored_contents

NAMES = ("a", "b", "c", "d")
GATEWAYS = 3
NOTHING = ""
LONGEST_ON_ITS_WAY = 600.0
"""Seconds that a write of a dead process may still be under way: as long as others look for it."""


def memory_store() -> SharedToolStore:
    return MemoryToolStore(DIMENSIONS)


def local_store() -> SharedToolStore:
    return QdrantToolStore(QdrantClient(":memory:"), "tools", DIMENSIONS, options=LOCAL)


def definition(name: str, description: str) -> ToolDefinition:
    return ToolDefinition(name=name, description=description)


@dataclass
class Operation:
    """What a client asked of a gateway, and when by the count of all events."""

    key: ToolKey
    wanted: str
    """The description that it registers; `NOTHING` for a deletion."""
    started: int
    acknowledged: int | None = None


class SeveralWriters(RuleBasedStateMachine):
    """Rules start requests, let them advance by one store request each, kill processes, and move the clocks."""

    def __init__(self, make_store: Callable[[], SharedToolStore]) -> None:
        super().__init__()
        self.store = make_store()
        self.clock = Clock()
        self.gateways = [Gateway(self.store, self.clock, seed) for seed in range(GATEWAYS)]
        self.busy: dict[int, tuple[Actor, list[Operation]]] = {}
        self.begun: dict[int, float] = {}
        """When each gateway began with what it does."""
        self.operations: list[Operation] = []
        self.late: list[tuple[float, Callable[[], object]]] = []
        """Writes of processes that are dead, and since when."""
        self.gave_up_late: set[ToolKey] = set()
        self.events = 0
        self.registered = 0

    def _event(self) -> int:
        self.events += 1
        return self.events

    def _start(self, number: int, work: Callable[[], object], operations: list[Operation]) -> None:
        self.operations += operations
        self.begun[number] = self.clock.now
        self.busy[number] = (Actor(work), operations)
        self._settle(number)

    def _settle(self, number: int) -> None:
        """Note the answer of a request that has ended."""
        actor, operations = self.busy[number]
        if not actor.done:
            return
        del self.busy[number]
        if actor.failure is not None:
            self._give_up(number, operations)
        if actor.failure is not None and not isinstance(actor.failure, StoreUnavailableError):
            raise actor.failure
        if actor.failure is None:
            now = self._event()
            for operation in operations:
                operation.acknowledged = now

    def _give_up(self, number: int, operations: list[Operation]) -> None:
        """What was sent later than others look for it is not promised to be seen, for nobody acknowledged it."""
        if self.clock.now > self.begun[number] + LONGEST_ON_ITS_WAY:
            self.gave_up_late.update(operation.key for operation in operations)

    @rule(
        number=st.integers(0, GATEWAYS - 1), names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
    )
    def register(self, number: int, names: list[str]) -> None:
        if number in self.busy:
            return
        self.registered += 1
        tools = [definition(name, f"version {self.registered}") for name in names]
        started = self._event()
        operations = [Operation(tool.key, tool.description, started) for tool in tools]
        self._start(number, lambda: self.gateways[number].register(tools), operations)

    @rule(number=st.integers(0, GATEWAYS - 1), name=st.sampled_from(NAMES))
    def stall(self, number: int, name: str) -> None:
        """A registration that has its lease, and does not write yet."""
        if number in self.busy:
            return
        self.register(number, [name])
        if number in self.busy:
            with suppress(AssertionError):  # it may have nothing to write
                self.busy[number][0].run_until("upsert_newer")
            self._settle(number)

    @rule(number=st.integers(0, GATEWAYS - 1), name=st.sampled_from(NAMES), seconds=st.sampled_from((61.0, 602.0)))
    def overtake(self, number: int, name: str, seconds: float) -> None:
        """Time passes, and somebody else registers and is followed: leases lapse, or are dropped."""
        if number in self.busy:
            return
        self.wait(seconds)
        self.register(number, [name])
        self._finish(number)
        for other in range(GATEWAYS):
            if other not in self.busy:
                self.follow(other)
                self._finish(other)

    @rule(number=st.integers(0, GATEWAYS - 1), name=st.sampled_from(NAMES))
    def delete_and_purge(self, number: int, name: str) -> None:
        """A tombstone comes and goes, while others look away."""
        if number in self.busy:
            return
        self.delete(number, name)
        self._finish(number)
        self.wait(4000.0)
        self.purge(number)
        self._finish(number)

    @rule(number=st.integers(0, GATEWAYS - 1), name=st.sampled_from(NAMES))
    def register_what_another_gateway_has(self, number: int, name: str) -> None:
        """The same definition again: unchanged, unless it was changed meanwhile."""
        if number in self.busy:
            return
        tool = definition(name, f"version {max(self.registered - 1, 1)}")
        operations = [Operation(tool.key, tool.description, self._event())]
        self._start(number, lambda: self.gateways[number].register([tool]), operations)

    @rule(number=st.integers(0, GATEWAYS - 1), name=st.sampled_from(NAMES))
    def delete(self, number: int, name: str) -> None:
        if number in self.busy:
            return
        key = definition(name, "").key
        operations = [Operation(key, NOTHING, self._event())]
        self._start(number, lambda: self.gateways[number].delete([key]), operations)

    @rule(number=st.integers(0, GATEWAYS - 1))
    def follow(self, number: int) -> None:
        if number not in self.busy:
            self._start(number, self.gateways[number].writer.follow, [])

    @rule(number=st.integers(0, GATEWAYS - 1))
    def purge(self, number: int) -> None:
        if number not in self.busy:
            self._start(number, self.gateways[number].log.purge, [])

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), steps=st.integers(1, 5))
    def step(self, data: st.DataObject, steps: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.busy)))
        for _ in range(steps):
            if number in self.busy:
                self.busy[number][0].step()
                self._settle(number)

    @precondition(lambda self: self.busy)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.busy)))
        self._finish(number)

    def _finish(self, number: int) -> None:
        if number not in self.busy:
            return
        with suppress(StoreUnavailableError):
            self.busy[number][0].finish()
        self._settle(number)

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), arrives_late=st.booleans())
    def kill(self, data: st.DataObject, arrives_late: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.busy)))
        actor, operations = self.busy.pop(number)
        self._give_up(number, operations)
        write = actor.kill()
        # What was sent longer ago than others look for it is not promised to be seen, for nobody acknowledged it.
        if write is not None and arrives_late and self.clock.now <= self.begun[number] + LONGEST_ON_ITS_WAY:
            self.late.append((self.begun[number], write))
        self.gateways[number] = Gateway(self.store, self.clock, 100 + self.events)

    @precondition(lambda self: self.late)
    @rule()
    def deliver(self) -> None:
        """A write of a process that is dead arrives."""
        self.late.pop(0)[1]()

    @rule(seconds=st.sampled_from((1.0, 61.0, 300.0, 4000.0)))
    def wait(self, seconds: float) -> None:
        while self.late and self.clock.now + seconds > min(begun for begun, _ in self.late) + LONGEST_ON_ITS_WAY:
            self.deliver()
        self.clock.now += seconds

    def teardown(self) -> None:
        try:
            self._check()
        finally:
            for actor, _ in self.busy.values():
                actor.kill()

    def _check(self) -> None:
        for number in list(self.busy):
            self._finish(number)
        while self.late:
            self.deliver()
        # Leases of the dead lapse, and are dropped after the grace time; every gateway asks for news meanwhile.
        for seconds in (61.0, 601.0, 1.0):
            self._all_follow()
            self.clock.now += seconds
        self._all_follow()
        expected = stored_contents(self.store)
        for gateway in self.gateways:
            contents = gateway.contents()
            assert {key for key in contents.keys() | expected.keys() if contents.get(key) != expected.get(key)} <= (
                self.gave_up_late
            )
        self._check_nothing_is_lost(expected)

    def _all_follow(self) -> None:
        for gateway in self.gateways:
            gateway.writer.follow()

    def _check_nothing_is_lost(self, contents: dict[ToolKey, tuple[int, str]]) -> None:
        """What is there now was asked for by a request that no later one, acknowledged and different, has undone."""
        for name in NAMES:
            key = definition(name, "").key
            here = contents[key][1] if key in contents else NOTHING
            asked = [one for one in self.operations if one.key == key]
            last_end = max(
                (
                    self.events + 1 if one.acknowledged is None else one.acknowledged
                    for one in asked
                    if one.wanted == here
                ),
                default=0 if here == NOTHING else -1,
            )
            assert last_end >= 0, f"nobody asked for {here!r}"
            undone = [
                one for one in asked if one.acknowledged is not None and one.started > last_end and one.wanted != here
            ]
            assert not undone, f"{key} is {here!r}, but {undone} was acknowledged later"


def run(make_store: Callable[[], SharedToolStore], examples: int, steps: int) -> None:
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        lambda: SeveralWriters(make_store),  # pyright: ignore[reportArgumentType]  any factory will do
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def test_no_interleaving_loses_an_acknowledged_change_in_memory() -> None:
    run(memory_store, examples=60, steps=50)


def test_no_interleaving_loses_an_acknowledged_change_in_qdrant() -> None:
    run(local_store, examples=15, steps=40)


@pytest.mark.slow
def test_no_interleaving_of_many_loses_an_acknowledged_change() -> None:
    run(memory_store, examples=3000, steps=80)
