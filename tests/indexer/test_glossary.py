"""Korean and Arabic requests find English tools by the names of what they ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.deeds import DEEDS, deeds_named
from indexer.document import ToolDocument
from indexer.glossary import with_english_names
from indexer.lexical import LexicalIndex


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("버킷 목록", "버킷 목록 bucket"),
        ("서버를 재부팅해줘", "서버를 재부팅해줘 server"),
        ("스프레드시트에 시트 추가", "스프레드시트에 시트 추가 spreadsheet sheet"),
        ("로드밸런서 상태", "로드밸런서 상태 load balancer status"),
        ("버킷 버킷", "버킷 버킷 bucket"),
        ("오늘 뭐 먹지", "오늘 뭐 먹지"),
        ("قائمة الدلاء", "قائمة الدلاء list bucket"),
        ("انسخ قواعد البيانات", "انسخ قواعد البيانات database"),
        ("جدول بيانات بالأسعار", "جدول بيانات بالأسعار spreadsheet price"),
        ("أضِف لمستخدمينا صلاحيّات", "أضِف لمستخدمينا صلاحيّات permission"),
        ("دورة عن دور المستخدم", "دورة عن دور المستخدم course role user"),
        ("مفتاح API جديد", "مفتاح API جديد api key"),
        ("إلى متى نؤجل أم هم", "إلى متى نؤجل أم هم"),
        ("٢٠ ٣٠", "٢٠ ٣٠"),
        ("ماذا نأكل اليوم؟", "ماذا نأكل اليوم؟"),
        ("list the buckets", "list the buckets"),
        ("", ""),
    ],
)
def test_the_english_names_of_things_stand_behind_a_query(query: str, read: str) -> None:
    assert with_english_names(query) == read


def test_a_korean_word_finds_the_english_tool_of_that_name() -> None:
    index = LexicalIndex()
    index.add([ToolDocument(name="CreateSnapshot"), ToolDocument(name="CreateVolume")])

    scores = index.scores(with_english_names("스냅샷 만들어줘"))

    assert scores[0] > scores[1] == 0


def test_an_arabic_word_finds_the_english_tool_of_that_name() -> None:
    index = LexicalIndex()
    index.add([ToolDocument(name="CreateBucket"), ToolDocument(name="CreateVolume")])

    scores = index.scores(with_english_names("سمّ الدلو"))

    assert scores[0] > scores[1] == 0


@given(st.text(st.characters(min_codepoint=0x5F0, max_codepoint=0x8FF) | st.sampled_from(" API.؟"), max_size=80))
def test_any_text_of_the_arabic_block_is_read_and_kept(query: str) -> None:
    assert with_english_names(query).startswith(query)
    assert 0 <= deeds_named(query) < 1 << len(DEEDS)
