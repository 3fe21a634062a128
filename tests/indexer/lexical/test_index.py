"""BM25F scores, exact after every change."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.document import ToolDocument
from indexer.errors import CorruptSnapshotError
from indexer.lexical import DEFAULT_BM25F, FIELDS, LexicalIndex, tokenize

_WORDS = ("refund", "order", "invoice", "weather", "city", "날씨", "天气", "s3", "createUser", "send_email", "the")
_TEXTS = st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join)
_DOCUMENTS = st.builds(
    ToolDocument, name=_TEXTS, namespace=_TEXTS, description=_TEXTS, parameter_names=_TEXTS, examples=_TEXTS
)


def _reference(documents: Sequence[ToolDocument], query: str) -> list[float]:
    """BM25F in plain Python, in double precision: Robertson and Zaragoza (2009), with Lucene's idf."""
    fields = [[tokenize(getattr(document, name)) for name in FIELDS] for document in documents]
    averages = [sum(len(tokens[f]) for tokens in fields) / max(len(documents), 1) for f in range(len(FIELDS))]
    terms = set(tokenize(query))
    scores: list[float] = []
    for tokens in fields:
        score = 0.0
        for term in terms:
            containing = sum(any(term in words for words in other) for other in fields)
            idf = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
            weighted = 0.0
            for f, words in enumerate(tokens):
                if frequency := Counter(words)[term]:
                    b = DEFAULT_BM25F.b[f]
                    weighted += DEFAULT_BM25F.weights[f] * frequency / (1 - b + b * len(words) / averages[f])
            score += idf * weighted * (DEFAULT_BM25F.k1 + 1) / (DEFAULT_BM25F.k1 + weighted)
        scores.append(score)
    return scores


def _index(*documents: ToolDocument) -> LexicalIndex:
    index = LexicalIndex()
    index.add(documents)
    return index


