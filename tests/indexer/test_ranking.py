"""Fusing, splitting, names and places: the pure parts of the ranking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ranking import (
    LEAST_SPREAD,
    MAX_NEEDS,
    Floats,
    canonical_name,
    fuse,
    name_candidates,
    needs_weight,
    parse_select,
    share_places,
    split_needs,
    stretch_between,
    unread_share,
    words_share,
    worth_showing,
)


def _floats(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def _fused(lexical: Floats, dense: Floats | None, share: float = 0.5) -> Floats:
    """Of rows that are all there are, with a scale from their lowest cosine to their highest."""
    meaning = dense
    if dense is not None and len(dense):
        meaning = stretch_between(dense.min(), dense.max(), LEAST_SPREAD).of(dense)
    return fuse(lexical, lexical.max(initial=np.float32(0)), meaning, share)


def test_fusion_weighs_words_over_their_maximum_and_stretched_cosines() -> None:
    fused = _fused(_floats(4, 2, 0), _floats(0.1, 0.5, 0.3), 0.75)

    np.testing.assert_allclose(fused, [0.75, 0.75 * 0.5 + 0.25, 0.25 * 0.5], rtol=1e-6)
    assert fused.dtype == np.float32


def test_meaning_stands_alone_where_no_word_matches_and_words_where_there_is_no_vector() -> None:
    np.testing.assert_allclose(_fused(_floats(0, 0), _floats(-0.2, 0.4)), [0, 1])
    np.testing.assert_allclose(_fused(_floats(1, 4), None), [0.25, 1])
    assert _fused(_floats(0, 0), None).tolist() == [0, 0]
    assert _fused(_floats(), _floats()).tolist() == []


def test_equal_values_stretch_to_nothing() -> None:
    assert stretch_between(np.float32(0.5), np.float32(0.5)).of(_floats(0.5, 0.5)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("query", "needs"),
    [
        (
            "Refund the last order. Then send the customer a message!",
            ("Refund the last order.", "Then send the customer a message!"),
        ),
        (
            "내일 서울 날씨를 알려줘. 그리고 우산이 필요하면 알림을 맞춰줘.",
            ("내일 서울 날씨를 알려줘.", "그리고 우산이 필요하면 알림을 맞춰줘."),
        ),
        ("查询北京的天气。然后发送邮件给我", ("查询北京的天气。", "然后发送邮件给我")),
        (
            "東京の天気を調べてください。会議を予約してください！",
            ("東京の天気を調べてください。", "会議を予約してください！"),
        ),
        (
            "ما حالة الطقس في جدة؟ احجز لي سيارة أجرة إلى المطار",
            ("ما حالة الطقس في جدة؟", "احجز لي سيارة أجرة إلى المطار"),
        ),
        ("أنشئ مجلداً للعقود؛ شاركه مع سلمى", ("أنشئ مجلداً للعقود", "شاركه مع سلمى")),
        ("احجز موعداً مع د. هند غداً", ()),
        ("عدّلْ حالاً. ما حالة الطقس في جدة؟", ()),
        ("find open issues\nclose the stale ones", ("find open issues", "close the stale ones")),
        ("find open issues  \n \t\n  close the stale ones \n", ("find open issues", "close the stale ones")),
        ("Ask what xapprox. means to us both. Pay" + 80 * " " + "bills", ("Ask what xapprox.", "means to us both.")),
        ("Ask Dr. Smith for e.g. a scan. Pay the U.S. bill now.", None),
        ("What is the weather in Paris?", ()),
        ("Thanks! What is the weather in Paris? OK.", ()),
        ("Fetch api.example.com/v1.2 and read version 3.4 of it", ()),
        ("", ()),
    ],
)
def test_a_task_of_several_sentences_is_split_into_its_needs(query: str, needs: tuple[str, ...] | None) -> None:
    if needs is None:
        needs = ("Ask Dr. Smith for e.g. a scan.", "Pay the U.S. bill now.")
    assert split_needs(query) == needs


def test_a_long_task_has_at_most_ten_needs_which_weigh_half_at_most() -> None:
    assert len(split_needs("Do one more thing. " * 30)) == MAX_NEEDS
    assert [needs_weight(count) for count in (2, 3, 10)] == [0.3, pytest.approx(0.45), 0.5]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select:get_weather", ("get_weather",)),
        ("  SELECT: a , b,, a ", ("a", "b")),
        ("select:", ()),
        ("select a city", ()),
        ("please select:a", ()),
    ],
)
def test_selecting_by_name(query: str, names: tuple[str, ...]) -> None:
    assert parse_select(query) == names


def test_ways_to_write_a_name_are_one_name() -> None:
    written = ("getWeather", "get_weather", "get-weather", "Get Weather", "GET_WEATHER", "get.weather")
    assert {canonical_name(name) for name in written} == {"getweather"}
    assert canonical_name("날씨_조회") == canonical_name("날씨 조회")


def test_the_whole_query_and_identifiers_inside_it_may_be_names() -> None:
    assert name_candidates("semgrep scan") == ("semgrep scan",)
    assert name_candidates(" `get_weather` ") == ("get_weather",)
    assert name_candidates("run semgrep_scan with createUser on main.cpp, OK?")[1:] == (
        "semgrep_scan", "createUser", "main.cpp",
    )  # fmt: skip
    assert name_candidates("  ") == ()


def test_places_are_shared_in_turn_without_doubles() -> None:
    assert share_places([["a", "b", "c"], ["b", "d"]], 4) == [("a", 0), ("b", 1), ("d", 1), ("c", 0)]


def test_what_was_found_before_comes_last() -> None:
    assert share_places([["a", "b"], ["c"]], 3, {"a"}) == [("b", 0), ("c", 1), ("a", 0)]
    assert share_places([["a", "b"], ["c"]], 2, {"a"}) == [("b", 0), ("c", 1)]


@given(
    ranked=st.lists(st.lists(st.integers(0, 12), unique=True, max_size=8), max_size=5),
    k=st.integers(0, 12),
    known=st.frozensets(st.integers(0, 12)),
)
def test_shared_places_hold_each_item_once_and_fill_up_to_k(
    ranked: list[list[int]], k: int, known: frozenset[int]
) -> None:
    places = share_places(ranked, k, known)
    items = [item for item, _ in places]

    assert len(items) == len(set(items)) == min(k, len({item for ranking in ranked for item in ranking}))
    assert all(item in ranked[query] for item, query in places)
    assert sorted(items, key=known.__contains__) == items


def test_results_far_below_the_best_are_not_worth_showing() -> None:
    assert worth_showing(_floats(1.0, 0.8, 0.6, 0.5, 0.1), 0.55) == 3
    assert worth_showing(_floats(0.01), 0.55) == 1
    assert worth_showing(_floats(), 0.55) == 0


def test_the_share_of_a_query_in_scripts_an_encoder_does_not_read() -> None:
    latin = frozenset({"latin"})
    assert unread_share("send mail", latin) == 0
    assert unread_share("메일", latin) == 1
    assert unread_share("ab 메일", latin) == 0.5
    assert unread_share("메일 天气", frozenset({"hangul", "cjk"})) == 0
    assert unread_share("123 !", latin) == 0


def test_a_small_difference_of_meaning_does_not_outweigh_a_word_where_tools_are_few() -> None:
    scores = _fused(_floats(3.0, 0.0), _floats(0.10, 0.12), share=0.45)
    assert scores[0] > scores[1]


def test_words_have_the_share_that_their_best_match_has_evidence_for() -> None:
    rare = 7.0
    assert words_share(3.0 * rare, 1.0, rare) == pytest.approx(0.5)
    assert words_share(3.0 * rare, 0.5, rare) == pytest.approx(0.8 * 0.5)
    assert words_share(3.0 * rare, 0.05, rare) == pytest.approx(0.5 * 0.62 * 0.5)
    assert words_share(0.0, 0.0, rare) == 0.0


def test_the_share_of_words_does_not_hang_on_the_size_of_the_catalog() -> None:
    assert words_share(9.0, 0.6, 6.0) == pytest.approx(words_share(1.5, 0.6, 1.0))
