"""Words rank alike on every engine that searches by itself: the in-process client, and the server's own index."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient
from qdrant_client.http import models

from indexer.definition import ToolDefinition
from indexer.document import document_of
from indexer.rarity import Rarities
from indexer.search import SearchScope
from indexer.sparse import document_terms, query_terms
from indexer.stores.base import StoredTool
from indexer.stores.payload import WORDS
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_calls import connect
from indexer.stores.qdrant_query import QueryText, candidates_query, rarity_query, scope_filter
from tests.contracts.stores import DIMENSIONS, LOCAL, StoreHouse, server_house, server_url, stub_house, unit

VOCABULARY = ("order", "refund", "weather", "city", "mail", "customer", "invoice", "날씨", "주문", "list")
texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6).map(" ".join)
catalogs = st.lists(st.tuples(texts, st.sampled_from(("shop", "mail"))), min_size=1, max_size=12)


def stored_tools(catalog: list[tuple[str, str]]) -> list[StoredTool]:
    tools: list[StoredTool] = []
    for number, (text, namespace) in enumerate(catalog, start=1):
        definition = ToolDefinition(name=f"tool_{number}", namespace=namespace, description=text)
        tools.append(
            StoredTool(
                definition=definition,
                content_hash=definition.content_hash,
                revision=number,
                encoder_id="unit-16",
                vector=unit(number),
                terms=document_terms(document_of(definition)),
            )
        )
    return tools


def by_words(client: QdrantClient, collection: str, query: str, scope: SearchScope) -> dict[str, float]:
    terms = query_terms(query)
    answer = client.query_points(
        collection,
        query=models.SparseVector(indices=terms.indices.tolist(), values=terms.weights.tolist()),
        using=WORDS,
        query_filter=scope_filter(scope),
        limit=50,
    )
    return {str(point.id): point.score for point in answer.points}


def rarities(client: QdrantClient, collection: str, query: str) -> Mapping[str, float]:
    found = Rarities()
    terms = found.unknown([query])
    answers = client.query_batch_points(collection, [rarity_query(term) for term in terms])
    found.learn(terms, [answer.points for answer in answers])
    return found.of([query], tools=12)


def furthest(client: QdrantClient, collection: str, scope: SearchScope) -> str:
    """The point that joins the best ones because its cosine is the lowest."""
    meaning = [QueryText(unit(999), query_terms(""))]
    request = candidates_query(meaning, scope_filter(scope), 50, furthest=True)
    assert request is not None
    assert isinstance(request.prefetch, list)
    request.prefetch = request.prefetch[-1:]
    (answer,) = client.query_batch_points(collection, [request])
    (point,) = answer.points
    return str(point.id)


def hybrid(client: QdrantClient, collection: str, query: str, scope: SearchScope) -> dict[str, float]:
    request = candidates_query([QueryText(unit(999), query_terms(query))], scope_filter(scope), 50)
    assert request is not None
    (answer,) = client.query_batch_points(collection, [request])
    return {str(point.id): point.score for point in answer.points}


@pytest.mark.parametrize("make_house", [stub_house, server_house], ids=lambda house: house.__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(catalog=catalogs, query=texts, namespaces=st.none() | st.just(frozenset({"shop"})))
def test_words_and_fusion_score_alike_in_process_and_on_a_server(
    make_house: Callable[[Path], StoreHouse],
    catalog: list[tuple[str, str]],
    query: str,
    namespaces: frozenset[str] | None,
) -> None:
    tools, scope = stored_tools(catalog), SearchScope(namespaces=namespaces)
    house = make_house(Path())
    server_store = house.open()
    assert isinstance(server_store, QdrantToolStore)
    server_store.upsert(tools)
    local = QdrantClient(":memory:")
    QdrantToolStore(local, "tools", DIMENSIONS, options=LOCAL).upsert(tools)
    client = connect(server_url(house), timeout_seconds=10)
    collection = server_store.handle().name
    here, there = by_words(local, "tools", query, scope), by_words(client, collection, query, scope)
    assert here.keys() == there.keys()
    assert there == pytest.approx(here, abs=1e-4)
    fused_here, fused_there = hybrid(local, "tools", query, scope), hybrid(client, collection, query, scope)
    assert fused_here.keys() == fused_there.keys()
    if len(set(np.round(list(here.values()), 4))) == len(here):  # ties may be broken either way, and move ranks
        assert fused_there == pytest.approx(fused_here, abs=1e-4)
    assert rarities(client, collection, query) == pytest.approx(rarities(local, "tools", query), abs=2e-4)
    if any(scope.admits(tool.definition) for tool in tools):
        cosines = {
            str(tool.point_id): float(unit(tool.revision) @ unit(999))
            for tool in tools
            if scope.admits(tool.definition)
        }
        lowest = min(cosines, key=cosines.__getitem__)
        assert furthest(client, collection, scope) == furthest(local, "tools", scope) == lowest
    client.delete_collection(collection)
    client.close()
    server_store.close()


def test_a_document_weighs_its_name_more_than_its_description_and_a_repeated_word_more_than_a_single_one() -> None:
    def weights(**fields: Any) -> dict[int, float]:
        terms = document_terms(document_of(ToolDefinition(**fields)))
        return dict(zip(terms.indices.tolist(), terms.weights.tolist(), strict=True))

    (order,) = query_terms("order").indices.tolist()
    (refund,) = query_terms("refund").indices.tolist()
    found = weights(name="order", description="refund")
    assert found[order] > found[refund] > 0
    once, often = weights(name="x", description="refund a b c"), weights(name="x", description="refund refund refund")
    assert 4.0 > often[refund] > once[refund]
    assert weights(name="order").keys() == weights(name="Orders").keys()


def test_a_query_has_each_word_once_and_none_twice() -> None:
    terms = query_terms("orders, order and ORDER of refunds")
    assert terms.weights.tolist() == [1.0, 1.0]
    assert len(set(terms.indices.tolist())) == 2
    assert len(query_terms("…").indices) == 0
