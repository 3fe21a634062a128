"""The embedded store whose engine works in a process of its own: who may die, and what is there afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import orjson
import pytest

from indexer.embedders.hashing import HashingEmbedder
from indexer.errors import DimensionMismatchError, StoreError, StoreLockedError, StoreUnavailableError
from indexer.opening import open_index
from indexer.settings import IndexerSettings
from indexer.stores.base import StoredTool
from indexer.stores.edge import EdgeToolStore, engine_apart
from indexer.stores.edge_process import EdgeEngineApart
from tests.contracts.stores import DIMENSIONS, apart_house, stored

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

OWNER = """
import sys
from pathlib import Path
from indexer.definition import ToolDefinition
from indexer.stores.base import StoredTool
from indexer.stores.edge import EdgeToolStore, engine_apart
store = EdgeToolStore(Path(sys.argv[1]), 16, engine=engine_apart())
tools = [ToolDefinition(name=f"tool_{number}") for number in (1, 2, 3)]
store.upsert([StoredTool(definition=tool, content_hash="", revision=number) for number, tool in enumerate(tools, 1)])
sys.stdout.write("written\\n")
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    apart_house(tmp_path)
    return tmp_path / "edge"


@pytest.fixture
def engine() -> Iterator[EdgeEngineApart]:
    made = engine_apart()
    yield made
    made.close()


def opened(folder: Path, engine: EdgeEngineApart) -> EdgeToolStore:
    return EdgeToolStore(folder, DIMENSIONS, engine=engine)


def everything(store: EdgeToolStore) -> list[StoredTool]:
    return [tool for batch in store.scan() for tool in batch]


def kill(engine: EdgeEngineApart) -> None:
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)


@contextlib.contextmanager
def another_owner(folder: Path) -> Generator[subprocess.Popen[str]]:
    """A process that has the store open and wrote three tools."""
    command = [sys.executable, "-c", OWNER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "written\n"
            yield process
        finally:
            process.kill()


@POSIX
def test_a_killed_engine_is_told_and_the_next_call_finds_all_that_was_acknowledged(
    folder: Path, engine: EdgeEngineApart
) -> None:
    store = opened(folder, engine)
    store.upsert([stored("a", 1), stored("b", 2)])
    kill(engine)
    with pytest.raises(StoreUnavailableError, match=r"edge was lost: its process ended with code -9\. It is opened ag"):
        store.upsert([stored("c", 3)])
    assert [tool.key.name for tool in everything(store)] == ["a", "b"]
    store.upsert([stored("c", 3)])
    assert store.last_revision() == 3
    store.close()


@POSIX
def test_a_store_whose_engine_was_killed_closes_and_opens_again(folder: Path, engine: EdgeEngineApart) -> None:
    store = opened(folder, engine)
    store.upsert([stored("a", 1)])
    kill(engine)
    store.close()
    again = EdgeToolStore(folder, DIMENSIONS)
    assert again.count() == 1
    again.close()


@POSIX
def test_an_engine_that_was_killed_before_the_first_call_is_started_again(
    folder: Path, engine: EdgeEngineApart
) -> None:
    kill(engine)
    store = opened(folder, engine)
    with pytest.raises(StoreUnavailableError):
        store.count()
    assert store.count() == 0
    store.close()


@POSIX
def test_the_engine_ends_with_a_killed_owner_and_the_next_one_waits_for_it(folder: Path) -> None:
    with another_owner(folder) as process:
        process.kill()
        process.wait()
        store = EdgeToolStore(folder, DIMENSIONS)
        assert [tool.key.name for tool in everything(store)] == ["tool_1", "tool_2", "tool_3"]
        store.close()


def test_a_second_owner_is_told_by_its_first_call_who_has_the_store_and_may_try_again(
    folder: Path, engine: EdgeEngineApart
) -> None:
    with another_owner(folder) as process:
        store = opened(folder, engine)
        for _ in range(2):
            with pytest.raises(StoreLockedError, match=f"in use by process {process.pid} "):
                store.count()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    assert store.count() == 3
    assert orjson.loads((folder / "owner.json").read_bytes())["pid"] == os.getpid()
    store.close()
    assert not (folder / "owner.json").exists()


def test_a_damaged_shard_is_told_by_the_first_call(folder: Path, engine: EdgeEngineApart) -> None:
    (folder / "shard" / "edge_config.json").write_text("{")
    store = opened(folder, engine)
    with pytest.raises(StoreError, match=r"edge failed: .*edge_config\.json"):
        store.count()
    store.close()


def test_what_the_engine_refuses_leaves_it_ready_for_the_next_call(folder: Path, engine: EdgeEngineApart) -> None:
    store = opened(folder, engine)
    with pytest.raises(StoreError, match="failed"):
        list(store.scan(batch_size=-1))
    store.upsert([stored("a", 1)])
    assert store.count() == 1
    store.close()


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_for_all_that_a_terminal_or_service_started_leave_the_engine_to_its_owner(
    number: signal.Signals, folder: Path, engine: EdgeEngineApart
) -> None:
    store = opened(folder, engine)
    store.upsert([stored("a", 1)])
    assert engine.pid is not None
    os.kill(engine.pid, number)
    assert store.count() == 1
    store.close()
    assert engine.pid is None


def test_a_large_batch_goes_through_the_pipe_and_back(folder: Path, engine: EdgeEngineApart) -> None:
    store = opened(folder, engine)
    tools = [stored(f"tool_{number}", number, description="x" * 2**20) for number in range(1, 21)]
    store.upsert(tools)
    assert [tool.definition for tool in everything(store)] == [tool.definition for tool in tools]
    store.close()


def test_a_store_that_cannot_be_opened_ends_the_process_that_was_meant_for_it(
    folder: Path, engine: EdgeEngineApart
) -> None:
    with pytest.raises(DimensionMismatchError, match="expected vectors of 16 dimensions, got 32"):
        EdgeToolStore(folder, 32, engine=engine)
    assert engine.pid is None


@pytest.mark.parametrize("store_process", [True, False])
async def test_what_is_opened_for_long_keeps_its_tools_with_and_without_a_process(
    store_process: bool, tmp_path: Path
) -> None:
    settings = IndexerSettings(home=tmp_path, store_process=store_process)
    for tools in (2, 3):
        index = await open_index(settings, embedder=HashingEmbedder(64), for_long=True)
        await index.register(stored(f"tool_{number}", 0).definition for number in range(tools))
        assert (await index.stats()).catalog_revision == tools
        await index.aclose()
