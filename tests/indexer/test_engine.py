"""The one search that index, benchmark and calibration share."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest

from indexer.document import ToolDocument
from indexer.embedders.base import Vectors
from indexer.embedders.hashing import HashingEmbedder
from indexer.engine import PlannedQuery, RankedRows, calibrate, embed_tools, plan_query, rank_rows, search_rows
from indexer.lexical import LexicalIndex
from indexer.matrix import VectorMatrix
from indexer.top_k import Rows

_TOOLS = (
    ToolDocument(name="refund_order", namespace="shop", description="Give the money of an order back"),
    ToolDocument(name="get_weather", namespace="world", description="Weather forecast of a city"),
    ToolDocument(name="send_message", namespace="mail", description="Send a message to a customer"),
    ToolDocument(name="list_orders", namespace="shop", description="Orders of a customer"),
)


class _Catalog:
    def __init__(self, tools: Sequence[ToolDocument] = _TOOLS) -> None:
        self.embedder = HashingEmbedder()
        self.matrix = VectorMatrix(self.embedder.dimensions)
        self.lexical = LexicalIndex()
        self.matrix.append(embed_tools(self.embedder, tools))
        self.lexical.add(tools)

    def search(self, query: str, k: int = 4, rows: Rows | None = None) -> list[int]:
        found = search_rows(
            query, self.embedder, matrix=self.matrix.snapshot(), lexical=self.lexical.snapshot(), k=k, rows=rows
        )
        return found.rows.tolist()

    def rank(
        self,
        query: str,
        vectors: Vectors | None,
        rows: Rows | None = None,
        scripts: frozenset[str] | None = None,
        min_confidence: float = 0.0,
    ) -> RankedRows:
        return rank_rows(
            PlannedQuery(query),
            vectors,
            matrix=self.matrix.snapshot(),
            lexical=self.lexical.snapshot(),
            k=5,
            rows=rows,
            scripts=scripts,
            min_confidence=min_confidence,
        )


def test_the_tool_whose_words_and_meaning_fit_comes_first() -> None:
    assert _Catalog().search("what will the weather be in my city")[0] == 1


def test_each_need_of_a_task_finds_its_tool() -> None:
    assert set(_Catalog().search("Refund the order of yesterday. Send the customer a message about it.", k=2)) == {0, 2}


@pytest.mark.parametrize(
    "text", ["주문을 환불해 줘", "Lösche die Bestellung für morgen. Füge eine neue hinzu.", "سؤال"]
)
def test_a_request_of_letters_in_parts_is_read_as_one_of_whole_letters(text: str) -> None:
    parts = unicodedata.normalize("NFD", text)
    assert parts != text
    assert plan_query(parts, parts) == plan_query(text, text)


def test_arabic_letters_in_the_forms_of_print_are_read_as_letters_and_stops_stay() -> None:
    assert plan_query("\ufe8d\ufedf\ufec4\ufee0\ufe90").text == "الطلب"
    assert len(plan_query("注文を返金してください！顧客にメールを送ってください！").needs) == 2


def test_only_rows_of_the_view_are_found_and_hidden_ones_do_not_move_the_scores() -> None:
    catalog = _Catalog()
    view = np.array([0, 3])

    assert sorted(catalog.search("weather of a customer order", rows=view)) == [0, 3]
    alone = _Catalog([_TOOLS[0], _TOOLS[3]])
    vectors = catalog.embedder.embed_queries(["customer"])
    seen, expected = catalog.rank("customer", vectors, rows=view), alone.rank("customer", vectors)
    np.testing.assert_allclose(seen.cosine, expected.cosine, atol=1e-6)


def test_a_removed_tool_is_not_found() -> None:
    catalog = _Catalog()
    catalog.matrix.tombstone(np.array([1]))
    catalog.lexical.remove(np.array([1]))

    assert 1 not in catalog.search("weather forecast of a city")


def test_without_vectors_words_decide_and_nothing_is_found_where_none_match() -> None:
    catalog = _Catalog()

    assert catalog.rank("weather", None).rows.tolist() == [1]
    assert catalog.rank("xylophone", None).rows.tolist() == []


def test_an_empty_catalog_finds_nothing() -> None:
    assert _Catalog([]).search("weather") == []


def test_a_query_in_a_script_the_encoder_cannot_read_is_ranked_by_words() -> None:
    catalog = _Catalog((*_TOOLS, ToolDocument(name="날씨_조회", description="도시의 날씨를 조회합니다")))
    query = "날씨 조회"
    vectors = catalog.embedder.embed_queries([query])

    gated = catalog.rank(query, vectors, scripts=frozenset({"latin"}))
    assert gated.rows.tolist() == [4, 1]
    assert gated.cosine.tolist() == [0, 0]


def test_after_calibration_a_request_nothing_serves_is_weak_and_a_good_one_is_not() -> None:
    catalog = _Catalog()
    calibration = calibrate(catalog.embedder, matrix=catalog.matrix.snapshot(), lexical=catalog.lexical.snapshot())

    def best(query: str) -> RankedRows:
        return search_rows(
            query,
            catalog.embedder,
            matrix=catalog.matrix.snapshot(),
            lexical=catalog.lexical.snapshot(),
            k=1,
            calibration=calibration,
        )

    good, foreign = best("give the money of that order back"), best("peel the onions for grandmother")
    assert good.rows.tolist() == [0]
    assert not good.weak[0]
    assert good.confidence[0] > 0.5
    assert foreign.weak[0]
    assert foreign.confidence[0] < 0.5


def test_matches_below_the_wanted_confidence_are_left_out() -> None:
    catalog = _Catalog()
    query = "give the money of an order back"
    vectors = catalog.embedder.embed_queries([query])
    everything = catalog.rank(query, vectors)
    bound = float(everything.confidence[1])

    sure = catalog.rank(query, vectors, min_confidence=bound)

    assert sure.rows.tolist() == everything.rows[everything.confidence >= bound].tolist()
    assert len(sure.rows) < len(everything.rows)


def test_an_empty_catalog_can_be_calibrated() -> None:
    empty = _Catalog([])

    calibration = calibrate(empty.embedder, matrix=empty.matrix.snapshot(), lexical=empty.lexical.snapshot())
    assert calibration.threshold("refund") == 0
