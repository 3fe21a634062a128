"""What a catalog on a server is like as a whole: when it is measured, what is kept, what answers say until then."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from indexer.confidence import UNCALIBRATED, Calibration
from indexer.cosine_scale import cosine_scale
from indexer.errors import CorruptSnapshotError
from indexer.search import SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.server_index import ServerToolIndex
from indexer.server_measure import CatalogMeasure, load_measure, save_measure
from indexer.settings import IndexerSettings
from tests.indexer.catalogs import DIMENSIONS, CountingEmbedder, tool
from tests.indexer.on_server import on_server, settings_for
from tests.qdrant_stub.server import QdrantStub, StubServer
from tests.ticking import Clock

QUERY = "POST /collections/([^/]+)/points/query/batch"
COUNT = "POST /collections/([^/]+)/points/count"
TOOLS = [tool(f"mend_{thing}", f"Mends a {thing}.", namespace="shop") for thing in "abcdefghijklmnopqrstuvwx"]


@pytest.fixture
def settings(tmp_path: Path, qdrant: tuple[QdrantStub, StubServer]) -> IndexerSettings:
    return settings_for(qdrant[1], tmp_path)


async def searched(index: ServerToolIndex) -> ToolSearchResponse:
    return await index.search(ToolSearchRequest(queries=("mend the b",)))


async def measured_at(index: ServerToolIndex) -> str:
    return (await index.stats()).search.rpartition(": ")[2]


async def test_answers_say_that_the_catalog_is_being_measured_until_it_is(settings: IndexerSettings) -> None:
    async with on_server(settings) as (index, _):
        await index.register(TOOLS)
    for file in (settings.home / "snapshots").iterdir():
        file.unlink()
    async with on_server(settings) as (index, _):
        assert (await searched(index)).calibrating
        await index.measured()
        assert not (await searched(index)).calibrating
        assert await measured_at(index) == "measured at 24 tools"


async def test_a_catalog_that_grew_from_a_few_tools_is_being_measured_too(settings: IndexerSettings) -> None:
    async with on_server(settings) as (index, _):
        await index.register(TOOLS[:3])
        await index.measured()
        assert not (await searched(index)).calibrating
        async with on_server(settings) as (other, _):
            await other.register(TOOLS)
        await index.delete([TOOLS[0].key])
        assert (await searched(index)).calibrating
        await index.register(TOOLS[:1])
        await index.measured()
        assert not (await searched(index)).calibrating


async def test_a_measure_survives_a_restart(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer], caplog: pytest.LogCaptureFixture
) -> None:
    async with on_server(settings) as (index, _):
        await index.register(TOOLS)
        await index.measured()
        before = await searched(index)
    async with on_server(settings) as (index, ticks):
        qdrant[0].requests.clear()
        after = await searched(index)
        assert replace(after, took_ms=0) == replace(before, took_ms=0)
        await ticks.tick()
        await index.measured()
        assert QUERY not in qdrant[0].requests[1:]
    (kept,) = (settings.home / "snapshots").iterdir()
    kept.write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING):
        async with on_server(settings) as (index, _):
            assert (await searched(index)).calibrating
            await index.measured()
            assert not (await searched(index)).calibrating
    assert "taken anew" in caplog.text


async def test_a_catalog_that_grew_or_shrank_by_a_quarter_is_measured_again(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with on_server(settings) as (index, ticks):
        await index.register(TOOLS[:16])
        await index.measured()
        await index.register(TOOLS[16:20])
        await index.measured()
        assert await measured_at(index) == "measured at 16 tools"
        async with on_server(settings) as (other, _):
            await other.register(TOOLS[20:])
        await ticks.tick()
        await index.measured()
        assert await measured_at(index) == "measured at 24 tools"
        await index.delete([definition.key for definition in TOOLS[:8]])
        await ticks.tick()
        await index.measured()
        assert await measured_at(index) == "measured at 16 tools"


async def test_tools_that_change_without_becoming_more_or_fewer_cost_a_count_and_no_measure(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer]
) -> None:
    async with on_server(settings) as (index, _):
        await index.register(TOOLS)
        await index.measured()
        qdrant[0].requests.clear()
        await index.register([replace(definition, description="Mends it well.") for definition in TOOLS])
        await index.measured()
        assert qdrant[0].requests.count(COUNT) == 1
        assert QUERY not in qdrant[0].requests


async def test_a_measure_that_failed_is_tried_again_after_a_minute(
    settings: IndexerSettings, qdrant: tuple[QdrantStub, StubServer], caplog: pytest.LogCaptureFixture
) -> None:
    embedder, clock = CountingEmbedder(), Clock()
    async with on_server(settings, embedder=embedder, clock=clock) as (index, ticks):
        await index.register(TOOLS[:8])
        await index.measured()
        embedder.failing_queries = True
        async with on_server(settings) as (other, _):
            await other.register(TOOLS)
        await ticks.tick()
        await index.measured()
        assert await measured_at(index) == "measured at 8 tools"
        assert "cannot be measured" in caplog.text
        embedder.failing_queries = False
        await ticks.tick()
        await index.measured()
        assert await measured_at(index) == "measured at 8 tools"
        clock.now += 61
        await ticks.tick()
        await index.measured()
        assert await measured_at(index) == "measured at 24 tools"


def measure(**changes: object) -> CatalogMeasure:
    vectors = np.eye(DIMENSIONS, dtype=np.float32)
    scale = cosine_scale(vectors, np.arange(DIMENSIONS))
    known = CatalogMeasure(
        catalog_id="one",
        encoder_id="counting/t2",
        revision=40,
        tools=30,
        tenants=2,
        average_lengths=np.arange(8, dtype=np.float32),
        calibration=Calibration({**UNCALIBRATED.thresholds, "latin": 4.5}, scale),
    )
    return replace(known, **changes)  # pyright: ignore[reportArgumentType]


def load(
    path: Path, *, catalog_id: str = "one", encoder_id: str = "counting/t2", dimensions: int = DIMENSIONS
) -> CatalogMeasure | None:
    return load_measure(path, catalog_id=catalog_id, encoder_id=encoder_id, dimensions=dimensions)


def test_a_measure_is_read_back_as_it_was_and_for_its_own_catalog_and_encoder_only(tmp_path: Path) -> None:
    path, saved = tmp_path / "kept" / "of.measure", measure()
    assert load(path) is None
    save_measure(path, saved)
    found = load(path)
    assert found is not None
    assert (found.revision, found.tools, found.tenants) == (40, 30, 2)
    assert found.average_lengths.tolist() == saved.average_lengths.tolist()
    assert found.calibration.thresholds == saved.calibration.thresholds
    assert found.calibration.scale is not None
    assert load(path, catalog_id="two") is None
    assert load(path, encoder_id="other/t2") is None
    with pytest.raises(CorruptSnapshotError):
        load(path, dimensions=8)
    save_measure(path, measure(calibration=UNCALIBRATED, tools=3))
    small = load(path)
    assert small is not None
    assert small.calibration is UNCALIBRATED


def test_a_scope_is_the_whole_catalog_where_nothing_is_left_out_of_one_tenant() -> None:
    alone, shared = measure(tenants=1), measure(tenants=2)
    assert alone.is_whole(SearchScope())
    assert not shared.is_whole(SearchScope())
    for scope in (SearchScope(namespaces=frozenset({"shop"})), SearchScope(tags=frozenset({"x"}))):
        assert not alone.is_whole(scope)
