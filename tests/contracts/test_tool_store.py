"""What every `ToolStore` promises, run over each of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexer.definition import ToolDefinition
from indexer.errors import DimensionMismatchError, StoreError
from indexer.stores.base import StoredTool, ToolStore
from tests.contracts.stores import HOUSES, StoreHouse, stored, unit


@pytest.fixture(params=HOUSES, ids=lambda house: house.__name__)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> StoreHouse:
    make: Callable[[Path], StoreHouse] = request.param
    return make(tmp_path)


@pytest.fixture
def store(house: StoreHouse) -> Iterator[ToolStore]:
    opened = house.open()
    yield opened
    opened.close()


def changes(store: ToolStore, **arguments: Any) -> list[StoredTool]:
    return [tool for batch in store.scan(**arguments) for tool in batch]


def test_an_empty_store_holds_nothing(store: ToolStore) -> None:
    assert store.count() == 0
    assert store.last_revision() == 0
    assert changes(store) == []
    assert store.fetch([stored("a", 1).point_id]) == {}
    assert store.fetch([]) == {}
    store.upsert([])
    assert store.count() == 0


def test_a_tool_comes_back_as_it_went_in(store: ToolStore) -> None:
    tool = stored("refund", 7)
    store.upsert([tool])
    (found,) = changes(store)
    assert found.definition == tool.definition
    assert (found.content_hash, found.revision, found.status, found.reason, found.encoder_id) == (
        tool.content_hash, 7, "active", "", "unit-16",
    )  # fmt: skip
    assert found.vector is not None
    assert found.vector.dtype == np.float32
    np.testing.assert_array_equal(found.vector, unit(7))


def test_fetch_returns_what_exists_without_vectors(store: ToolStore) -> None:
    store.upsert([stored("a", 1), stored("b", 2, status="quarantined"), stored("c", 3, status="deleted")])
    wanted = [stored(name, 0).point_id for name in ("a", "b", "c", "missing")]
    found = store.fetch(wanted)
    assert set(found) == set(wanted[:3])
    assert [found[point].status for point in wanted[:3]] == ["active", "quarantined", "deleted"]
    assert found[wanted[1]].reason == "input_schema: not an object"
    assert all(tool.vector is None for tool in found.values())


def test_a_point_of_equal_id_is_replaced_whole(store: ToolStore) -> None:
    store.upsert([stored("a", 1)])
    store.upsert([stored("a", 2, status="deleted", description="Gone.")])
    (found,) = changes(store)
    assert (found.revision, found.status, found.definition.description) == (2, "deleted", "Gone.")
    assert found.vector is None
    assert store.count() == 0
    assert store.last_revision() == 2


def test_equal_names_in_other_namespaces_and_tenants_are_other_tools(store: ToolStore) -> None:
    store.upsert([stored("a", 1), stored("a", 2, namespace="bank"), stored("a", 3, tenant="acme")])
    assert store.count() == 3
    assert len({tool.key for tool in changes(store)}) == 3


def test_scan_gives_later_changes_in_order_of_revision_and_in_batches(store: ToolStore) -> None:
    order = np.random.default_rng(3).permutation(50)
    store.upsert([stored(f"tool_{number}", int(number) + 1) for number in order])
    batches = list(store.scan(after_revision=10, batch_size=7))
    assert [len(batch) for batch in batches] == [7, 7, 7, 7, 7, 5]
    assert [tool.revision for batch in batches for tool in batch] == list(range(11, 51))
    assert changes(store, after_revision=50) == []


def test_count_is_of_active_tools_only(store: ToolStore) -> None:
    store.upsert([stored("a", 1), stored("b", 2, status="quarantined"), stored("c", 3, status="deleted")])
    assert store.count() == 1
    assert store.last_revision() == 3


def test_a_vector_of_another_width_is_refused_and_nothing_is_written(store: ToolStore) -> None:
    good = stored("good", 1)
    bad = StoredTool(
        definition=ToolDefinition(name="bad"), content_hash="0", revision=2, vector=np.ones(3, dtype=np.float32)
    )
    with pytest.raises(DimensionMismatchError, match=r"bad: expected vectors of 16 dimensions, got 3"):
        store.upsert([good, bad])
    assert store.count() == 0


def test_unusual_definitions_survive_the_round_trip(store: ToolStore) -> None:
    definition = ToolDefinition(
        name="검색_도구",
        namespace="네이버",
        description="한국어 설명 \ud800 and a\u0000null",
        input_schema={"type": "object", "properties": {"n": {"maximum": 2**80, "minimum": -0.5, "enum": [None, 1]}}},
        pinned=True,
    )
    store.upsert([StoredTool(definition=definition, content_hash="0", revision=1, vector=unit(1))])
    (found,) = changes(store)
    assert found.definition == definition


def test_reopening_finds_everything_as_it_was(house: StoreHouse) -> None:
    store = house.open()
    store.upsert([stored(f"tool_{number}", number, status="active") for number in range(1, 30)])
    store.upsert([stored("tool_5", 30, status="deleted")])
    before = changes(store)
    store.flush()
    store.close()
    again = house.open()
    after = changes(again)
    assert [(tool.key, tool.revision, tool.status) for tool in after] == [
        (tool.key, tool.revision, tool.status) for tool in before
    ]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(np.asarray(old.vector), np.asarray(new.vector))
    assert again.count() == 28
    assert again.last_revision() == 30
    again.close()


def test_a_closed_store_says_so(house: StoreHouse) -> None:
    store = house.open()
    store.close()
    store.close()
    with pytest.raises(StoreError):
        store.count()
