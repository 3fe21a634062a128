from pathlib import Path

import numpy as np
import pytest

from indexer.definition import ToolKey
from indexer.errors import CorruptSnapshotError
from indexer.replica import Replica
from indexer.search import SearchScope
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from indexer.stores.base import StoredTool
from tests.indexer.catalogs import BROKEN, SHOP
from tests.indexer.test_replica import active

ORIGIN = SnapshotOrigin(store_id="here", encoder_id="random", dimensions=8)


@pytest.fixture
def replica() -> Replica:
    replica = Replica(8)
    replica.apply([active(definition, number) for number, definition in enumerate(SHOP, start=1)])
    replica.apply([active(SHOP[1], 6)])
    replica.apply(
        [StoredTool(definition=BROKEN, content_hash="ab" * 16, revision=7, status="quarantined", reason="why")]
    )
    return replica


def test_a_loaded_snapshot_is_the_replica_that_was_saved(replica: Replica, tmp_path: Path) -> None:
    save_snapshot(tmp_path / "snapshots" / "one", replica, ORIGIN)
    loaded = load_snapshot(tmp_path / "snapshots" / "one", ORIGIN)
    assert loaded is not None
    before, after = replica.state, loaded.state
    assert (after.revision, after.live, after.n_rows) == (7, 5, 5)
    np.testing.assert_array_equal(after.matrix.vectors, before.matrix.vectors)
    for row in range(5):
        assert after.stored(row, "random") == before.stored(row, "random")
        assert after.table.alias(row) == before.table.alias(row)
    assert after.quarantined == before.quarantined
    for scope in (
        SearchScope(namespaces=frozenset({"shop"})),
        SearchScope(tags=frozenset({"money"})),
        SearchScope(trust=frozenset({"trusted"})),
    ):
        np.testing.assert_array_equal(after.live_rows(scope), before.live_rows(scope))
    np.testing.assert_array_equal(after.table.pinned_rows(5), before.table.pinned_rows(5))
    np.testing.assert_array_equal(after.lexical.scores("order money"), before.lexical.scores("order money"))
    assert after.rows_named("default", "REFUND_order") == before.rows_named("default", "REFUND_order")


def test_a_loaded_replica_can_be_changed_and_saved_again(replica: Replica, tmp_path: Path) -> None:
    save_snapshot(tmp_path / "one", replica, ORIGIN)
    loaded = load_snapshot(tmp_path / "one", ORIGIN)
    assert loaded is not None
    loaded.apply([active(SHOP[0], 8)])
    save_snapshot(tmp_path / "one", loaded, ORIGIN)
    again = load_snapshot(tmp_path / "one", ORIGIN)
    assert again is not None
    assert (again.revision, again.state.live) == (8, 5)
    row = again.state.row_of(SHOP[0].key)
    assert row is not None
    assert again.state.stored(row, "").revision == 8
    assert again.state.row_of(ToolKey("default", "weather", "날씨_조회")) is not None


def test_an_empty_replica_is_saved_and_loaded(tmp_path: Path) -> None:
    save_snapshot(tmp_path / "one", Replica(8), ORIGIN)
    loaded = load_snapshot(tmp_path / "one", ORIGIN)
    assert loaded is not None
    assert (loaded.revision, loaded.state.live) == (0, 0)


def test_no_file_is_no_snapshot(tmp_path: Path) -> None:
    assert load_snapshot(tmp_path / "one", ORIGIN) is None


@pytest.mark.parametrize(
    "other",
    [
        SnapshotOrigin(store_id="elsewhere", encoder_id="random", dimensions=8),
        SnapshotOrigin(store_id="here", encoder_id="another", dimensions=8),
        SnapshotOrigin(store_id="here", encoder_id="random", dimensions=16),
    ],
)
def test_a_snapshot_of_another_catalog_or_encoder_is_none_of_ours(
    replica: Replica, tmp_path: Path, other: SnapshotOrigin
) -> None:
    save_snapshot(tmp_path / "one", replica, ORIGIN)
    assert load_snapshot(tmp_path / "one", other) is None


def test_saving_leaves_no_scratch_file(replica: Replica, tmp_path: Path) -> None:
    save_snapshot(tmp_path / "one", replica, ORIGIN)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_every_cut_and_every_damaged_header_is_noticed(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "one"
    save_snapshot(path, replica, ORIGIN)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    damaged = [whole[:length] for length in (0, 7, 16, 200, len(whole) - 1)]
    damaged += [
        whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        for place in map(int, rng.integers(0, 400, size=20))
    ]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(CorruptSnapshotError):
            load_snapshot(path, ORIGIN)
