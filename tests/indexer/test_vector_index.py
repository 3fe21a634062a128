"""What the index does for those above it, over a store in memory: registering, deleting, reading."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, ToolKey
from indexer.embedders.hashing import HashingEmbedder
from indexer.errors import EmbeddingError, SourceError, StoreError, StoreUnavailableError
from indexer.opening import open_memory_index
from indexer.search import RejectedTool, SearchScope, ToolSearchRequest
from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import (
    BROKEN,
    SHOP,
    CountingEmbedder,
    UnreliableStore,
    make_index,
    make_store,
    names,
    request,
    tool,
)

# Registering.


async def test_a_first_registration_adds_everything(index: VectorToolIndex) -> None:
    stats = await index.stats()
    assert (stats.tools, stats.quarantined, stats.namespaces, stats.catalog_revision) == (5, 0, 3, 5)
    assert stats.store == "memory"
    assert set(stats.parts_bytes) == {"vectors", "lexical", "definitions", "columns"}
    assert all(size > 0 for size in stats.parts_bytes.values())


async def test_registering_the_same_again_embeds_nothing_and_changes_nothing() -> None:
    embedder = CountingEmbedder()
    index = make_index(embedder=embedder)
    await index.register(SHOP)
    embedder.documents = 0
    report = await index.register(SHOP)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 5)
    assert report.catalog_revision == 5
    assert embedder.documents == 0


async def test_a_changed_definition_replaces_the_old_one(index: VectorToolIndex) -> None:
    report = await index.register([replace(SHOP[0], description="Zebra stripes.")])
    assert (report.added, report.changed, report.unchanged) == (0, 1, 0)
    assert (await names(index, "zebra"))[0] == "refund_order"
    response = await index.search(request("customer money back"))
    assert all("words" not in reason for hit in response.results for reason in hit.reasons if hit.score < 0)
    assert (await index.stats()).tools == 5
    stored = await index.get(SHOP[0].key)
    assert stored is not None
    assert (stored.definition.description, stored.revision) == ("Zebra stripes.", 6)


async def test_of_several_definitions_of_one_tool_the_last_wins_and_the_report_says_so() -> None:
    index = make_index()
    report = await index.register([tool("a", "First."), tool("b"), tool("a", "Second."), tool("a", "Second.")])
    assert (report.added, report.changed, report.unchanged, report.total) == (2, 1, 1, 4)
    stored = await index.get(ToolKey("default", "default", "a"))
    assert stored is not None
    assert stored.definition.description == "Second."
    assert (await index.stats()).tools == 2


async def test_a_broken_definition_is_quarantined_with_its_reason_and_never_found() -> None:
    index = make_index()
    report = await index.register([*SHOP, BROKEN])
    assert (report.added, len(report.quarantined), report.total) == (5, 1, 6)
    (rejected,) = report.quarantined
    assert (rejected.place, rejected.tool) == ("default/broken", "broken")
    assert rejected.field.startswith("input_schema")
    assert "broken" not in await names(index, "broken", "schema nobody can use")
    assert await index.resolve(["broken"], SearchScope()) == {}
    (held,) = await index.list_tools(SearchScope(), quarantined=True)
    assert held.definition == BROKEN
    assert held.status == "quarantined"
    assert held.reason.startswith("input_schema")
    assert await index.get(BROKEN.key) == held


async def test_registering_a_quarantined_tool_again_reports_it_again_and_writes_nothing() -> None:
    index = make_index()
    await index.register([BROKEN])
    report = await index.register([BROKEN])
    assert len(report.quarantined) == 1
    assert report.unchanged == 0
    assert report.catalog_revision == 1


async def test_a_mended_tool_leaves_quarantine_and_a_broken_update_enters_it() -> None:
    index = make_index()
    await index.register([BROKEN])
    mended = replace(BROKEN, input_schema={"type": "object"})
    report = await index.register([mended])
    assert (report.changed, len(report.quarantined)) == (1, 0)
    assert (await names(index, "broken"))[0] == "broken"
    await index.register([BROKEN])
    assert await names(index, "broken") == []
    assert (await index.stats()).quarantined == 1


async def test_what_a_source_could_not_read_is_reported_as_refused() -> None:
    rejected = RejectedTool(place="line 3", tool="x", field="name", reason="is missing")
    index = make_index()
    report = await index.register([rejected, tool("good")])
    assert report.refused == (rejected,)
    assert report.added == 1


async def test_a_name_that_no_engine_can_hold_is_refused() -> None:
    report = await make_index().register([tool("half\ud800"), tool("whole")])
    assert report.added == 1
    (refused,) = report.refused
    assert "surrogate" in refused.reason


async def test_zero_entries_are_a_report_of_zeros() -> None:
    report = await make_index().register([])
    assert (report.total, report.catalog_revision) == (0, 0)


async def test_progress_hears_how_many_entries_are_done() -> None:
    heard: list[int] = []
    await make_index().register((tool(f"tool_{number}") for number in range(600)), progress=heard.append)
    assert heard == [512, 600]


async def test_what_came_before_a_failing_source_is_registered() -> None:
    def entries() -> Iterator[ToolDefinition]:
        yield from SHOP
        raise SourceError("tools.json", "ends in the middle of line 6")

    index = make_index()
    with pytest.raises(SourceError):
        await index.register(entries())
    assert (await index.stats()).tools == 5


async def test_an_encoder_that_fails_registers_nothing_of_that_batch() -> None:
    embedder = CountingEmbedder()
    index = make_index(embedder=embedder)
    embedder.failing = True
    with pytest.raises(EmbeddingError):
        await index.register(SHOP)
    embedder.failing = False
    report = await index.register(SHOP)
    assert (report.added, report.catalog_revision) == (5, 5)


@pytest.mark.parametrize("written", [0, 2])
async def test_a_write_that_failed_half_way_is_made_good_by_the_next(written: int) -> None:
    store = UnreliableStore(make_store())
    index = make_index(store)
    store.fails, store.writes_before_failing = 1, written
    with pytest.raises(StoreUnavailableError):
        await index.register(SHOP)
    report = await index.register(SHOP)
    assert (report.added, report.unchanged) == (5 - written, written)
    assert (await index.stats()).tools == 5
    revisions = [found.revision for batch in store.scan() for found in batch]
    assert revisions == [1, 2, 3, 4, 5]


async def test_a_cancelled_registration_leaves_store_and_replica_in_step() -> None:
    store = make_store()
    index = make_index(store)
    with anyio.CancelScope() as scope:
        await index.register(
            (tool(f"tool_{number}") for number in range(600)), progress=lambda done: scope.cancel() if done else None
        )
    assert scope.cancelled_caught
    in_store = {found.key: found.revision for batch in store.scan() for found in batch}
    listed = await index.list_tools(SearchScope(), limit=5000)
    assert {found.key: found.revision for found in listed} == in_store
    assert 0 < len(in_store) < 600


async def test_concurrent_registrations_all_arrive_with_revisions_of_their_own() -> None:
    index = make_index()
    async with anyio.create_task_group() as group:
        for part in range(4):
            group.start_soon(index.register, [tool(f"tool_{part}_{number}") for number in range(50)])
    listed = await index.list_tools(SearchScope(), limit=500)
    assert sorted(found.revision for found in listed) == list(range(1, 201))


# Deleting.


async def test_a_deleted_tool_is_gone_everywhere(index: VectorToolIndex) -> None:
    key = SHOP[0].key
    assert await index.delete([key, key, ToolKey("default", "shop", "never_was")]) == 1
    assert await index.get(key) is None
    assert "refund_order" not in await names(index, "refund_order", "customer money back")
    assert await index.resolve([model_alias(key)], SearchScope()) == {}
    assert (await index.namespaces(SearchScope())) == {"mail": 1, "shop": 1, "weather": 2}
    assert await index.delete([key]) == 0


async def test_a_deleted_tool_can_be_registered_again(index: VectorToolIndex) -> None:
    await index.delete([SHOP[0].key])
    report = await index.register([SHOP[0]])
    assert (report.added, report.unchanged) == (1, 0)
    assert (await names(index, "refund_order"))[0] == "refund_order"


async def test_a_quarantined_tool_can_be_deleted() -> None:
    index = make_index()
    await index.register([BROKEN])
    assert await index.delete([BROKEN.key]) == 1
    assert await index.get(BROKEN.key) is None
    assert (await index.stats()).quarantined == 0


# Reading.


async def test_tools_are_listed_by_namespace_and_name_in_pages(index: VectorToolIndex) -> None:
    whole = await index.list_tools(SearchScope())
    assert [str(found.key) for found in whole] == [
        "mail/send_mail", "shop/cancel_order", "shop/refund_order", "weather/get_weather", "weather/날씨_조회",
    ]  # fmt: skip
    assert await index.list_tools(SearchScope(), offset=1, limit=2) == whole[1:3]
    assert whole[0].encoder_id.startswith("hashing-64-v1/")


async def test_pinned_tools_are_those_in_scope(index: VectorToolIndex) -> None:
    assert await index.pinned(SearchScope()) == [SHOP[3]]
    assert await index.pinned(SearchScope(namespaces=frozenset({"shop"}))) == []
    await index.register([replace(SHOP[3], pinned=False)])
    assert await index.pinned(SearchScope()) == []


async def test_an_alias_resolves_to_its_definition_and_unknown_ones_are_left_out(index: VectorToolIndex) -> None:
    resolved = await index.resolve(["shop__refund_order", "nobody"], SearchScope())
    assert resolved == {"shop__refund_order": SHOP[0]}


async def test_get_returns_none_for_a_tool_that_never_was(index: VectorToolIndex) -> None:
    assert await index.get(ToolKey("default", "shop", "nobody")) is None


async def test_a_closed_index_refuses_to_write_and_can_be_closed_twice() -> None:
    index = make_index()
    await index.aclose()
    await index.aclose()
    with pytest.raises(StoreError, match="closed"):
        await index.register(SHOP)


# Compaction.


async def test_many_updates_do_not_let_the_replica_grow_without_bound() -> None:
    index = make_index()
    for version in range(8):
        await index.register([tool(f"tool_{number}", f"Version {version}.") for number in range(600)])
    stats = await index.stats()
    assert stats.tools == 600
    rows = stats.parts_bytes["vectors"] / (64 * np.dtype(np.float32).itemsize)
    assert rows < 600 + 2 * 1024 + 600
    assert (await names(index, "tool_77"))[0] == "tool_77"
    stored = await index.get(ToolKey("default", "default", "tool_599"))
    assert stored is not None
    assert stored.definition.description == "Version 7."


async def test_tools_registered_one_by_one_are_found_as_those_of_one_registration_are() -> None:
    """After the first one each is registered in the thread of the event loop, which others share."""
    embedder = HashingEmbedder(64)
    one_by_one, at_once = await open_memory_index(embedder), await open_memory_index(embedder)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    progress: list[int] = []
    async with anyio.create_task_group() as others:
        others.start_soon(take_turns)
        for entry in (*SHOP, SHOP[0], replace(SHOP[1], description="Zebra stripes.")):
            report = await one_by_one.register([entry], progress=progress.append)
            assert report.seconds > 0
        others.cancel_scope.cancel()
    await at_once.register(SHOP)
    await at_once.register([replace(SHOP[1], description="Zebra stripes.")])

    assert progress == [1] * (len(SHOP) + 2)
    assert turns > len(SHOP)
    asked = request("zebra weather mail refund money")
    assert (await one_by_one.stats()).catalog_revision == (await at_once.stats()).catalog_revision
    found, expected = await one_by_one.search(asked), await at_once.search(asked)
    assert [(one.definition, one.score, one.reasons) for one in found.results] == [
        (one.definition, one.score, one.reasons) for one in expected.results
    ]
    await one_by_one.aclose()
    await at_once.aclose()


def test_event_loops_of_several_threads_may_search_one_index_at_once() -> None:
    index = make_index()
    asyncio.run(index.register([tool("send_mail", "Send a mail."), tool("read_mail", "Read a mail.")]))
    found: list[str] = []

    async def search() -> None:
        asked = (ToolSearchRequest(queries=(f"send a mail {number}",), max_results=1) for number in range(20))
        responses = await asyncio.gather(*map(index.search, asked))
        found.extend(response.results[0].definition.name for response in responses)

    threads = [threading.Thread(target=asyncio.run, args=(search(),), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == ["send_mail"] * 80