def test_the_score_of_a_worked_example() -> None:
    index = _index(
        ToolDocument(name="refund_order", description="Refund an order"), ToolDocument(description="Weather by city")
    )

    # "refund" in one of two documents: idf = ln(1 + 1.5 / 1.5) = ln 2. Average lengths: name (2 + 0) / 2 = 1,
    # description (2 + 2) / 2 = 2 ("an" and "by" are stop words). Weighted frequency: name 2.5 / (0 + 1 * 2 / 1),
    # description 1 / (0.1 + 0.9 * 2 / 2) = 1; together 2.25. Score: ln 2 * 2.25 * 4 / (3 + 2.25).
    expected = math.log(2) * 2.25 * 4 / 5.25
    np.testing.assert_allclose(index.scores("refund"), [expected, 0], rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(documents=st.lists(_DOCUMENTS, max_size=12), query=_TEXTS)
def test_scores_equal_a_plain_double_precision_reference(documents: list[ToolDocument], query: str) -> None:
    np.testing.assert_allclose(_index(*documents).scores(query), _reference(documents, query), rtol=2e-5, atol=1e-6)


def test_scores_of_many_rows_equal_the_reference_too() -> None:
    draw = random.Random(7)
    documents = [
        ToolDocument(name=draw.choice(_WORDS), description=" ".join(draw.choices(_WORDS, k=draw.randint(0, 9))))
        for _ in range(150)
    ]
    expected = _reference(documents, "refund an order")

    np.testing.assert_allclose(_index(*documents).scores("refund an order"), expected, rtol=2e-5, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.lists(_DOCUMENTS, max_size=5), st.integers(0, 4)), min_size=1, max_size=6),
    query=_TEXTS,
    data=st.data(),
)
def test_an_index_changed_in_steps_scores_as_one_built_afresh(
    steps: list[tuple[list[ToolDocument], int]], query: str, data: st.DataObject
) -> None:
    index, alive = LexicalIndex(), dict[int, ToolDocument]()
    for added, removed in steps:
        alive.update(zip(index.add(added), added, strict=True))
        gone = data.draw(st.permutations(sorted(alive)))[:removed]
        index.remove(np.array(gone, dtype=np.int64))
        index.scores(query)  # a reader between two changes must not freeze what came before
        for row in gone:
            del alive[row]
    kept = np.array(sorted(alive), dtype=np.int64)
    afresh = _index(*(alive[row] for row in sorted(alive)))
    restored = LexicalIndex.from_arrays(index.to_arrays())

    expected = np.zeros(index.n_rows, dtype=np.float32)
    expected[kept] = afresh.scores(query)
    np.testing.assert_allclose(index.scores(query), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(restored.scores(query), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(index.scores(query, kept), expected[kept], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(index.compacted(kept).scores(query), expected[kept], rtol=1e-5, atol=1e-6)


def test_a_snapshot_does_not_move_when_the_writer_goes_on() -> None:
    index = _index(ToolDocument(name="refund_order"), ToolDocument(name="get_weather"))
    snapshot = index.snapshot()
    before = snapshot.scores("refund the order")
    index.remove(np.array([0]))
    index.add([ToolDocument(name="refund"), ToolDocument(name="unheard of")])

    np.testing.assert_array_equal(snapshot.scores("refund the order"), before)
    assert snapshot.scores("unheard").tolist() == [0, 0]
    assert index.scores("refund the order")[0] == 0


def test_a_query_term_counts_once_however_often_it_is_written() -> None:
    index = _index(ToolDocument(name="refund_order"), ToolDocument(name="get_weather"))

    np.testing.assert_array_equal(index.scores("refund refund refunds"), index.scores("refund"))


def test_rows_are_numbered_in_order_of_adding_across_batches_and_merges() -> None:
    index = LexicalIndex()
    for number in range(200):
        assert index.add([ToolDocument(name=f"tool_{number} word{number}")]) == range(number, number + 1)
        assert int(index.scores(f"word{number}").argmax()) == number

    assert [int(index.scores(f"word{number}").argmax()) for number in range(200)] == list(range(200))
    assert len(index.snapshot()._segments) < 10  # pyright: ignore[reportPrivateUsage]  # merged as they grow


def test_matched_words_are_named_as_written_rarest_first() -> None:
    index = _index(
        ToolDocument(name="refund_order"), ToolDocument(name="get_order"), ToolDocument(name="order_weather")
    )

    assert index.matched_terms("Orders to be refunded, unicorns", 0) == ("refunded", "Orders")
    assert index.matched_terms("Orders to be refunded, unicorns", 1) == ("Orders",)


def test_coverage_is_the_share_of_idf_mass_and_counts_words_nobody_has() -> None:
    index = _index(ToolDocument(name="refund_order"), ToolDocument(name="weather"))
    unknown, known = math.log(1 + 2.5 / 0.5), math.log(2)

    np.testing.assert_allclose(index.coverage("refund order"), [1, 0])
    np.testing.assert_allclose(index.coverage("refund unicorn"), [known / (known + unknown), 0], rtol=1e-6)
    assert index.coverage("the of").tolist() == [0, 0]
    matches = index.snapshot().match("refund unicorn")
    assert [matches.coverage_of(row) for row in (0, 1)] == pytest.approx(matches.coverage(np.array([0, 1])).tolist())


def test_an_empty_index_scores_nothing() -> None:
    assert LexicalIndex().scores("refund").tolist() == []
    assert LexicalIndex.from_arrays(LexicalIndex().to_arrays()).scores("refund").tolist() == []


def test_a_restored_index_takes_more_tools() -> None:
    arrays = _index(ToolDocument(name="refund_order")).to_arrays()
    for array in arrays.values():
        array.flags.writeable = False  # as a memory map is
    index = LexicalIndex.from_arrays(arrays)

    assert index.add([ToolDocument(name="get_weather refund")]) == range(1, 2)
    assert index.scores("refund").min() > 0
    index.remove(np.array([0]))
    assert index.scores("refund")[0] == 0


@pytest.mark.parametrize("missing", ["terms", "vocabulary", "alive"])
def test_a_snapshot_without_one_of_its_arrays_is_corrupt(missing: str) -> None:
    arrays = _index(ToolDocument(name="refund_order")).to_arrays()
    del arrays[missing]

    with pytest.raises(CorruptSnapshotError):
        LexicalIndex.from_arrays(arrays)


def test_a_snapshot_whose_arrays_do_not_fit_together_is_corrupt() -> None:
    arrays = _index(ToolDocument(name="refund_order")).to_arrays()

    with pytest.raises(CorruptSnapshotError, match="do not fit together"):
        LexicalIndex.from_arrays(arrays | {"rows": arrays["rows"] + 5})
    with pytest.raises(CorruptSnapshotError, match="do not fit together"):
        LexicalIndex.from_arrays(arrays | {"vocabulary": np.empty(0, dtype=np.uint8)})


def test_an_index_is_full_where_one_tool_more_has_all_merged_and_not_before() -> None:
    index = LexicalIndex()
    # Each keeps apart from those before it; a hundred postings more have the last four merged, and then the others.
    for postings in (32_000, 18_000, 10_400, 3_500, 1_100, 450, 150):
        index.add([said(words) for words in (*[400] * (postings // 400), postings % 400) if words])
        index.snapshot()
        assert index.is_full == (postings == 150)

    index.add([said(100)])
    index.snapshot()

    assert not index.is_full


def said(words: int) -> ToolDocument:
    """A tool of so many postings."""
    return ToolDocument(description=" ".join(f"q{number}" for number in range(words)))
