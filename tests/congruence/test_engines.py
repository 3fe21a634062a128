"""The replica, embedded Qdrant and `qdrant_client` find the same tools, whatever was written and whoever asks."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from indexer.definition import ToolDefinition, ToolKey, TrustTier
from indexer.replica import Replica
from indexer.search import SearchScope
from indexer.stores.base import StoredTool, ToolStore
from indexer.stores.edge import EdgeToolStore
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import connect
from tests.congruence.engines import Engine, edge_engine, qdrant_engine, replica_engine, searching
from tests.contracts.stores import (
    DIMENSIONS,
    LOCAL,
    StoreHouse,
    apart_house,
    edge_house,
    server_house,
    server_url,
    stub_house,
    unit,
)

TENANTS = ("default", "acme")
NAMESPACES = ("shop", "weather", "mail")
TAGS = ("a", "b", "c")
TIERS: tuple[TrustTier, ...] = ("trusted", "verified", "community", "untrusted")
NAMES = tuple(f"tool_{number}" for number in range(8))

keys = st.builds(ToolKey, st.sampled_from(TENANTS), st.sampled_from(NAMESPACES), st.sampled_from(NAMES))


def make_definition(key: ToolKey, tags: set[str], trust: TrustTier) -> ToolDefinition:
    return ToolDefinition(
        tenant=key.tenant, namespace=key.namespace, name=key.name, tags=tuple(sorted(tags)), trust=trust
    )


definitions = st.builds(make_definition, keys, st.sets(st.sampled_from(TAGS)), st.sampled_from(TIERS))
changes = st.tuples(definitions, st.sampled_from(("active", "active", "active", "deleted", "quarantined")))
histories = st.lists(st.lists(changes, max_size=12, unique_by=lambda change: change[0].key), max_size=6)
scopes = st.builds(
    SearchScope,
    tenant=st.sampled_from(TENANTS),
    namespaces=st.none() | st.frozensets(st.sampled_from(NAMESPACES)),
    tags=st.frozensets(st.sampled_from(TAGS), max_size=2),
    trust=st.none() | st.frozensets(st.sampled_from(TIERS)),
    tools=st.none() | st.frozensets(keys, max_size=10),
)


def numbered(history: Sequence[Sequence[tuple[ToolDefinition, str]]]) -> list[list[StoredTool]]:
    """The history as stored tools, revisions in order of writing, a vector of its own for each active one."""
    revision = 0
    batches: list[list[StoredTool]] = []
    for batch in history:
        tools: list[StoredTool] = []
        for definition, status in batch:
            revision += 1
            tools.append(
                StoredTool(
                    definition=definition,
                    content_hash=definition.content_hash,
                    revision=revision,
                    status="active" if status == "active" else "deleted" if status == "deleted" else "quarantined",
                    encoder_id="unit-16",
                    vector=unit(revision) if status == "active" else None,
                )
            )
        batches.append(tools)
    return batches


def assert_same(one: Engine, other: Engine, asked: Sequence[SearchScope]) -> None:
    for number, scope in enumerate(asked):
        for k in (1, 5, 100):
            expected = one(unit(1000 + number), scope, k)
            actual = other(unit(1000 + number), scope, k)
            assert [found.key for found in actual] == [found.key for found in expected]
            assert [found.score for found in actual] == pytest.approx([found.score for found in expected], abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(history=histories, asked=st.lists(scopes, min_size=1, max_size=6))
def test_replica_and_qdrant_client_agree(
    history: list[list[tuple[ToolDefinition, str]]], asked: list[SearchScope]
) -> None:
    batches = numbered(history)
    client = QdrantClient(":memory:")
    store = QdrantToolStore(client, "tools", DIMENSIONS, options=LOCAL)
    assert store.count() == 0
    for batch in batches:
        store.upsert(batch)
    replica = replica_engine(batches, DIMENSIONS)
    assert_same(replica, qdrant_engine(client, "tools"), asked)
    assert_same(replica, followed(store), asked)


@pytest.mark.parametrize("make_house", [edge_house, apart_house], ids=lambda house: house.__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories, asked=st.lists(scopes, min_size=1, max_size=6))
def test_replica_and_embedded_qdrant_agree_also_after_reopening(
    make_house: Callable[[Path], StoreHouse],
    history: list[list[tuple[ToolDefinition, str]]],
    asked: list[SearchScope],
) -> None:
    batches = numbered(history)
    replica = replica_engine(batches, DIMENSIONS)
    folder = Path(tempfile.mkdtemp(prefix="congruence-"))
    try:
        store = make_house(folder).open()
        for batch in batches:
            store.upsert(batch)
        assert_same(replica, followed(store), asked)
        store.close()
        engine, close = edge_engine(folder / "shard", batches, DIMENSIONS)
        assert_same(replica, engine, asked)
        close()
        again = EdgeToolStore(folder / "edge", DIMENSIONS)
        assert_same(replica, followed(again), asked)
        again.close()
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("make_house", [stub_house, server_house], ids=lambda house: house.__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories, asked=st.lists(scopes, min_size=1, max_size=4))
def test_replica_and_a_qdrant_server_agree_also_after_reopening(
    make_house: Callable[[Path], StoreHouse],
    history: list[list[tuple[ToolDefinition, str]]],
    asked: list[SearchScope],
) -> None:
    batches = numbered(history)
    replica = replica_engine(batches, DIMENSIONS)
    house = make_house(Path())
    store = house.open()
    for batch in batches:
        store.upsert(batch)
    assert_same(replica, followed(store), asked)
    store.close()
    again = house.open()
    assert isinstance(again, QdrantToolStore)
    assert_same(replica, followed(again), asked)
    client = connect(server_url(house), timeout_seconds=10)
    assert_same(replica, qdrant_engine(client, again.handle().name), asked)
    client.delete_collection(again.handle().name)
    client.close()
    again.close()


@settings(max_examples=40, deadline=None)
@given(history=histories, asked=st.lists(scopes, min_size=1, max_size=6))
def test_a_compacted_replica_agrees_with_the_one_it_was(
    history: list[list[tuple[ToolDefinition, str]]], asked: list[SearchScope]
) -> None:
    batches = numbered(history)
    compacted = Replica(DIMENSIONS)
    for batch in batches:
        compacted.apply(batch)
        compacted.compact()
    assert_same(replica_engine(batches, DIMENSIONS), searching(compacted), asked)


def followed(store: ToolStore) -> Engine:
    """A replica that follows the store by revision, as a start does."""
    replica = Replica(DIMENSIONS)
    for batch in store.scan(batch_size=7):
        replica.apply(batch)
    return searching(replica)


def test_many_points_and_a_narrow_scope_agree() -> None:
    rng = np.random.default_rng(7)
    definitions_ = [
        ToolDefinition(name=f"tool_{number}", namespace=f"space_{number % 40}", tags=(TAGS[int(rng.integers(3))],))
        for number in range(1000)
    ]
    batches = numbered([[(definition, "active") for definition in definitions_]])
    client = QdrantClient(":memory:")
    store = QdrantToolStore(client, "tools", DIMENSIONS, options=LOCAL)
    store.upsert(batches[0])
    asked = [
        SearchScope(namespaces=frozenset({"space_3"})),
        SearchScope(namespaces=frozenset({f"space_{number}" for number in range(30)})),
        SearchScope(tags=frozenset({"a"})),
        SearchScope(),
    ]
    assert_same(replica_engine(batches, DIMENSIONS), qdrant_engine(client, "tools"), asked)
