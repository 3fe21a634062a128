"""JSON in and out: exact, and bounded."""

import pytest

from gateway.chat.json_text import MAX_JSON_DEPTH, decode_json, encode_json


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_text_as_deep_as_is_allowed_is_read() -> None:
    assert encode_json(decode_json(nested(MAX_JSON_DEPTH))).decode() == nested(MAX_JSON_DEPTH)


@pytest.mark.parametrize("levels", [MAX_JSON_DEPTH + 1, 900, 1000, 5000, 200_000])
def test_deeper_text_is_a_value_error_however_deep(levels: int) -> None:
    with pytest.raises(ValueError, match="nested deeper"):
        decode_json(nested(levels))


def test_many_brackets_side_by_side_are_no_depth() -> None:
    assert decode_json("[" + ",".join(["[]"] * 10_000) + "]") == [[]] * 10_000


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e400", "[-1e999]"])
def test_strictly_only_numbers_that_json_has_are_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON number|too large"):
        decode_json(text, strict=True)


def test_otherwise_a_model_may_answer_with_them() -> None:
    assert decode_json("[Infinity]") == [float("inf")]


def test_of_very_many_keys_the_one_that_stands_twice_is_named_in_linear_time() -> None:
    """Looked for by counting each name by itself, it took an hour."""
    keys = ",".join(f'"k{place}":1' for place in range(300_000))
    with pytest.raises(ValueError, match="the key 'k299999' stands twice"):
        decode_json("{" + keys + ',"k299999":2}', unique_keys=True)
