"""Starting from a store and a snapshot, whatever state they were left in."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from indexer.definition import ToolDefinition
from indexer.errors import SourceError, StoreUnavailableError
from indexer.registering import BATCH_BYTES, BATCH_TOOLS
from indexer.search import SearchScope
from indexer.snapshot import SNAPSHOT_CHANGES, snapshot_changes
from indexer.stores.base import StoredTool, ToolStore
from indexer.writing import CatalogWriter
from tests.indexer.catalogs import (
    BROKEN,
    SHOP,
    CountingEmbedder,
    UnreliableStore,
    make_store,
    make_writer,
    refuse_nothing,
    tool,
)


def take_all(writer: CatalogWriter, tools: Iterable[ToolDefinition]) -> None:
    entries = iter(tools)
    while not writer.take(entries).is_last:
        pass


class CountingFlushes(UnreliableStore):
    """A store that counts how often it is asked to make its writes durable."""

    def __init__(self, inner: ToolStore) -> None:
        super().__init__(inner)
        self.flushes = 0
        self.flush = self._flush

    def _flush(self) -> None:
        self.flushes += 1


class HeardStore(UnreliableStore):
    """A store that notes the sizes of its writes, and what is done before each."""

    def __init__(self, inner: ToolStore, before: Callable[[], bool] = lambda: True) -> None:
        super().__init__(inner)
        self._before = before
        self.waits: list[bool] = []
        self.sizes: list[int] = []

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        self.waits.append(self._before())
        self.sizes.append(len(tools))
        super().upsert(tools)


def everything(store: ToolStore) -> list[StoredTool]:
    return [found for batch in store.scan() for found in batch]


def in_replica(writer: CatalogWriter) -> dict[str, int]:
    state = writer.state
    return {str(state.table.key(row)): state.table.revision(row) for row in state.live_rows(SearchScope()).tolist()}


def test_a_start_without_a_snapshot_reads_the_store() -> None:
    store = make_store()
    first = make_writer(store)
    take_all(first, [*SHOP, BROKEN])
    first.delete([SHOP[1].key])
    second = make_writer(store.reopen())
    assert in_replica(second) == in_replica(first)
    assert second.state.quarantined.keys() == {BROKEN.key}
    assert second.state.revision == 7


def test_a_start_with_a_snapshot_catches_up_with_what_came_after_it(tmp_path: Path) -> None:
    store = make_store()
    first = make_writer(store, snapshot_path=tmp_path / "one")
    take_all(first, SHOP)
    first.close()
    killed = make_writer(store.reopen(), snapshot_path=tmp_path / "one")
    killed.delete([SHOP[0].key])
    take_all(killed, [tool("later")])
    third = make_writer(store.reopen(), snapshot_path=tmp_path / "one")
    assert in_replica(third) == in_replica(killed)
    assert third.state.revision == 7


def test_a_large_registration_writes_a_snapshot_and_a_small_one_does_not(tmp_path: Path) -> None:
    writer = make_writer(make_store(), snapshot_path=tmp_path / "one")
    take_all(writer, SHOP)
    writer.save_if_much_changed()
    assert not (tmp_path / "one").exists()
    take_all(writer, (tool(f"tool_{number}") for number in range(SNAPSHOT_CHANGES)))
    writer.save_if_much_changed()
    assert (tmp_path / "one").exists()


def test_a_large_catalog_is_written_less_often_than_its_store_is_flushed(tmp_path: Path) -> None:
    assert [snapshot_changes(tools) for tools in (0, 65_536, 1_000_000)] == [1024, 1024, 15_625]
    store = CountingFlushes(make_store())
    writer = make_writer(store, snapshot_path=tmp_path / "one")
    take_all(writer, (tool(f"tool_{number}") for number in range(SNAPSHOT_CHANGES - 1)))
    writer.take_care()
    assert store.flushes == 0
    take_all(writer, [tool("last")])
    assert writer.wants_care
    writer.take_care()
    assert store.flushes == 1
    assert not writer.wants_care


def test_closing_without_a_change_leaves_the_snapshot_as_it_is(tmp_path: Path) -> None:
    store = make_store()
    first = make_writer(store, snapshot_path=tmp_path / "one")
    take_all(first, SHOP)
    first.close()
    written = (tmp_path / "one").stat().st_mtime_ns
    second = make_writer(store.reopen(), snapshot_path=tmp_path / "one")
    second.close()
    assert (tmp_path / "one").stat().st_mtime_ns == written


def test_a_snapshot_that_cannot_be_written_costs_a_log_line_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "snapshots").write_text("no folder")
    store = make_store()
    writer = make_writer(store, snapshot_path=tmp_path / "snapshots" / "one")
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="indexer"):
        take_all(writer, (tool(f"tool_{number}") for number in range(SNAPSHOT_CHANGES)))
        writer.take_care()
    assert store.count() == SNAPSHOT_CHANGES
    assert not writer.wants_care
    [told] = caplog.records
    assert "reads the catalog from its store" in told.message
    assert told.exc_info is None
    (tmp_path / "snapshots").unlink()
    writer.close()
    assert (tmp_path / "snapshots" / "one").exists()


def test_a_damaged_snapshot_is_rebuilt_from_the_store_with_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = make_store()
    first = make_writer(store, snapshot_path=tmp_path / "one")
    take_all(first, SHOP)
    first.close()
    whole = (tmp_path / "one").read_bytes()
    (tmp_path / "one").write_bytes(whole[: len(whole) // 2])
    with caplog.at_level(logging.WARNING, logger="indexer"):
        second = make_writer(store.reopen(), snapshot_path=tmp_path / "one")
    assert in_replica(second) == in_replica(first)
    assert "rebuilt from the store" in caplog.text
    second.close()
    assert len((tmp_path / "one").read_bytes()) == len(whole)


def test_a_snapshot_that_is_ahead_of_its_store_is_not_believed(tmp_path: Path) -> None:
    first = make_writer(make_store(), snapshot_path=tmp_path / "one")
    take_all(first, SHOP)
    first.close()
    restored = make_store()
    take_all(make_writer(restored), SHOP[:2])
    second = make_writer(restored, snapshot_path=tmp_path / "one")
    assert len(in_replica(second)) == 2


def test_vectors_of_another_encoder_are_made_anew_on_opening() -> None:
    store = make_store()
    take_all(make_writer(store, embedder=CountingEmbedder("old")), [*SHOP, BROKEN])
    embedder = CountingEmbedder("new")
    second = make_writer(store.reopen(), embedder=embedder)
    assert embedder.documents == 5
    assert len(in_replica(second)) == 5
    active = [found for found in everything(store) if found.status == "active"]
    assert {found.encoder_id for found in active} == {second.encoder_id}
    assert [found.revision for found in everything(store)] == [6, 7, 8, 9, 10, 11]
    third = make_writer(store.reopen(), embedder=embedder)
    assert embedder.documents == 5
    assert in_replica(third) == in_replica(second)


def test_embedding_anew_goes_on_where_a_killed_process_left_off() -> None:
    store = make_store()
    take_all(make_writer(store, embedder=CountingEmbedder("old")), SHOP)
    new_id = make_writer(make_store(), embedder=CountingEmbedder("new")).encoder_id
    store.upsert(
        [
            replace(found, encoder_id=new_id, revision=found.revision + 5)
            for found in everything(store)
            if found.revision <= 2
        ]
    )
    embedder = CountingEmbedder("new")
    writer = make_writer(store.reopen(), embedder=embedder)
    assert embedder.documents == 3
    assert len(in_replica(writer)) == 5


def test_a_run_repeated_after_a_cut_ends_as_one_clean_run_ends() -> None:
    tools = [tool(f"tool_{number}", f"Handles case {number}.") for number in range(300)]
    clean = make_store()
    take_all(make_writer(clean), tools)
    cut = make_store()
    entries = iter(tools)
    make_writer(cut).take(entries)
    repeated = make_writer(cut.reopen())
    take_all(repeated, tools)
    expected, actual = everything(clean), everything(cut)
    assert [(found.key, found.content_hash, found.revision) for found in actual] == [
        (found.key, found.content_hash, found.revision) for found in expected
    ]
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(np.asarray(one.vector), np.asarray(other.vector))


def test_a_batch_is_bounded_in_bytes_as_well_as_in_number() -> None:
    store = HeardStore(make_store())
    writer = make_writer(store)
    large = [tool(f"large_{number}", "x" * 60_000) for number in range(40)]
    take_all(writer, large)
    assert sum(store.sizes) == len(large)
    assert max(store.sizes) * 60_000 < 2 * BATCH_BYTES
    assert writer.state.live == len(large)


def test_the_next_batch_is_read_while_one_is_written_and_found_once_the_store_has_it() -> None:
    read, found = threading.Event(), list[int]()

    def entries() -> Iterator[ToolDefinition]:
        for number in range(BATCH_TOOLS + 40):
            if number == BATCH_TOOLS + 20:
                found.append(writer.state.live)
                read.set()
            yield tool(f"tool_{number}")

    store = HeardStore(make_store(), before=lambda: read.wait(30))
    writer = make_writer(store)
    taken = writer.take(entries())
    assert store.waits == [True, True]
    assert found == [0]
    assert (taken.entries, taken.report.added, taken.is_last) == (BATCH_TOOLS + 40, BATCH_TOOLS + 40, True)
    assert taken.report.catalog_revision == writer.state.revision == writer.state.live == BATCH_TOOLS + 40


def test_what_is_still_being_written_is_known_to_the_batch_after_it() -> None:
    tools = [tool(f"tool_{number}") for number in range(BATCH_TOOLS)]
    again = [tools[3], tool("tool_4", "Says something else now.")]
    store = make_store()
    writer = make_writer(store)
    report = writer.take(iter([*tools, *again])).report
    assert (report.added, report.changed, report.unchanged) == (BATCH_TOOLS, 1, 1)
    assert in_replica(writer)["default/tool_4"] == BATCH_TOOLS + 1
    assert writer.state.live == store.count() == BATCH_TOOLS


def test_a_write_that_fails_while_the_next_is_made_ready_is_told_and_can_be_repeated() -> None:
    tools = [tool(f"tool_{number}") for number in range(2 * BATCH_TOOLS + 5)]
    store = UnreliableStore(make_store())
    store.fails, store.writes_before_failing = 1, 2
    writer = make_writer(store)
    with pytest.raises(StoreUnavailableError, match="away"):
        writer.take(iter(tools))
    assert writer.state.live == 0
    assert store.count() == 2
    assert writer.take(iter(tools)).report.added == len(tools) - 2
    assert writer.state.live == store.count() == len(tools)


def test_what_was_written_before_an_entry_that_cannot_be_read_stays() -> None:
    def entries() -> Iterator[ToolDefinition]:
        yield from (tool(f"tool_{number}") for number in range(BATCH_TOOLS + 3))
        raise SourceError("list", "ends too early")

    store = make_store()
    writer = make_writer(store)
    with pytest.raises(SourceError):
        writer.take(entries())
    assert writer.state.live == store.count() == BATCH_TOOLS + 3


def test_a_definition_is_written_as_json_once() -> None:
    writer = make_writer(make_store())
    definition = tool("once")
    take_all(writer, [definition])
    row = writer.state.row_of(definition.key)
    assert row is not None
    assert writer.state.table.encoded(row) is definition.encoded


def test_tools_come_in_short_batches_while_searches_are_on_and_all_the_same_in_the_end() -> None:
    tools = [tool(f"tool_{number}", f"does the thing {number}") for number in range(40)]
    polite, alone = make_writer(make_store()), make_writer(make_store())
    entries = iter(tools)
    with polite.right_of_way.searching():
        taken = [polite.take(entries) for _ in range(3)]
    assert [(one.entries, one.report.added, one.is_last) for one in taken] == [
        (16, 16, False),
        (16, 16, False),
        (8, 8, True),
    ]
    assert alone.take(iter(tools)).entries == 40
    assert in_replica(polite) == in_replica(alone)
    assert everything_told(polite) == everything_told(alone)


def everything_told(writer: CatalogWriter) -> list[list[float]]:
    """What a few queries are worth in each row."""
    lexical = writer.state.lexical
    return [lexical.scores(query).tolist() for query in ("thing", "tool 7", "does the thing 39")]


# One tool at once, in the thread that asks.


def new_writer(store: ToolStore | None = None, *, at_once_seconds: float = 60.0) -> CatalogWriter:
    kept = store or make_store()
    return CatalogWriter(kept, CountingEmbedder(), refuse_nothing, store_id="test", at_once_seconds=at_once_seconds)


def quick_writer(store: ToolStore | None = None) -> CatalogWriter:
    """One that has just seen how quickly a single tool is registered."""
    writer = new_writer(store)
    writer.take(iter([tool("first")]))
    return writer


def test_a_small_tool_is_registered_at_once_as_it_would_be_in_the_thread_that_writes() -> None:
    at_once, in_thread = quick_writer(), quick_writer()

    report = at_once.take_at_once(tool("second"))
    taken = in_thread.take(iter([tool("second")]))

    assert report == taken.report
    assert in_replica(at_once) == in_replica(in_thread) == {"default/first": 1, "default/second": 2}
    assert at_once.take_at_once(tool("second")) == in_thread.take(iter([tool("second")])).report


def test_the_first_tool_of_a_process_and_those_after_a_slow_one_are_not_registered_at_once() -> None:
    writer = new_writer()
    assert writer.take_at_once(tool("first")) is None
    slow = new_writer(at_once_seconds=0.0)
    slow.take(iter([tool("first")]))
    assert slow.take_at_once(tool("second")) is None
    assert in_replica(slow) == {"default/first": 1}


def test_how_quickly_a_tool_is_looked_at_that_is_there_already_says_nothing() -> None:
    writer = new_writer()
    writer.take(iter([tool("first"), tool("second")]))
    writer.take(iter([tool("first")]))
    assert writer.take_at_once(tool("third")) is None


def test_nothing_is_registered_at_once_where_it_may_take_long() -> None:
    assert quick_writer().take_at_once(tool("large", "word " * 10_000)) is None
    closed = quick_writer()
    closed.close()
    assert closed.take_at_once(tool("second")) is None


def test_nothing_is_registered_at_once_while_another_thread_writes() -> None:
    go_on, begun = threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go_on.wait(5)

    writer = new_writer(HeardStore(make_store(), wait))
    thread = threading.Thread(target=writer.take, args=(iter([tool("first")]),))
    thread.start()
    assert begun.wait(5)
    assert writer.take_at_once(tool("second")) is None
    go_on.set()
    thread.join(5)
    assert writer.take_at_once(tool("second")) is not None
    assert set(in_replica(writer)) == {"default/first", "default/second"}


def test_after_a_write_that_failed_the_store_is_asked_in_the_thread_that_writes() -> None:
    store = UnreliableStore(make_store())
    writer = quick_writer(store)
    store.fails = 1
    with pytest.raises(StoreUnavailableError):
        writer.take_at_once(tool("second"))
    assert writer.take_at_once(tool("second")) is None
    writer.take(iter([tool("second")]))
    assert writer.take_at_once(tool("third")) is not None
    assert set(in_replica(writer)) == {"default/first", "default/second", "default/third"}


def test_a_tool_that_would_have_much_moved_in_memory_is_not_registered_at_once() -> None:
    writer = quick_writer()
    registered: list[bool] = []
    for number in range(2 * 256):
        entry = tool(f"tool_{number}")
        at_once = writer.take_at_once(entry) is not None
        registered.append(at_once)
        if not at_once:
            writer.take(iter([entry]))
    # The arrays of a small catalog have room for 256 rows, then for half as many more each time.
    assert [number for number, at_once in enumerate(registered) if not at_once] == [255, 383]
    assert len(in_replica(writer)) == 513
