"""Published documentation as plain, bounded text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.sources.prose import ELLIPSIS, plain_text, shorten


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>Starts <b>one</b> &amp; two.</p> <p>Then stops.</p>", "Starts one & two.\nThen stops."),
        ("<ul> <li> <p>first</p> </li> <li>second</li> </ul>", "- first\n- second"),
        ("plain   text\n\n\nwith  lines", "plain text\nwith lines"),
        ("a < b and b > c", "a < b and b > c"),
        ("<!-- hidden -->seen<script>x</script>", "seen"),
        ("in\u200bvisi\u202eble\U000e0041", "invisible"),
        ("", ""),
    ],
)
def test_markup_becomes_what_a_person_reads(markup: str, text: str) -> None:
    assert plain_text(markup, 200) == text


def test_a_cut_is_at_a_sentence_and_marked() -> None:
    assert shorten("One sentence. Another sentence. A third one.", 36) == "One sentence. Another sentence. ..."


def test_a_document_far_too_long_is_marked_as_cut_even_if_little_is_left_of_it() -> None:
    assert plain_text("<b></b>" * 1_000 + "x", 100).endswith(ELLIPSIS)


@given(st.text(), st.integers(10, 50))
def test_the_limit_is_never_passed_by_more_than_the_mark(text: str, limit: int) -> None:
    assert len(plain_text(text, limit)) <= limit + len(ELLIPSIS) + 1
