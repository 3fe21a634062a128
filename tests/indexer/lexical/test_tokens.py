"""From text to terms, in any script."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.lexical import tokenize
from indexer.lexical.tokens import analyse, read, surfaces


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
        ("والملفّات في المجلد", ["ملف", "مجلد"]),
        ("ﻣﻠﻒ", ["ملف"]),
        ("غرفة٣ بـS3 سنة ٢٠٢٦ نسخة ٢.٥", ["غرف", "3", "s3", "سن", "2026", "نسخ", "2.5"]),
        ("گزارش‌های فروش؟", ["گزارش", "ها", "فروش"]),
        ("ـــ ً", []),
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


@given(st.text(string.ascii_letters + string.digits + "._-'(", min_size=1, max_size=70))
def test_a_chunk_of_ascii_is_read_as_it_is_beside_a_letter_of_another_script(chunk: str) -> None:
    # A Han character is a run of its own, and turns the quick way of reading plain chunks off.
    assert read("天" + chunk) == (("天", "天"), *read(chunk))
    assert analyse(chunk) == read(chunk)
