"""How rare words are, as a server's own scores tell it."""

from dataclasses import replace
from math import log1p

import pytest
from qdrant_client import QdrantClient

from indexer.document import document_of
from indexer.rarity import MOST_ASKED, Rarities
from indexer.sparse import document_terms
from indexer.stores.qdrant import QdrantToolStore
from indexer.stores.qdrant_query import rarity_query
from tests.contracts.stores import LOCAL, stored

TEXTS = ("Refund an order.", "Cancel an order of a customer.", "Weather of a city.", "도시의 날씨")


@pytest.fixture
def client() -> QdrantClient:
    client = QdrantClient(":memory:")
    tools = [stored(f"t{number}", number, description=text) for number, text in enumerate(TEXTS, start=1)]
    words = [replace(tool, terms=document_terms(document_of(tool.definition))) for tool in tools]
    QdrantToolStore(client, "tools", 16, options=LOCAL).upsert(words)
    return client


def learnt(client: QdrantClient, *texts: str) -> Rarities:
    rarities = Rarities()
    terms = rarities.unknown(texts)
    answers = client.query_batch_points("tools", [rarity_query(term) for term in terms])
    rarities.learn(terms, [answer.points for answer in answers])
    return rarities


def idf(tools: int, holding: int) -> float:
    return log1p((tools - holding + 0.5) / (holding + 0.5))


def test_a_score_tells_in_how_many_tools_a_word_stands(client: QdrantClient) -> None:
    query = "refund orders of a customer in a zeppelin"
    found = learnt(client, query).of([query], tools=4)
    assert found == pytest.approx(
        {"refund": idf(4, 1), "order": idf(4, 4), "custom": idf(4, 1), "zeppelin": idf(4, 0)}, abs=1e-4
    )


def test_words_that_are_equally_rare_come_out_equal(client: QdrantClient) -> None:
    found = learnt(client, "refund weather city").of(["refund weather city"], tools=4)
    assert len(set(found.values())) == 1


def test_the_english_names_of_korean_words_are_asked_for_too(client: QdrantClient) -> None:
    assert learnt(client, "날씨").of(["날씨"], tools=4)["weather"] == pytest.approx(idf(4, 1), abs=1e-4)


def test_what_is_known_is_not_asked_again_and_no_request_asks_without_end() -> None:
    rarities = Rarities()
    text = " ".join(f"word{number}" for number in range(200))
    first = rarities.unknown([text, text])
    assert len(first) == MOST_ASKED == len(set(first))
    rarities.learn(first, [[] for _ in first])
    assert len(rarities) == MOST_ASKED
    assert not set(rarities.unknown([text])) & set(first)
    assert len(rarities.of([text], tools=10)) == MOST_ASKED
