"""Compaction puts the rows of a tenant and namespace side by side, and nothing else changes."""

import random
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.columns import RowLists, Rows
from indexer.definition import ToolKey
from indexer.document import document_of
from indexer.lexical import LexicalIndex
from indexer.replica import Replica
from indexer.replica_state import ReplicaState
from indexer.search import SearchScope
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from tests.indexer.catalogs import tool
from tests.indexer.test_replica import active, deleted

PLACES = [(tenant, namespace) for tenant in ("b", "a") for namespace in ("mail", "shop", "files")]


def _scattered(tools: int, seed: int = 0) -> Replica:
    """A replica whose namespaces were registered all at once."""
    draw = random.Random(seed)
    replica = Replica(8)
    for number in range(tools):
        tenant, namespace = draw.choice(PLACES)
        tags = (draw.choice(("red", "green")),)
        definition = tool(f"tool_{number}_{draw.choice('xyz')}", namespace=namespace, tenant=tenant, tags=tags)
        replica.apply([active(definition, number + 1)])
    return replica


def _is_run(rows: Rows) -> bool:
    return len(rows) == 0 or int(rows[-1]) - int(rows[0]) + 1 == len(rows)


def _found(state: ReplicaState, scope: SearchScope) -> dict[ToolKey, tuple[float, float, str, int]]:
    """What a search sees of each row in a scope: its scores, its definition and its revision."""
    rows = state.live_rows(scope)
    words = state.lexical.scores("tool 3 x does mail", rows)
    cosines = state.matrix.scores(np.full(8, 8**-0.5, dtype=np.float32), rows)
    return {
        state.table.key(row): (
            float(word),
            float(cosine),
            state.stored(row, "").definition.name,
            state.table.revision(row),
        )
        for row, word, cosine in zip(rows.tolist(), words, cosines, strict=True)
    }


SCOPES = [
    SearchScope(tenant=tenant, namespaces=namespaces, tags=tags)
    for tenant in ("a", "b", "c")
    for namespaces in (None, frozenset({"shop"}), frozenset({"mail", "files"}))
    for tags in (frozenset[str](), frozenset({"red"}))
]


@settings(max_examples=15, deadline=None)
@given(tools=st.integers(0, 60), dead=st.integers(0, 20), later=st.integers(0, 10), seed=st.integers(0, 1_000))
def test_compaction_groups_rows_and_changes_nothing_that_a_search_sees(
    tools: int, dead: int, later: int, seed: int
) -> None:
    replica = _scattered(tools, seed)
    keys = [replica.state.table.key(row) for row in range(tools)]
    for number, key in enumerate(random.Random(seed).sample(keys, min(dead, tools))):
        replica.apply([deleted(tool(key.name, namespace=key.namespace, tenant=key.tenant), 1_000 + number)])
    before = {scope: _found(replica.state, scope) for scope in SCOPES}

    replica.compact()

    after = replica.state
    assert {scope: _found(after, scope) for scope in SCOPES} == before
    for tenant in ("a", "b"):
        assert _is_run(after.live_rows(SearchScope(tenant=tenant)))
        for namespace in ("mail", "shop", "files"):
            assert _is_run(after.live_rows(SearchScope(tenant=tenant, namespaces=frozenset({namespace}))))
    for number in range(later):
        replica.apply([active(tool(f"later_{number}", namespace="shop", tenant="a"), 2_000 + number)])
    rows = replica.state.live_rows(SearchScope(tenant="a", namespaces=frozenset({"shop"})))
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == len(before[SCOPES[2]]) + later


def test_a_snapshot_of_a_large_scattered_catalog_is_written_grouped_and_one_in_order_as_it_is(tmp_path: Path) -> None:
    origin = SnapshotOrigin(store_id="test", encoder_id="random", dimensions=8)
    scattered, small = _scattered(1_100), _scattered(40)
    whole, before = (
        SearchScope(tenant="a", namespaces=frozenset({"shop"})),
        _found(scattered.state, SearchScope(tenant="a")),
    )
    assert not _is_run(scattered.state.live_rows(whole))
    old = small.state

    for replica in (scattered, small):
        save_snapshot(tmp_path / "snapshot", replica, origin)
        loaded = load_snapshot(tmp_path / "snapshot", origin)
        assert loaded is not None
        assert _found(loaded.state, SearchScope(tenant="a")) == _found(replica.state, SearchScope(tenant="a"))

    assert _is_run(scattered.state.live_rows(whole))
    assert _found(scattered.state, SearchScope(tenant="a")) == before
    assert small.state is old


def test_lists_of_rows_stay_ascending_when_rows_change_their_order() -> None:
    lists = RowLists()
    lists.add({("tag", "a"): [0, 2, 3], ("tag", "b"): [1]})

    labels, offsets, rows = lists.to_arrays(np.array([3, -1, 0, 2]))

    assert labels == [("tag", "a")]
    assert offsets.tolist() == [0, 3]
    assert rows.tolist() == [0, 2, 3]


def test_postings_stay_in_order_of_rows_when_rows_change_their_order() -> None:
    words = LexicalIndex()
    words.add([document_of(tool(name, "Sends mail.")) for name in ("zebra", "two", "three", "two_again")])

    turned = words.compacted(np.array([3, 0, 2])).snapshot()

    assert turned.match("mail").rows.tolist() == [0, 1, 2]
    assert turned.scores("again").argmax() == 0
    assert turned.scores("three").argmax() == 2
    assert turned.scores("zebra").argmax() == 1
