"""`kill -9` while a catalog is being indexed."""

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from indexer.embedded_opening import STORE_DIRECTORY
from indexer.embedders.hashing import HashingEmbedder
from indexer.opening import open_index
from indexer.search import SearchScope
from indexer.settings import IndexerSettings
from indexer.stores.base import StoredTool, ToolStore
from indexer.stores.edge import EdgeToolStore
from indexer.stores.memory import MemoryToolStore
from tests.indexer.catalogs import make_writer
from tests.indexer.kill_target import DIMENSIONS, TOOLS, catalog

KILLS = 6
BROKEN = TOOLS // 100


def start(home: Path, where: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.indexer.kill_target", str(home), where]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_and_kill(home: Path, where: str, after: int, delay_seconds: float) -> int:
    """Kill the run a moment after it has acknowledged more than `after` entries; how many it acknowledged."""
    with start(home, where) as process:
        assert process.stdout is not None
        acknowledged = 0
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged > after:
                break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=delay_seconds)
        process.kill()
        # What it wrote before it died counts as acknowledged too.
        return max([acknowledged, *map(int, process.stdout.read().split())])


def everything(store: ToolStore) -> list[StoredTool]:
    return [found for batch in store.scan() for found in batch]


def clean_run() -> list[StoredTool]:
    store = MemoryToolStore(DIMENSIONS)
    writer = make_writer(store, embedder=HashingEmbedder(DIMENSIONS))
    entries = iter(catalog())
    while not writer.take(entries).is_last:
        pass
    return everything(store)


@pytest.mark.parametrize("where", ["inside", "apart"])
async def test_nothing_acknowledged_is_lost_and_the_repeated_run_ends_as_a_clean_one(
    where: str, tmp_path: Path
) -> None:
    expected = clean_run()
    rng = random.Random(20)
    acknowledged = 0
    for _ in range(KILLS):
        acknowledged = run_and_kill(tmp_path, where, min(acknowledged, TOOLS - 1), rng.random() * 0.06)
        store = EdgeToolStore(tmp_path / STORE_DIRECTORY, DIMENSIONS)
        kept = {found.key: found.content_hash for found in everything(store)}
        store.close()
        lost = [tool.key for tool in expected[:acknowledged] if kept.get(tool.key) != tool.content_hash]
        assert lost == []

    with start(tmp_path, where) as process:
        assert process.wait(timeout=120) == 0
    store = EdgeToolStore(tmp_path / STORE_DIRECTORY, DIMENSIONS)
    actual = everything(store)
    store.close()
    assert [(tool.key, tool.content_hash, tool.revision, tool.status, tool.reason) for tool in actual] == [
        (tool.key, tool.content_hash, tool.revision, tool.status, tool.reason) for tool in expected
    ]
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(np.asarray(one.vector), np.asarray(other.vector))

    index = await open_index(IndexerSettings(home=tmp_path), embedder=HashingEmbedder(DIMENSIONS))
    stats = await index.stats()
    assert (stats.tools, stats.quarantined, stats.catalog_revision) == (TOOLS - BROKEN, BROKEN, TOOLS)
    assert len(await index.list_tools(SearchScope(), limit=TOOLS)) == TOOLS - BROKEN
    await index.aclose()
