"""Gateways over one store, step by step: stalls, crashes, equal tools, deletions, and what each of them must see."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from indexer.definition import ToolDefinition
from indexer.errors import CatalogMovedError, EncoderMismatchError, StoreUnavailableError
from indexer.stores.base import SharedToolStore, StoredTool
from indexer.stores.memory import MemoryToolStore
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import connect
from tests.contracts.stores import LOCAL, shared_stub
from tests.indexer.interleaving import DIMENSIONS, Actor, Clock, Gateway, stored_contents


def in_memory() -> SharedToolStore:
    return MemoryToolStore(DIMENSIONS)


def in_qdrant() -> SharedToolStore:
    return QdrantToolStore(QdrantClient(":memory:"), "tools", DIMENSIONS, options=LOCAL)


@pytest.fixture(params=[in_memory, in_qdrant], ids=lambda make: make.__name__)
def store(request: pytest.FixtureRequest) -> SharedToolStore:
    make: Callable[[], SharedToolStore] = request.param
    return make()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def tool(name: str, description: str = "Does something.") -> ToolDefinition:
    return ToolDefinition(name=name, description=description)


def seen(gateway: Gateway) -> dict[str, str]:
    return {key.name: description for key, (_, description) in gateway.contents().items()}


def registering(gateway: Gateway, *tools: ToolDefinition) -> Actor:
    return Actor(lambda: gateway.register(tools))


def change_ledger(store: SharedToolStore, **fields: Any) -> None:
    ledger = store.ledger()
    store.swap_ledger(ledger, replace(ledger, **fields).stepped("test"))


def test_what_one_gateway_registers_another_sees_at_its_next_question(store: SharedToolStore, clock: Clock) -> None:
    one, two = Gateway(store, clock, 1), Gateway(store, clock, 2)
    one.register([tool("a"), tool("b")])
    assert seen(two) == {}
    assert two.writer.follow()
    assert seen(two) == seen(one) == {"a": "Does something.", "b": "Does something."}
    assert not two.writer.follow()
    two.delete([tool("a").key])
    assert seen(two) == {"b": "Does something."}
    one.writer.follow()
    assert seen(one) == seen(two)


def test_a_write_that_stalls_after_its_lease_is_seen_by_those_who_read_past_it(
    store: SharedToolStore, clock: Clock
) -> None:
    slow, fast, follower = (Gateway(store, clock, seed) for seed in range(3))
    stalled = registering(slow, tool("slow"))
    stalled.run_until("upsert_newer")
    fast.register([tool("fast")])
    follower.writer.follow()
    assert seen(follower) == {"fast": "Does something."}
    stalled.finish()
    follower.writer.follow()
    fast.writer.follow()
    assert set(seen(follower)) == set(seen(fast)) == {"slow", "fast"}
    assert follower.writer.state.revision == 2


def test_a_write_is_seen_before_and_after_it_is_acknowledged(store: SharedToolStore, clock: Clock) -> None:
    slow, follower = Gateway(store, clock, 1), Gateway(store, clock, 2)
    stalled = registering(slow, tool("slow"))
    stalled.run_until("upsert_newer")
    stalled.step()
    follower.writer.follow()
    assert seen(follower) == {"slow": "Does something."}
    stalled.finish()
    follower.writer.follow()
    assert seen(follower) == {"slow": "Does something."}
    assert follower.writer.state.n_rows == 1


def test_a_writer_that_outlived_its_lease_does_not_write_under_it(store: SharedToolStore, clock: Clock) -> None:
    slow = Gateway(store, clock, 1)
    stalled = registering(slow, tool("slow"))
    stalled.run_until("read_back")  # its lease is made, and it does not know yet
    clock.now += 61.0
    stalled.finish()
    assert stored_contents(store)[tool("slow").key][0] == 2
    assert stalled.result == 2


def test_a_writer_whose_lease_lapsed_writes_again_before_it_answers(store: SharedToolStore, clock: Clock) -> None:
    slow, other, follower = (Gateway(store, clock, seed) for seed in range(3))
    stalled = registering(slow, tool("slow"))
    stalled.run_until("upsert_newer")
    for seconds in (61.0, 601.0, 1.0):  # lapsed, dropped, and nobody looks there any more
        clock.now += seconds
        other.register([tool("other", f"version {seconds}")])
        follower.writer.follow()
    stalled.finish()
    follower.writer.follow()
    assert set(seen(follower)) == {"slow", "other"}
    assert stalled.result == 5


def test_of_two_writes_of_one_tool_the_later_lease_wins_whatever_arrives_first(
    store: SharedToolStore, clock: Clock
) -> None:
    early, late, follower = (Gateway(store, clock, seed) for seed in range(3))
    stalled = registering(early, tool("a", "early"))
    stalled.run_until("upsert_newer")
    late.register([tool("a", "late")])
    stalled.finish()
    for gateway in (early, late, follower):
        gateway.writer.follow()
        assert seen(gateway) == {"a": "late"}


def test_a_deletion_is_not_undone_by_an_older_write_that_arrives_later(store: SharedToolStore, clock: Clock) -> None:
    early, late, follower = (Gateway(store, clock, seed) for seed in range(3))
    late.register([tool("a", "first")])
    stalled = registering(early, tool("a", "early"))
    stalled.run_until("upsert_newer")
    late.delete([tool("a").key])
    stalled.finish()
    for gateway in (early, late, follower):
        gateway.writer.follow()
        assert seen(gateway) == {}


def test_registering_again_what_another_gateway_has_replaced_is_no_repetition(
    store: SharedToolStore, clock: Clock
) -> None:
    one, two = Gateway(store, clock, 1), Gateway(store, clock, 2)
    one.register([tool("a", "first")])
    two.register([tool("a", "second")])
    one.register([tool("a", "first")])
    two.writer.follow()
    assert seen(one) == seen(two) == {"a": "first"}
    assert stored_contents(store)[tool("a").key] == (3, "first")


def test_the_late_write_of_a_dead_process_is_seen_by_all(store: SharedToolStore, clock: Clock) -> None:
    dying, other, follower = (Gateway(store, clock, seed) for seed in range(3))
    stalled = registering(dying, tool("late"))
    stalled.run_until("upsert_newer")
    write = stalled.kill()
    assert write is not None
    clock.now += 61.0
    other.register([tool("other")])  # marks the lease of the dead
    follower.writer.follow()
    clock.now += 300.0
    write()
    follower.writer.follow()  # nothing tells it yet
    clock.now += 301.0
    other.writer.follow()
    follower.writer.follow()
    later = Gateway(store, clock, 9)
    assert seen(follower) == seen(other) == seen(later) == {"late": "Does something.", "other": "Does something."}
    assert store.ledger().leases == ()


def test_a_reading_goes_on_while_a_lease_is_open_and_reads_nothing_twice(store: SharedToolStore, clock: Clock) -> None:
    slow, fast, follower = (Gateway(store, clock, seed) for seed in range(3))
    stalled = registering(slow, tool("slow"))
    stalled.run_until("upsert_newer")
    for number in range(5):
        fast.register([tool(f"tool_{number}")])
        follower.writer.follow()
    rows = follower.writer.state.n_rows
    for _ in range(3):
        assert not follower.writer.follow()
    assert follower.writer.state.n_rows == rows == 5
    stalled.finish()


def test_a_snapshot_remembers_what_might_still_come(store: SharedToolStore, clock: Clock, tmp_path: Path) -> None:
    slow, fast = Gateway(store, clock, 1), Gateway(store, clock, 2)
    stalled = registering(slow, tool("slow"))
    stalled.run_until("upsert_newer")
    fast.register([tool("fast")])
    saving = Gateway(store, clock, 3, snapshot_path=tmp_path / "one")
    saving.writer.close()
    stalled.finish()
    again = Gateway(store, clock, 4, snapshot_path=tmp_path / "one")
    assert set(seen(again)) == {"slow", "fast"}
    assert again.writer.state.n_rows == 2


def test_a_rebuild_that_is_cut_off_after_it_wrote_misses_nothing(store: SharedToolStore, clock: Clock) -> None:
    here = Gateway(store, clock, 1)
    here.register([tool("a")])
    foreign = StoredTool(
        definition=tool("b"), content_hash=tool("b").content_hash, revision=2, encoder_id="older/t1", vector=None
    )
    store.upsert([foreign])
    change_ledger(store, allocated=2, purged_through=2)  # so that everything must be read again
    rebuilding = Actor(here.writer.follow)
    rebuilding.run_until("upsert_newer")
    rebuilding.step()
    rebuilding.run_until("scan_all")
    rebuilding.kill()
    here.writer.follow()
    assert set(seen(here)) == {"a", "b"}


def test_a_gateway_that_was_away_longer_than_tombstones_are_kept_reads_everything_again(
    store: SharedToolStore, clock: Clock
) -> None:
    here, away = Gateway(store, clock, 1), Gateway(store, clock, 2)
    here.register([tool("a"), tool("b")])
    away.writer.follow()
    here.delete([tool("a").key])
    clock.now += 4000.0
    assert here.log.purge() == 3
    assert [tool.revision for batch in store.scan_all() for tool in batch] == [2]
    away.writer.follow()
    assert seen(away) == {"b": "Does something."}


def test_a_tombstone_that_goes_while_it_is_about_to_be_read_is_not_missed(store: SharedToolStore, clock: Clock) -> None:
    here, reader = Gateway(store, clock, 1), Gateway(store, clock, 2)
    here.register([tool("a"), tool("b")])
    reader.writer.follow()
    here.delete([tool("a").key])
    clock.now += 4000.0
    reading = Actor(reader.writer.follow)
    reading.run_until("scan_spans")
    here.log.purge()
    reading.finish()
    assert seen(reader) == {"b": "Does something."}


def test_tombstones_stay_as_long_as_they_are_young(store: SharedToolStore, clock: Clock) -> None:
    here = Gateway(store, clock, 1)
    here.register([tool("a"), tool("b"), tool("c")])
    here.delete([tool("a").key])
    assert here.log.purge() == 0
    clock.now += 4000.0
    here.register([tool("d")])
    assert here.log.purge() == 4
    assert store.ledger().purged_through == 4


def test_a_tombstone_stays_while_an_older_write_may_still_come(store: SharedToolStore, clock: Clock) -> None:
    slow, other = Gateway(store, clock, 1), Gateway(store, clock, 2)
    other.register([tool("a", "first")])
    stalled = registering(slow, tool("a", "slow"))
    stalled.run_until("upsert_newer")
    other.delete([tool("a").key])
    clock.now += 50.0
    brief = Gateway(store, clock, 3, tombstone_seconds=10.0)
    assert brief.log.purge() == 0
    stalled.finish()
    other.writer.follow()
    assert seen(other) == {}
    clock.now += 50.0
    assert brief.log.purge() == 3


def test_a_purge_that_was_cut_off_is_finished_by_the_next(store: SharedToolStore, clock: Clock) -> None:
    here, other = Gateway(store, clock, 1), Gateway(store, clock, 2)
    here.register([tool("a")])
    here.delete([tool("a").key])
    clock.now += 4000.0
    purging = Actor(here.log.purge)
    purging.run_until("purge")
    purging.kill()
    assert len(list(store.tombstones(through=9))) == 1
    assert other.log.purge() == 2
    assert list(store.tombstones(through=9)) == []


def test_a_catalog_of_another_encoder_is_not_opened_and_not_changed(store: SharedToolStore, clock: Clock) -> None:
    Gateway(store, clock, 1).register([tool("a")])
    with pytest.raises(EncoderMismatchError, match=r"migrate --encoder other"):
        Gateway(store, clock, 2, encoder="other")
    assert stored_contents(store)[tool("a").key][0] == 1


def test_a_gateway_says_so_when_the_catalog_has_moved_to_another_encoder(store: SharedToolStore, clock: Clock) -> None:
    here = Gateway(store, clock, 1)
    here.register([tool("a")])
    change_ledger(store, encoder_id="new/t2", encoder="new")
    with pytest.raises(CatalogMovedError, match="TOOLSCOUT_ENCODER=new"):
        here.register([tool("b")])
    assert seen(here) == {"a": "Does something."}


def test_a_catalog_that_is_being_moved_takes_no_changes_and_is_searched_on(
    store: SharedToolStore, clock: Clock
) -> None:
    here, follower = Gateway(store, clock, 1), Gateway(store, clock, 2)
    here.register([tool("a")])
    change_ledger(store, sealed_for="new")
    with pytest.raises(StoreUnavailableError, match="being moved"):
        here.register([tool("b")])
    follower.writer.follow()
    assert seen(follower) == seen(here) == {"a": "Does something."}
    change_ledger(store, sealed_for="")
    here.register([tool("b")])
    assert set(seen(here)) == {"a", "b"}


def test_gateways_over_http_see_each_others_changes(clock: Clock) -> None:
    name = "several-gateways"
    stores = [QdrantToolStore(connect(shared_stub().url), name, DIMENSIONS) for _ in range(2)]
    one, two = (Gateway(store, clock, seed) for seed, store in enumerate(stores))
    stalled = registering(one, tool("slow"))
    stalled.run_until("upsert_newer")
    two.register([tool("fast")])
    two.delete([tool("fast").key])
    stalled.finish()
    two.writer.follow()
    one.writer.follow()
    assert seen(one) == seen(two) == {"slow": "Does something."}
    assert one.writer.state.revision == two.writer.state.revision == 3
    for store in stores:
        store.close()
