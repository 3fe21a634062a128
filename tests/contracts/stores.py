"""The stores under contract: how each is opened, and opened again over the same data."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pytest

from indexer.definition import ToolDefinition
from indexer.stores.base import StoredTool, ToolStatus, ToolStore
from indexer.stores.edge import EdgeToolStore, engine_apart
from indexer.stores.memory import MemoryToolStore
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import connect
from indexer.stores.qdrant_collection import CollectionOptions
from tests.qdrant_stub import QdrantStub, StubServer

DIMENSIONS: Final = 16
LOCAL: Final = CollectionOptions(payload_indexes=False)
"""For the in-process client, which has no payload indexes."""


@dataclass(frozen=True, slots=True)
class StoreHouse:
    """One place that keeps a store's data; `open` gives a store over it, again and again."""

    name: str
    open: Callable[[], ToolStore]


def memory_house(folder: Path) -> StoreHouse:
    store = MemoryToolStore(DIMENSIONS)
    return StoreHouse("memory", store.reopen)


def edge_house(folder: Path) -> StoreHouse:
    """An embedded store, copied from one that was made once: its payload indexes take most of a second."""
    shutil.copytree(_empty_edge_store(), folder / "edge")
    return StoreHouse("edge", lambda: EdgeToolStore(folder / "edge", DIMENSIONS))


def apart_house(folder: Path) -> StoreHouse:
    """As `edge_house`, with the engine in a process of its own."""
    shutil.copytree(_empty_edge_store(), folder / "edge")
    return StoreHouse("apart", lambda: EdgeToolStore(folder / "edge", DIMENSIONS, engine=engine_apart()))


@cache
def _empty_edge_store() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="edge-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    EdgeToolStore(folder, DIMENSIONS).close()
    return folder


def qdrant_house(folder: Path) -> StoreHouse:
    from qdrant_client import QdrantClient

    def open_store() -> ToolStore:
        client = QdrantClient(path=str(folder / "qdrant"))
        return QdrantToolStore(client, "tools", DIMENSIONS, options=LOCAL)

    return StoreHouse("qdrant", open_store)


def stub_house(folder: Path) -> StoreHouse:
    """The server's REST interface, spoken to over HTTP by the real client."""
    return StoreHouse("stub", partial(_server_store, shared_stub().url, f"tools-{uuid4().hex}"))


def server_house(folder: Path) -> StoreHouse:
    """A real server, where the test run is told of one."""
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("needs a Qdrant server: set QDRANT_URL to its address")
    return StoreHouse("server", partial(_server_store, url, f"toolscout-test-{uuid4().hex}"))


def server_url(house: StoreHouse) -> str:
    """Where the server of a `stub_house` or a `server_house` answers."""
    return shared_stub().url if house.name == "stub" else os.environ["QDRANT_URL"]


def _server_store(url: str, collection: str) -> ToolStore:
    return QdrantToolStore(connect(url, timeout_seconds=10), collection, DIMENSIONS)


@cache
def shared_stub() -> StubServer:
    """One stub for all tests of this process that only need a server; each takes a collection of its own."""
    stub = QdrantStub()
    server = StubServer(stub)

    def end() -> None:
        server.stop()
        stub.close()

    atexit.register(end)
    return server


HOUSES: Final = (memory_house, edge_house, apart_house, qdrant_house, stub_house, server_house)


def unit(seed: int) -> npt.NDArray[np.float32]:
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def stored(
    name: str,
    revision: int,
    *,
    status: ToolStatus = "active",
    namespace: str = "shop",
    tenant: str = "default",
    description: str = "Refund an order.",
) -> StoredTool:
    definition = ToolDefinition(
        name=name, namespace=namespace, tenant=tenant, description=description, tags=("orders", "money")
    )
    return StoredTool(
        definition=definition,
        content_hash=definition.content_hash,
        revision=revision,
        status=status,
        reason="input_schema: not an object" if status == "quarantined" else "",
        encoder_id="unit-16",
        vector=unit(revision) if status == "active" else None,
    )
