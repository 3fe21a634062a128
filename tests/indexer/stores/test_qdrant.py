from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_client.http import models

from indexer.errors import DimensionMismatchError, StoreError, StoreUnavailableError
from indexer.stores.base import SparseTerms
from indexer.stores.payload import DENSE, payload_of
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import Pauses, connect
from indexer.stores.qdrant_collection import CollectionOptions
from tests.contracts.stores import LOCAL, stored
from tests.qdrant_stub.server import running_stub


def test_a_server_that_is_away_is_unavailable() -> None:
    # Port 9 (discard) answers nobody here: the connection is refused at once.
    with pytest.raises(StoreUnavailableError, match="TOOLSCOUT_QDRANT_URL"):
        QdrantToolStore(connect("http://127.0.0.1:9"), "tools", 16, pauses=Pauses(0)).count()


def test_vectors_of_another_width_are_a_clear_error() -> None:
    client = QdrantClient(":memory:")
    QdrantToolStore(client, "tools", 16, options=LOCAL).upsert([stored("a", 1)])
    with pytest.raises(
        DimensionMismatchError, match=r"'tools-1' .*migrate.*TOOLSCOUT_COLLECTION.*: expected vectors of 16 .* got 8"
    ):
        next(QdrantToolStore(client, "tools", 8, options=LOCAL).scan())


def test_a_collection_of_another_program_is_left_alone() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("tools", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    with pytest.raises(StoreError, match="TOOLSCOUT_COLLECTION"):
        QdrantToolStore(client, "tools", 16, options=LOCAL).count()


def test_an_existing_collection_is_used_again() -> None:
    client = QdrantClient(":memory:")
    QdrantToolStore(client, "tools", 16, options=LOCAL).upsert([stored("a", 1)])
    assert QdrantToolStore(client, "tools", 16, options=LOCAL).count() == 1


def test_a_name_is_an_alias_from_the_start() -> None:
    client = QdrantClient(":memory:")
    store = QdrantToolStore(client, "tools", 16, options=LOCAL)
    store.upsert([stored("a", 1)])
    assert [(alias.alias_name, alias.collection_name) for alias in client.get_aliases().aliases] == [
        ("tools", "tools-1")
    ]
    assert store.handle().aliased
    assert store.handle().has_words


def test_a_collection_of_the_time_before_aliases_goes_on_working() -> None:
    client = QdrantClient(":memory:")
    client.create_collection(
        "tools", vectors_config={DENSE: models.VectorParams(size=16, distance=models.Distance.DOT)}
    )
    old = [stored(f"tool_{number}", number) for number in range(1, 8)]
    vectors = [{DENSE: np.asarray(tool.vector).tolist()} for tool in old]
    points = [
        models.PointStruct(id=str(tool.point_id), vector=vector, payload=payload_of(tool))
        for tool, vector in zip(old, vectors, strict=True)
    ]
    client.upsert("tools", points)
    store = QdrantToolStore(client, "tools", 16, options=LOCAL)
    assert not store.handle().aliased
    assert store.ledger().allocated == 7
    assert store.count() == 7
    store.upsert([replace(stored("new", 8), terms=SparseTerms(np.array([1], np.uint32), np.ones(1, np.float32)))])
    assert [tool.revision for batch in store.scan() for tool in batch] == [*range(1, 9)]


def test_tools_of_equal_revisions_which_older_versions_wrote_are_all_read() -> None:
    store = QdrantToolStore(QdrantClient(":memory:"), "tools", 16, options=LOCAL)
    store.upsert([stored(f"tool_{number}", 1 + number // 5) for number in range(23)])
    found = [tool for batch in store.scan(batch_size=3) for tool in batch]
    assert len(found) == 23
    assert len({tool.key for tool in found}) == 23
    assert [tool.revision for tool in found] == sorted(tool.revision for tool in found)


def test_a_server_too_old_for_conditional_writes_is_refused() -> None:
    with running_stub() as (stub, server):
        stub.version = "1.15.4"
        with pytest.raises(StoreError, match=r"1\.15\.4.*from 1\.16 on"):
            QdrantToolStore(connect(server.url), "tools", 16).count()


def test_processes_that_start_at_once_make_one_collection() -> None:
    with running_stub() as (stub, server):
        stores = [QdrantToolStore(connect(server.url), "tools", 16) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            ledgers = {ledger.catalog_id for ledger in threads.map(QdrantToolStore.ledger, stores)}
        assert len(ledgers) == 1
        assert list(stub.collections) == ["tools-1"]
        assert stub.aliases == {"tools": "tools-1"}
        for store in stores:
            store.close()


def test_a_collection_is_spread_over_the_cluster_as_the_settings_say() -> None:
    with running_stub() as (stub, server):
        options = CollectionOptions(shards=6, replicas=3, write_consistency=2)
        store = QdrantToolStore(connect(server.url), "tools", 16, options=options)
        store.count()
        config = stub.collections["tools-1"].config
        assert (config.shard_number, config.replication_factor, config.write_consistency_factor) == (6, 3, 2)
        assert set(stub.collections["tools-1"].schema) == {
            "revision", "version", "tenant", "namespace", "tags", "trust", "status", "flags", "alias", "names",
        }  # fmt: skip
        store.close()


def test_a_large_upsert_goes_in_parts() -> None:
    store = QdrantToolStore(QdrantClient(":memory:"), "tools", 16, options=LOCAL)
    store.upsert([stored(f"tool_{number}", number, description="x" * 3 * 2**20) for number in range(1, 8)])
    assert store.count() == 7
