"""What every `SharedToolStore` promises beside `ToolStore`, run over each of them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from indexer.stores.base import SharedToolStore
from indexer.stores.ledger import Lease, Span
from tests.contracts.stores import StoreHouse, memory_house, qdrant_house, server_house, stored, stub_house

HOUSES = (memory_house, qdrant_house, stub_house, server_house)


@pytest.fixture(params=HOUSES, ids=lambda house: house.__name__)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedToolStore]:
    make: Callable[[Path], StoreHouse] = request.param
    opened = cast("SharedToolStore", make(tmp_path).open())
    yield opened
    opened.close()


def test_a_new_store_has_a_ledger_that_no_reading_of_tools_shows(store: SharedToolStore) -> None:
    ledger = store.ledger()
    assert (ledger.version, ledger.allocated, ledger.leases) == (1, 0, ())
    assert store.ledger() == ledger
    assert store.count() == 0
    assert store.last_revision() == 0
    assert list(store.scan()) == []
    assert list(store.scan_all()) == []
    assert list(store.tombstones(through=100)) == []


def test_a_ledger_is_changed_by_whoever_has_seen_its_last_version(store: SharedToolStore) -> None:
    first = store.ledger()
    lease = Lease(id="a", first=1, last=5, expires=12.5, lapsed=13.25)
    second = replace(first, allocated=5, leases=(lease,), encoder_id="x/t2").stepped("one")
    assert store.swap_ledger(first, second) == second
    other = replace(first, allocated=99).stepped("two")
    assert store.swap_ledger(first, other) == second
    third = second.without("a").stepped("three")
    assert store.swap_ledger(second, third) == third
    assert store.ledger() == third


def test_a_conditional_write_leaves_points_that_are_as_new(store: SharedToolStore) -> None:
    store.ledger()
    store.upsert_newer([stored("a", 5), stored("b", 6)], before=5)
    store.upsert_newer([stored("a", 3, description="Older."), stored("c", 4)], before=3)
    store.upsert_newer([stored("b", 9, status="deleted")], before=9)
    found = {tool.key.name: tool for batch in store.scan() for tool in batch}
    assert {name: (tool.revision, tool.status) for name, tool in found.items()} == {
        "a": (5, "active"), "b": (9, "deleted"), "c": (4, "active"),
    }  # fmt: skip
    assert found["a"].definition.description == "Refund an order."


def test_spans_are_read_in_order_and_in_batches(store: SharedToolStore) -> None:
    store.upsert([stored(f"tool_{number}", number) for number in range(1, 21)])
    spans = [Span(2, 4), Span(9, 9), Span(15, 40)]
    batches = list(store.scan_spans(spans, batch_size=4))
    assert [tool.revision for batch in batches for tool in batch] == [2, 3, 4, 9, 15, 16, 17, 18, 19, 20]
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert all(tool.vector is not None for batch in batches for tool in batch)
    assert list(store.scan_spans([])) == []


def test_everything_is_read_once_whatever_the_batches(store: SharedToolStore) -> None:
    tools = [stored(f"tool_{number}", number) for number in range(1, 12)]
    store.upsert([*tools, stored("gone", 12, status="deleted"), stored("held", 13, status="quarantined")])
    store.ledger()
    for size in (1, 5, 13, 100):
        batches = list(store.scan_all(batch_size=size))
        assert all(len(batch) <= size for batch in batches)
        assert sorted(tool.revision for batch in batches for tool in batch) == list(range(1, 14))
    assert all(tool.vector is None for batch in store.scan_all(vectors=False) for tool in batch)


def test_tombstones_are_found_with_their_time_and_purged_up_to_a_revision(store: SharedToolStore) -> None:
    dead = [
        replace(stored(f"dead_{number}", number, status="deleted"), deleted_at=10.0 * number) for number in (2, 4, 6)
    ]
    store.upsert([stored("a", 1), *dead, stored("b", 5)])
    found = [tool for batch in store.tombstones(through=5) for tool in batch]
    assert [(tool.revision, tool.deleted_at) for tool in found] == [(2, 20.0), (4, 40.0)]
    store.purge(through=5)
    assert [tool.revision for batch in store.scan() for tool in batch] == [1, 5, 6]
