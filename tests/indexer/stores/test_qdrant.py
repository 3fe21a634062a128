import pytest
from qdrant_client import QdrantClient
from qdrant_client.http import models

from indexer.errors import DimensionMismatchError, StoreError, StoreUnavailableError
from indexer.stores.qdrant import QdrantToolStore, connect
from tests.contracts.stores import stored


def test_a_server_that_is_away_is_unavailable() -> None:
    # Port 9 (discard) answers nobody here: the connection is refused at once.
    with pytest.raises(StoreUnavailableError, match="TOOLSCOUT_QDRANT_URL"):
        QdrantToolStore(connect("http://127.0.0.1:9", timeout_seconds=2), "tools", 16)


def test_a_collection_of_another_width_is_a_clear_error() -> None:
    client = QdrantClient(":memory:")
    QdrantToolStore(client, "tools", 16, payload_indexes=False)
    with pytest.raises(
        DimensionMismatchError, match=r"'tools' \(TOOLSCOUT_COLLECTION.*: expected vectors of 16 dimensions, got 8"
    ):
        QdrantToolStore(client, "tools", 8, payload_indexes=False)


def test_a_collection_of_another_program_is_left_alone() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("tools", vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    with pytest.raises(StoreError, match="TOOLSCOUT_COLLECTION"):
        QdrantToolStore(client, "tools", 16, payload_indexes=False)


def test_an_existing_collection_is_used_again() -> None:
    client = QdrantClient(":memory:")
    QdrantToolStore(client, "tools", 16, payload_indexes=False).upsert([stored("a", 1)])
    assert QdrantToolStore(client, "tools", 16, payload_indexes=False).count() == 1


def test_a_large_upsert_goes_in_parts() -> None:
    store = QdrantToolStore(QdrantClient(":memory:"), "tools", 16, payload_indexes=False)
    store.upsert([stored(f"tool_{number}", number, description="x" * 3 * 2**20) for number in range(1, 8)])
    assert store.count() == 7
