"""From what a tool returns to what the model reads."""

import base64
import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from gateway.chat.messages import Content

_EMAIL: Final = re.compile(
    # Only tried where a run of such characters begins, so that a long one without an @ is read once.
    r"(?<![A-Za-z0-9._%+-])([._%+-]*+)([A-Za-z0-9])[A-Za-z0-9._%+-]*+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
)


class ToolCallResultConverter(Protocol):
    """Turns a tool's result into text or content parts for the model."""

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        """`returns_nothing` says that the tool is declared to return None."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a tool returns; models that can see are shown it."""

    data: bytes
    media_type: str = "image/png"


class JsonResultConverter:
    """Text as it is, anything else as compact JSON; "Done" where nothing was to be returned, "null" where None was."""

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        if result is None:
            return "Done" if returns_nothing else "null"
        if isinstance(result, str):
            return result
        if isinstance(result, Image):
            return (image_part(result),)
        # Knows dataclasses, pydantic models, dates and the like; imported late, for start-up does not need it.
        from pydantic_core import to_json

        try:
            return to_json(result, fallback=str).decode()
        except ValueError:  # half a character, bytes that are no text, a list that holds itself
            return _described(result)


def _described(result: object) -> str:
    """A result that JSON cannot hold, as Python writes it: the tool has run, and must not be said to have failed."""
    try:
        return repr(result)
    except Exception:  # noqa: BLE001  the object's own code, which may fail in any way
        return f"Done, with a result that cannot be shown: {type(result).__name__}"


class CsvResultConverter:
    """Rows as CSV with a header, which costs a model far fewer tokens than JSON; anything but rows as JSON."""

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        text = JsonResultConverter().convert(result, returns_nothing=returns_nothing)
        if isinstance(result, str) or not isinstance(text, str):
            return text
        rows = _rows(_parsed(text)) if result is not None else None
        if not rows:
            return text
        columns = list(dict.fromkeys(name for row in rows for name in row))
        written = io.StringIO()
        writer = csv.DictWriter(written, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _cell(value) for name, value in row.items()})
        return written.getvalue().rstrip("\n")


@dataclass(frozen=True, slots=True)
class EmailMaskingConverter:
    """Hides e-mail addresses but for their first letter and their domain, whatever another converter makes of them."""

    inner: ToolCallResultConverter

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        content = self.inner.convert(result, returns_nothing=returns_nothing)
        if isinstance(content, str):
            return masked(content)
        return tuple({**part, "text": masked(part["text"])} if "text" in part else part for part in content)


def masked(text: str) -> str:
    """The text with `kim.lee@example.org` as `k***@example.org`."""
    return _EMAIL.sub(r"\1\2***@\3", text)


def image_part(image: Image) -> Mapping[str, Any]:
    """A content part in OpenAI's shape, the picture within it."""
    encoded = base64.b64encode(image.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{encoded}"}}


def _parsed(text: str) -> object:
    """The value of a JSON text; None for one that is a description instead."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _rows(value: object) -> list[dict[str, object]] | None:
    if not isinstance(value, list):
        return None
    entries = cast("list[object]", value)
    return (
        [cast("dict[str, object]", entry) for entry in entries]
        if all(isinstance(entry, dict) for entry in entries)
        else None
    )


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
