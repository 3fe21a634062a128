"""The written training pairs keep their rules, and the rules find what breaks them."""

import os
from collections import Counter
from pathlib import Path

import pytest

from indexer.training import pair_rules, written_pairs
from indexer.training.catalog_lookup import Catalog, ToolText
from indexer.training.catalog_texts import held_out_operations
from indexer.training.written_pairs import Pair


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return written_pairs.load_pairs()


@pytest.fixture(scope="module")
def unanswerable() -> list[tuple[str, str]]:
    return written_pairs.load_unanswerable()


def test_every_pair_is_of_a_known_language_and_style_and_names_a_tool(pairs: list[Pair]) -> None:
    assert {pair.lang for pair in pairs} <= set(written_pairs.LANGUAGES)
    assert {pair.style for pair in pairs} <= set(written_pairs.STYLES)
    assert all(pair.tools and pair.query.strip() for pair in pairs)


def test_english_and_korean_have_every_style(pairs: list[Pair]) -> None:
    number = pair_rules.counts(pairs)
    assert all(number[lang, style] > 0 for lang in ("en", "ko") for style in written_pairs.STYLES)


def test_no_request_is_written_twice(pairs: list[Pair], unanswerable: list[tuple[str, str]]) -> None:
    assert pair_rules.duplicates([pair.query for pair in pairs] + [query for query, _ in unanswerable]) == []


def test_openings_are_varied_in_each_language_and_style(pairs: list[Pair]) -> None:
    low = {
        group: share
        for group, share in pair_rules.distinct_openings(pairs).items()
        if share < pair_rules.MIN_DISTINCT_OPENINGS
    }
    assert low == {}


def test_named_tools_exist_and_are_not_quoted_in_installed_catalogs(pairs: list[Pair]) -> None:
    catalog = Catalog()
    if not {"aws", "google"} <= catalog.kinds:
        pytest.skip("needs the [demo] extra: botocore and google-api-python-client")
    unknown = {
        tool_id for pair in pairs for tool_id in pair.tools if catalog.covers(tool_id) and catalog.find(tool_id) is None
    }
    assert unknown == set()
    assert pair_rules.echoes(pairs, catalog) == []


def test_no_pair_names_an_operation_that_our_own_sets_are_made_of(pairs: list[Pair]) -> None:
    held_out = held_out_operations()
    assert [pair.query for pair in pairs if held_out.intersection(pair.tools)] == []


def test_no_query_is_like_one_of_a_test_set(pairs: list[Pair], unanswerable: list[tuple[str, str]]) -> None:
    data = os.environ.get("TOOLSCOUT_DATA")
    if not data:
        pytest.skip("needs TOOLSCOUT_DATA, the folder of the test sets")
    queries = [pair.query for pair in pairs] + [query for query, _ in unanswerable]
    assert pair_rules.leaks(queries, pair_rules.read_test_queries(Path(data))) == []


def test_a_paraphrase_that_keeps_long_runs_of_characters_is_a_leak() -> None:
    test_queries = {"set/1": "Please book a table for four at the harbour restaurant on Friday evening"}
    copied = "please book a table for four at the harbour restaurant, thanks"
    own = "We want to eat by the water on Friday, there are four of us"
    assert pair_rules.leaks([copied, own], test_queries) == [(copied, "set/1")]


def test_an_equal_short_query_is_a_leak_though_it_has_no_grams() -> None:
    assert pair_rules.leaks(["Hi there!"], {"set/1": "hi, there"}) == [("Hi there!", "set/1")]


def test_words_of_the_tools_name_and_summary_are_counted_once_each() -> None:
    tool = ToolText("Purge Queue", "Deletes available messages in a queue.")
    assert pair_rules.shared_words("purge the queue", tool) == pytest.approx(2 / 3)
    assert pair_rules.shared_words("throw away whatever waits there", tool) == 0.0


def test_a_template_shows_in_its_openings() -> None:
    stencil = [Pair(query=f"how do I make {noun}", tools=("t",), lang="en", style="plain") for noun in ("a", "b", "c")]
    assert pair_rules.distinct_openings(stencil) == {("en", "plain"): pytest.approx(1 / 3)}


def test_japanese_openings_are_compared_by_characters() -> None:
    assert pair_rules.opening("会議の議事録をフォルダに入れて", "ja") == "会議の議事録をフ"


def test_counts_are_per_language_and_style() -> None:
    pair = Pair(query="q", tools=("t",), lang="ko", style="goal")
    assert pair_rules.counts([pair, pair]) == Counter({("ko", "goal"): 2})
