"""A few tools of a catalog, ranked as rows of the whole."""

import numpy as np
import pytest

from indexer.candidates import PartWords, WholeWords, as_part, replica_of
from indexer.confidence import UNCALIBRATED
from indexer.document import document_of
from indexer.embedders.hashing import HashingEmbedder
from indexer.engine import embed_tools, search_rows
from indexer.rarity import terms_of
from indexer.replica_state import ReplicaState
from indexer.stores.base import StoredTool
from tests.indexer.catalogs import DIMENSIONS, SHOP, tool

EMBEDDER = HashingEmbedder(DIMENSIONS)
DEFINITIONS = [*SHOP, *(tool(f"archive_{name}", f"Keeps old {name} for an order.") for name in ("mails", "bills", "x"))]
TOOLS = [
    StoredTool(definition=one, content_hash=one.content_hash, revision=number, vector=vector)
    for number, (one, vector) in enumerate(
        zip(DEFINITIONS, embed_tools(EMBEDDER, [document_of(one) for one in DEFINITIONS]), strict=True), start=1
    )
]
WHOLE = replica_of(TOOLS, EMBEDDER)


def idf_of(state: ReplicaState, query: str) -> dict[str, float]:
    return dict(zip(terms_of(query), state.lexical.match(query).idf.tolist(), strict=True))


def part_of(tools: list[StoredTool], query: str, *, whole: int = WHOLE.live) -> ReplicaState:
    average = PartWords.average_lengths(WHOLE.lexical)
    words = WholeWords(tools=whole, average_lengths=average, idf=idf_of(WHOLE, query))
    return as_part(replica_of(tools, EMBEDDER), words, UNCALIBRATED, revision=99)


def test_words_weigh_in_a_part_what_they_weigh_in_the_whole() -> None:
    query = "cancel the order of a customer for a zeppelin"
    part = part_of(TOOLS[3:], query)
    assert part.lexical.scores(query) == pytest.approx(WHOLE.lexical.scores(query)[3:], rel=1e-5)
    assert part.lexical.coverage(query) == pytest.approx(WHOLE.lexical.coverage(query)[3:], rel=1e-5)
    assert part.lexical.rarest_idf == WHOLE.lexical.rarest_idf
    assert part.lexical.matched_terms(query, 2) == WHOLE.lexical.matched_terms(query, 5)


def test_a_word_of_which_nothing_is_known_weighs_nothing() -> None:
    part = part_of(TOOLS, "cancel")
    only = part.lexical.match("cancel order")
    assert only.idf[0] > 0
    assert only.idf[1] == 0
    assert part.lexical.scores("order").tolist() == [0.0] * len(TOOLS)


def test_the_best_rows_of_a_part_are_those_of_the_whole_with_their_scores() -> None:
    query = "keep the bills of an order"
    whole = search_rows(query, EMBEDDER, matrix=WHOLE.matrix, lexical=WHOLE.lexical, k=3)
    lowest = int(np.argmin(WHOLE.matrix.vectors @ EMBEDDER.embed_queries([query])[0]))
    chosen = sorted({*whole.rows.tolist(), lowest})
    part = part_of([TOOLS[row] for row in reversed(chosen)], query)
    found = search_rows(query, EMBEDDER, matrix=part.matrix, lexical=part.lexical, k=3)
    assert [chosen[row] for row in found.rows] == whole.rows.tolist()
    assert found.scores == pytest.approx(whole.scores, rel=1e-5)


def test_more_rows_than_the_whole_was_known_to_have_are_ranked_all_the_same() -> None:
    part = part_of(TOOLS, "cancel order", whole=2)
    assert np.all(np.isfinite(part.lexical.scores("cancel order")))
    assert part.live == len(TOOLS)
    assert part.revision == 99


def test_a_tool_without_its_vector_is_left_out() -> None:
    bare = StoredTool(definition=SHOP[0], content_hash="x", revision=1)
    assert replica_of([bare, *TOOLS[1:3]], EMBEDDER).live == 2
    assert replica_of([], EMBEDDER).live == 0
