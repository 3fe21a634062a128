"""What the model reads of a result."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.tools.context import ToolContext
from gateway.tools.converter import (
    CsvResultConverter,
    EmailMaskingConverter,
    Image,
    JsonResultConverter,
    ToolCallResultConverter,
    masked,
)
from gateway.tools.function import tool


@dataclass
class Row:
    id: int
    name: str


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ([Row(1, "김")], '[{"id":1,"name":"김"}]'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00Z"'),
        (True, "true"),
        (object, "\"<class 'object'>\""),
    ],
)
def test_results_are_text_or_json(result: Any, text: str) -> None:
    assert JsonResultConverter().convert(result, returns_nothing=False) == text


def test_nothing_is_done_and_none_is_null() -> None:
    assert JsonResultConverter().convert(None, returns_nothing=True) == "Done"
    assert JsonResultConverter().convert(None, returns_nothing=False) == "null"


def test_an_image_becomes_a_content_part() -> None:
    (part,) = JsonResultConverter().convert(Image(b"\x89PNG"), returns_nothing=False)
    assert part == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def test_rows_become_csv_with_every_column() -> None:
    rows = [{"id": 1, "tags": ["a"]}, {"id": 2, "note": 'say "hi", or\nnot'}]
    assert CsvResultConverter().convert(rows, returns_nothing=False) == (
        'id,tags,note\n1,"[""a""]",\n2,,"say ""hi"", or\nnot"'
    )
    assert CsvResultConverter().convert([Row(1, "x")], returns_nothing=False) == "id,name\n1,x"


@pytest.mark.parametrize(("result", "text"), [([], "[]"), ([1], "[1]"), ({"a": 1}, '{"a":1}'), ("[]", "[]")])
def test_what_has_no_rows_stays_json(result: Any, text: str) -> None:
    assert CsvResultConverter().convert(result, returns_nothing=False) == text


async def test_mail_addresses_are_masked_whatever_makes_the_text() -> None:
    @tool(converter=EmailMaskingConverter(CsvResultConverter()))
    def users() -> list[dict[str, str]]:
        return [{"name": "Kim", "mail": "kim.lee+x@mail.example.org"}, {"name": "n", "mail": "not@home"}]

    assert await users.call({}, ToolContext()) == "name,mail\nKim,k***@mail.example.org\nn,not@home"
    picture = EmailMaskingConverter(JsonResultConverter()).convert(Image(b"x"), returns_nothing=False)
    assert picture == JsonResultConverter().convert(Image(b"x"), returns_nothing=False)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (".kim@example.org", ".k***@example.org"),
        ("<kim+a@x.example.org>,lee@example.org", "<k***@x.example.org>,l***@example.org"),
        ("a@b@example.org", "a@b***@example.org"),
        ("@example.org kim@localhost", "@example.org kim@localhost"),
    ],
)
def test_addresses_are_hidden_wherever_they_begin(text: str, hidden: str) -> None:
    assert masked(text) == hidden


def test_a_long_text_without_an_address_is_read_once() -> None:
    started = time.process_time()
    assert masked("a" * 300_000) == "a" * 300_000
    assert time.process_time() - started < 2  # trying each place of it took ten minutes


class Unshowable:
    def __repr__(self) -> str:
        raise LookupError("no")


def itself() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize("converter", [JsonResultConverter(), CsvResultConverter()])
@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"a": "\ud83d"}, "{'a': '\\ud83d'}"),
        ([{"a": b"\xff"}], "[{'a': b'\\xff'}]"),
        (itself(), "[[...]]"),
        (Unshowable(), "Done, with a result that cannot be shown: Unshowable"),
    ],
)
def test_a_result_that_json_cannot_hold_is_no_failure_of_its_tool(
    converter: ToolCallResultConverter, result: object, text: str
) -> None:
    """The tool has had its effect by then: told that it failed, a model would have it done again."""
    assert converter.convert(result, returns_nothing=False) == text
