import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from indexer.errors import DimensionMismatchError, StoreError, StoreLockedError
from indexer.stores.edge import EdgeToolStore, stored_dimensions
from indexer.stores.payload import DENSE, payload_of
from tests.contracts.stores import stored


def test_a_second_owner_is_told_who_has_the_store(tmp_path: Path) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    command = (
        "import sys; from pathlib import Path\n"
        "from indexer.stores.edge import EdgeToolStore\n"
        "from indexer.errors import StoreLockedError\n"
        "try: EdgeToolStore(Path(sys.argv[1]), 16)\n"
        "except StoreLockedError as error: sys.stdout.write(str(error))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", command, str(tmp_path / "edge")], capture_output=True, text=True, check=True
    )
    assert "in use by process" in answer.stdout
    assert "TOOLSCOUT_HOME" in answer.stdout
    assert "WouldBlock" not in answer.stdout
    store.close()


def test_a_lock_without_an_owner_note_still_explains_itself(tmp_path: Path) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    (tmp_path / "edge" / "owner.json").unlink()
    with pytest.raises(StoreLockedError, match="toolscout serve"):
        EdgeToolStore(tmp_path / "edge", 16)
    store.close()


def test_arguments_that_are_no_utf_8_stand_in_the_owner_note_as_far_as_they_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["toolscout", "search", "\udcff mail"])
    store = EdgeToolStore(tmp_path / "edge", 16)
    assert orjson.loads((tmp_path / "edge" / "owner.json").read_bytes())["command"] == "toolscout search ? mail"
    store.close()


def test_another_width_is_a_clear_error(tmp_path: Path) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    with pytest.raises(DimensionMismatchError, match="expected vectors of 16 dimensions, got 32"):
        EdgeToolStore(tmp_path / "edge", 32)
    assert stored_dimensions(tmp_path / "edge") == 16
    assert stored_dimensions(tmp_path / "none") is None


def test_what_a_killed_maker_left_is_made_anew(tmp_path: Path) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    (tmp_path / "edge" / "store.json").unlink()
    (tmp_path / "edge" / "shard" / "edge_config.json").write_text("{")
    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("a", 1)])
    assert store.count() == 1
    store.close()


def test_a_store_that_is_being_made_by_a_living_process_is_not_swept_away(tmp_path: Path) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    (tmp_path / "edge" / "store.json").unlink()
    with pytest.raises(StoreLockedError):
        EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("a", 1)])
    assert store.count() == 1
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="locks a file as POSIX does")
def test_a_store_whose_owner_is_on_its_way_out_is_not_read_before_it_is_gone(tmp_path: Path) -> None:
    """The engine reads segments before it takes its own lock; what the last owner flushes meanwhile would be lost."""
    import fcntl

    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("a", 1)])
    store.close()
    with (tmp_path / "edge" / "lock").open("ab") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        with pytest.raises(StoreLockedError):
            EdgeToolStore(tmp_path / "edge", 16)
    again = EdgeToolStore(tmp_path / "edge", 16)
    assert again.count() == 1
    again.close()


def test_a_damaged_shard_is_a_store_error_that_says_where(tmp_path: Path) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    (tmp_path / "edge" / "shard" / "edge_config.json").write_text("{")
    with pytest.raises(StoreError, match=r"edge failed: .*edge_config\.json") as caught:
        EdgeToolStore(tmp_path / "edge", 16)
    assert not isinstance(caught.value, StoreLockedError)


def test_a_damaged_description_is_a_store_error(tmp_path: Path) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    (tmp_path / "edge" / "store.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        EdgeToolStore(tmp_path / "edge", 16)


def test_a_store_of_a_later_format_is_left_alone(tmp_path: Path) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    (tmp_path / "edge" / "store.json").write_bytes(orjson.dumps({"format": 99, "dimensions": 16}))
    with pytest.raises(StoreError, match="format 99"):
        EdgeToolStore(tmp_path / "edge", 16)


def test_a_home_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Cannot make the store"):
        EdgeToolStore(tmp_path / "file" / "edge", 16)


def test_a_store_that_may_not_be_written_is_not_taken_for_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EdgeToolStore(tmp_path / "edge", 16).close()
    opened = Path.open

    def read_only(path: Path, mode: str = "r") -> object:
        if path.name == "lock":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", read_only)
    with pytest.raises(StoreError, match=r"Permission denied.*Let this user write there") as caught:
        EdgeToolStore(tmp_path / "edge", 16)
    assert not isinstance(caught.value, StoreLockedError)


def _disk_with(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = shutil.disk_usage("/")._replace(free=free)

    def disk_usage(_path: Path) -> object:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)


def test_what_might_fill_the_disk_is_refused_and_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("a", 1)])
    _disk_with(monkeypatch, 50_500_000)
    store.upsert([stored("b", 2)])
    with pytest.raises(StoreError, match=r"has 50\.5 MB left, and 53\.\d MB must be free"):
        store.upsert([stored("c", 3, description="x" * 2**20)])
    monkeypatch.undo()
    assert [tool.key.name for batch in store.scan() for tool in batch] == ["a", "b"]
    store.close()


def test_no_store_is_made_on_a_disk_that_it_would_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _disk_with(monkeypatch, 1_000_000)
    with pytest.raises(StoreError, match=r"has 1\.0 MB left.*Free some space"):
        EdgeToolStore(tmp_path / "edge", 16)
    monkeypatch.undo()
    EdgeToolStore(tmp_path / "edge", 16).close()


def test_a_full_disk_keeps_a_store_shut_only_if_it_was_not_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("a", 1)])
    owner = (tmp_path / "edge" / "owner.json").read_bytes()
    store.close()
    _disk_with(monkeypatch, 0)
    store = EdgeToolStore(tmp_path / "edge", 16)
    assert store.count() == 1
    store.close()
    (tmp_path / "edge" / "owner.json").write_bytes(owner)
    with pytest.raises(StoreError, match=r"has 0\.0 MB left"):
        EdgeToolStore(tmp_path / "edge", 16)


def test_a_large_batch_is_written_whole(tmp_path: Path) -> None:
    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored(f"tool_{number}", number, description="x" * 2**20) for number in range(1, 41)])
    store.close()
    again = EdgeToolStore(tmp_path / "edge", 16)
    assert again.count() == 40
    again.close()


def test_tools_that_lie_in_the_store_with_all_that_a_server_filters_by_are_read_and_replaced(tmp_path: Path) -> None:
    import qdrant_edge as edge

    EdgeToolStore(tmp_path / "edge", 16).close()
    tools = [stored("a", 1), stored("b", 2)]
    shard = edge.EdgeShard.load(str(tmp_path / "edge" / "shard"))
    shard.update(edge.UpdateOperation.create_field_index("namespace", edge.PayloadSchemaType.Keyword))
    vectors: list[Any] = [{DENSE: one.vector} for one in tools]
    points = [edge.Point(one.point_id, vector, payload_of(one)) for one, vector in zip(tools, vectors, strict=True)]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.close()
    store = EdgeToolStore(tmp_path / "edge", 16)
    store.upsert([stored("b", 3, description="other")])
    found = [tool for batch in store.scan() for tool in batch]
    assert [(one.key.name, one.revision, one.content_hash) for one in found] == [
        ("a", 1, tools[0].content_hash),
        ("b", 3, stored("b", 3, description="other").content_hash),
    ]
    assert store.count() == 2
    store.close()
