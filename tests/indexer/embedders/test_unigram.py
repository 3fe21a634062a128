import math

import pytest

from indexer.embedders.unigram import UnigramTokenizer, reachable


def tokenizer(**probabilities: float) -> tuple[UnigramTokenizer, list[str]]:
    pieces = list(probabilities)
    return UnigramTokenizer(pieces, [math.log(value) for value in probabilities.values()]), pieces


def split(text: str, **probabilities: float) -> list[str]:
    made, pieces = tokenizer(**probabilities)
    return [pieces[number] for number in made.encode(text)]


def test_the_likeliest_split_wins() -> None:
    pieces = {"▁": 0.1, "▁re": 0.1, "start": 0.05, "▁rest": 0.01, "art": 0.01, "re": 0.1}
    assert split("restart", **pieces) == ["▁re", "start"]


def test_a_word_that_is_a_piece_stays_whole() -> None:
    assert split("bucket", **{"▁bucket": 1e-9, "▁buck": 0.4, "et": 0.4}) == ["▁bucket"]


@pytest.mark.parametrize("text", ["listBuckets", "list_buckets", "list-buckets", "List buckets!", "LIST.Buckets"])
def test_identifiers_and_sentences_are_parted_alike(text: str) -> None:
    assert split(text, **{"▁list": 0.1, "▁buckets": 0.1}) == ["▁list", "▁buckets"]


def test_full_width_and_composed_letters_are_normalised() -> None:
    assert split("ＡＢＣ", **{"▁abc": 0.1}) == ["▁abc"]


def test_unknown_characters_have_no_id_but_do_not_break_the_word() -> None:
    assert split("a\u0bb5b", **{"▁a": 0.1, "b": 0.1}) == ["▁a", "b"]


def test_a_text_without_known_pieces_has_no_ids() -> None:
    made, _ = tokenizer(**{"▁a": 0.5})
    assert made.encode("") == made.encode(" \n ...") == made.encode("\u0bb5") == []


def test_a_very_long_word_is_split_in_bounded_time() -> None:
    made, _ = tokenizer(**{"▁a": 0.1, "a": 0.5})
    assert len(made.encode("a" * 100_000)) == 100_000


def test_splitting_the_same_word_again_gives_the_same_ids() -> None:
    made, _ = tokenizer(**{"▁": 0.1, "서버": 0.1, "목록": 0.1})
    first = made.encode("서버목록")
    assert made.encode("서버목록") == first != []


@pytest.mark.parametrize("known", ["", "restarts", "noRestarts RESTARTS"])
def test_a_part_of_a_word_is_split_as_the_word_alone_whatever_was_read_before(known: str) -> None:
    made, pieces = tokenizer(**{"▁re": 0.1, "start": 0.05, "s": 0.01, "▁no": 0.1})
    made.encode(known)
    assert [pieces[number] for number in made.encode("restartsRestarts")] == 2 * ["▁re", "start", "s"]
    assert [pieces[number] for number in made.encode("restarts")] == ["▁re", "start", "s"]


def test_pieces_with_punctuation_can_never_be_reached() -> None:
    assert reachable("▁list")
    assert not reachable("▁")
    assert not reachable("▁(")
    assert not reachable("re-")
