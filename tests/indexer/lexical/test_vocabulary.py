"""Chunks of text to numbers of terms, remembered or not."""

from hypothesis import given
from hypothesis import strategies as st

from indexer.lexical import tokenize
from indexer.lexical.vocabulary import Vocabulary

CHUNKS = st.lists(
    st.sampled_from(("refund", "Refunds,", "the", "getOrder", "order_2", "天气", "s3", "-", "(1.2,", "refund.")),
    max_size=9,
)


@given(st.lists(CHUNKS, max_size=6), st.sampled_from((0, 10, 10_000)))
def test_every_chunk_has_the_terms_that_its_text_has_however_little_is_remembered(
    batches: list[list[str]], known_characters: int
) -> None:
    vocabulary = Vocabulary(known_characters=known_characters)
    for chunks in batches:
        terms = list(vocabulary.terms_of(chunks))
        words = list(vocabulary.numbers)
        assert [words[number] for number in terms] == tokenize(" ".join(chunks))


def test_terms_keep_their_numbers_in_a_copy_and_part_ways_from_there() -> None:
    first = Vocabulary()
    assert list(first.terms_of(["refund", "order"])) == [0, 1]
    second = first.copy()
    assert second.numbers == {"refund": 0, "order": 1}
    assert list(first.terms_of(["weather", "order"])) == [2, 1]
    assert list(second.terms_of(["city", "refund"])) == [2, 0]
    assert "city" not in first.numbers
