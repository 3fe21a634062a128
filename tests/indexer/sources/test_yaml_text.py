"""YAML from strangers: JSON values only, bounded."""

import time

import pytest

from indexer.sources.json_text import InvalidJsonError
from indexer.sources.yaml_text import parse_yaml


def test_scalars_are_those_of_json() -> None:
    text = b"a: 1\nb: [1.5, true, null, ~, yes, off, 2024-01-01, '5', 0x10]\n200: ok\n"
    assert parse_yaml(text) == {
        "a": 1,
        "b": [1.5, True, None, None, "yes", "off", "2024-01-01", "5", 16],
        "200": "ok",
    }


def test_aliases_and_merges_are_written_out() -> None:
    assert parse_yaml(b"base: &b {x: 1, y: 1}\nc: {<<: *b, y: 2}\nd: *b\n") == {
        "base": {"x": 1, "y": 1},
        "c": {"x": 1, "y": 2},
        "d": {"x": 1, "y": 1},
    }


def laughs(first: bytes, line: str) -> bytes:
    """A document whose every line names the one before nine times."""
    lines = [line % (97 + i, 97 + i, ", ".join([f"*{chr(96 + i)}"] * 9)) for i in range(1, 13)]
    return first + "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (laughs(b"a: &a [x]\n", "%c: &%c [%s]"), "aliases stand for more than 2,000,000 values"),
        (laughs(b"a: &a {x: 1}\n", "%c: &%c {<<: [%s]}"), "aliases stand for more than 2,000,000 values"),
        (b"a: &a [*a]\n", "nested in itself"),
        (b"[" * 100_000, "nesting depth"),
        (b"- " * 100_000, "nesting depth"),
        (b"\n".join(b" " * i + b"a:" for i in range(300)), "deeper than 100 levels"),
        (b"a: !!python/name:os.system x\n", "python/name:os.system' is not taken"),
        (b"a: !!binary aGk=\n", "is not taken (line 1)"),
        (b"? [a]\n: b\n", "a key is no text"),
        (b"a: 1\n---\nb: 2\n", "another document"),
        (b"a: [1\nb: 2\n", "line 2, column 2"),
        (b"a: \x00", "not YAML"),
    ],
)
def test_what_is_no_data_is_refused_at_once(text: bytes, said: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidJsonError, match=said.replace("(", r"\(").replace(")", r"\)")):
        parse_yaml(text)
    assert time.process_time() - started < 1.0
