"""Arabic words in one spelling, and their stems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer import arabic


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("أإآٱ", "اااا"),
        ("مُسْتَخْدِمٌ", "مستخدم"),
        ("عدّل", "عدل"),
        ("مكتبة مستشفى", "مكتبه مستشفي"),
        ("رســـالة", "رساله"),
        ("رسائل مسؤول", "رسايل مسوول"),
        ("٢٠٢٦ ۱۴", "2026 14"),
        ("کتاب فارسی", "كتاب فارسي"),
        ("ڤيديو", "فيديو"),
        ("Café 天气 날씨 город", "Café 天气 날씨 город"),
        ("", ""),
    ],
)
def test_spellings_of_one_word_become_one(written: str, folded: str) -> None:
    assert arabic.folded(written) == folded


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("مستخدم المستخدم والمستخدمين للمستخدمين بالمستخدمون مستخدمها", "مستخدم"),
        ("مكتبة المكتبات بالمكتبة مكتبتي", None),
        ("ملف الملف ملفات والملفات كالملفات", "ملف"),
        ("سياسة السياسات سياسية", "سياس"),
        ("بها", "بها"),
        ("وقت", "وقت"),
        ("ال", "ال"),
    ],
)
def test_words_of_one_stem_meet(words: str, stem: str | None) -> None:
    stems = {arabic.stem(arabic.folded(word)) for word in words.split()}

    assert stems == ({stem} if stem is not None else {"مكتب", "مكتبت"})


@pytest.mark.parametrize("word", ["گزارشها", "پیامان", "چھٹی", "ڈاکٹروں", "ژاله"])
def test_words_with_letters_of_persian_or_urdu_keep_their_endings(word: str) -> None:
    folded = arabic.folded(word)

    assert arabic.stem(folded) == folded


def test_stop_words_are_known_with_a_conjunction_too() -> None:
    assert arabic.is_stop_word("في") and arabic.is_stop_word("ومن") and arabic.is_stop_word("و")
    assert not arabic.is_stop_word("ملف")


@given(st.text())
def test_folding_again_changes_nothing(text: str) -> None:
    once = arabic.folded(text)

    assert arabic.folded(once) == once


@given(st.text(st.characters(min_codepoint=0x600, max_codepoint=0x6FF), max_size=12))
def test_a_stem_is_a_part_of_its_word_and_never_empty(word: str) -> None:
    folded = arabic.folded(word)
    stem = arabic.stem(folded)

    assert stem in folded
    assert bool(stem) == bool(folded)
