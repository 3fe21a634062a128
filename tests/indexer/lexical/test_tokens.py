"""From text to terms, in any script."""

import pytest

from indexer.lexical import tokenize
from indexer.lexical.tokens import surfaces


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Getting the cities' temperatures", ["get", "citi", "temperatur"]),
        ("getHTTPResponse_v2 list-s3-buckets", ["get", "http", "respons", "v2", "list", "s3", "bucket"]),
        ("address2 OAuth2Token", ["address2", "address", "oauth2", "oauth", "token"]),
        ("version 1.2.3", ["version", "1.2.3"]),
        ("I don't want it, please", []),
        ("Café ÜBER Straße ＡＰＩ", ["cafe", "uber", "strass", "api"]),
        ("날씨를 줘", ["날씨", "씨를", "줘"]),
        ("天气", ["天", "气", "天气"]),
        ("東京の天気", ["東", "京", "東京", "天", "気", "天気"]),
        ("ｶﾒﾗ", ["カメ", "メラ"]),
        ("อากาศ", ["อา", "าก", "กา", "าศ"]),
        ("городами", ["город"]),
        ("GitHub이슈", ["git", "hub", "이슈"]),
        ("", []),
        ("!!! --- ___", []),
    ],
)
def test_terms_of_each_script(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


def test_case_and_form_do_not_matter() -> None:
    assert tokenize("Émail") == tokenize("émail") == tokenize("e\u0301mail") == tokenize("EMAIL".lower())


def test_each_term_of_a_query_stands_once_with_the_word_it_was_written_as() -> None:
    assert surfaces("Refund refunds, refunding orders") == {"refund": "Refund", "order": "orders"}


def test_a_word_of_a_megabyte_is_read_in_part() -> None:
    assert len(tokenize("x" * 1_000_000)[0]) < 100
