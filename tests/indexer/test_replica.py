import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from indexer.confidence import UNCALIBRATED
from indexer.definition import ToolDefinition
from indexer.embedders.hashing import HashingEmbedder
from indexer.replica import Replica
from indexer.search import SearchScope
from indexer.stores.base import StoredTool
from tests.indexer.catalogs import SHOP, tool


def active(definition: ToolDefinition, revision: int) -> StoredTool:
    vector = np.random.default_rng(revision).standard_normal(8).astype(np.float32)
    vector /= np.linalg.norm(vector)
    return StoredTool(
        definition=definition,
        content_hash=definition.content_hash,
        revision=revision,
        encoder_id="random",
        vector=vector,
    )


def deleted(definition: ToolDefinition, revision: int) -> StoredTool:
    return StoredTool(definition=definition, content_hash="", revision=revision, status="deleted")


@pytest.fixture
def replica() -> Replica:
    replica = Replica(8)
    replica.apply([active(definition, number) for number, definition in enumerate(SHOP, start=1)])
    return replica


def test_a_reader_keeps_the_catalog_it_began_with(replica: Replica) -> None:
    before = replica.state
    replica.apply([active(replace(SHOP[0], description="New."), 6), deleted(SHOP[1], 7)])
    replica.apply([active(tool("later"), 8)])
    after = replica.state

    row = before.row_of(SHOP[0].key)
    assert row is not None
    assert before.stored(row, "").definition == SHOP[0]
    assert before.row_of(SHOP[1].key) is not None
    assert before.row_behind("default", "later") is None
    assert before.rows_named("default", "later") == []
    assert (before.revision, before.live) == (5, 5)
    assert len(before.live_rows(SearchScope())) == 5

    row = after.row_of(SHOP[0].key)
    assert row is not None
    assert after.stored(row, "").definition.description == "New."
    assert after.row_of(SHOP[1].key) is None
    assert after.rows_named("default", "later") != []
    assert (after.revision, after.live) == (8, 5)
    assert len(after.live_rows(SearchScope())) == 5


def test_views_hold_live_rows_in_scope(replica: Replica) -> None:
    replica.apply([deleted(SHOP[1], 6), active(SHOP[0], 7)])
    state = replica.state
    assert state.view(SearchScope()).rows is None
    shop = state.view(SearchScope(namespaces=frozenset({"shop"})))
    assert shop.count == 1
    assert shop.rows is not None
    assert [state.table.key(row).name for row in shop.rows.tolist()] == ["refund_order"]
    everything = SearchScope(namespaces=frozenset({"shop", "weather", "mail"}))
    assert state.view(everything).rows is None
    assert state.view(everything) is state.view(everything)


def test_compaction_keeps_what_is_live_and_leaves_old_readers_alone(replica: Replica) -> None:
    replica.apply([deleted(SHOP[1], 6), active(replace(SHOP[0], pinned=True, tags=("new",)), 7)])
    before = replica.state
    held = {before.table.key(row): before.matrix.vectors[row].copy() for row in before.live_rows(SearchScope())}
    replica.compact()
    after = replica.state
    assert (after.n_rows, after.live, after.revision) == (4, 4, 7)
    for row in range(4):
        np.testing.assert_array_equal(after.matrix.vectors[row], held[after.table.key(row)])
    assert len(after.live_rows(SearchScope(tags=frozenset({"new"})))) == 1
    assert len(after.table.pinned_rows(after.n_rows)) == 2
    assert before.n_rows == 6
    row = before.row_of(SHOP[0].key)
    assert row is not None
    assert before.stored(row, "").definition.tags == ("new",)
    replica.apply([active(SHOP[1], 8)])
    assert replica.state.live == 5


def test_compaction_is_wanted_above_a_fifth_of_dead_rows() -> None:
    replica = Replica(8)
    tools = [tool(f"tool_{number}") for number in range(5200)]
    replica.apply([active(definition, number) for number, definition in enumerate(tools, start=1)])
    replica.apply([deleted(definition, 5201 + number) for number, definition in enumerate(tools[:1040])])
    assert not replica.wants_compaction
    replica.apply([deleted(definition, 6300 + number) for number, definition in enumerate(tools[1040:1042])])
    assert replica.wants_compaction


def test_words_scores_are_those_of_a_fresh_replica_after_changes(replica: Replica) -> None:
    replica.apply([deleted(SHOP[1], 6), active(replace(SHOP[0], description="Order a zebra."), 7)])
    fresh = Replica(8)
    fresh.apply(
        [active(definition, number) for number, definition in enumerate(SHOP[2:], start=1)]
        + [active(replace(SHOP[0], description="Order a zebra."), 4)]
    )

    def by_key(state: Any) -> dict[str, float]:
        scores = state.lexical.scores("order zebra weather city")
        return {str(state.table.key(row)): float(scores[row]) for row in state.live_rows(SearchScope()).tolist()}

    assert by_key(replica.state) == pytest.approx(by_key(fresh.state), rel=1e-6)


def test_an_active_tool_without_its_vector_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="vector"):
        Replica(8).apply([replace(active(SHOP[0], 1), vector=None)])


def test_readers_in_threads_see_whole_states_while_the_writer_goes_on() -> None:
    replica = Replica(8)
    tools = [tool(f"tool_{number}", tags=("odd",) if number % 2 else ()) for number in range(200)]
    replica.apply([active(definition, number) for number, definition in enumerate(tools, start=1)])
    scope = SearchScope(tags=frozenset({"odd"}))
    done = threading.Event()
    torn: list[str] = []

    def read() -> None:
        while not done.is_set():
            state = replica.state
            rows = state.live_rows(scope).tolist()
            names = {state.table.key(row).name for row in rows}
            if len(rows) != 100 or len(names) != 100:
                torn.append(f"revision {state.revision}: {len(rows)} rows, {len(names)} names")
            row = state.row_behind("default", "tool_7")
            if row is None or state.rows_named("default", "TOOL_7") != [row]:
                torn.append(f"revision {state.revision}: tool_7 in row {row}")
            if len(state.lexical.scores("tool")) != state.n_rows:
                torn.append(f"revision {state.revision}: words and vectors of different lengths")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(1, 60):
        replica.apply([active(definition, version * 200 + place) for place, definition in enumerate(tools, start=1)])
        if version % 7 == 0:
            replica.compact()
    done.set()
    for reader in readers:
        reader.join(timeout=30)
    assert torn == []


def test_the_few_tools_left_of_a_large_catalog_are_not_judged_by_what_it_was_like() -> None:
    replica = Replica(8)
    tools = [active(tool(f"t{number}", "Do."), number + 1) for number in range(40)]
    replica.apply(tools)
    replica.calibrate(HashingEmbedder(8))
    assert replica.state.calibration is not UNCALIBRATED

    replica.apply([deleted(one.definition, 100 + one.revision) for one in tools[:30]])

    assert replica.state.live == 10
    assert replica.state.calibration is UNCALIBRATED
