"""Server-sent events: bytes in, the data of each event out."""

import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

from gateway.errors import ModelError

MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""Of one event: pictures come whole in one, and nothing else is near that size."""

DONE: Final = "[DONE]"
"""The data of a chat-completions stream's last event."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


async def event_data(chunks: AsyncIterator[bytes], *, max_bytes: int = MAX_EVENT_BYTES) -> AsyncGenerator[str]:
    """The data of each complete event; comments and other fields are skipped, a cut last event is dropped.

    Only CR and LF end a line: JSON may hold U+2028 and the like as they are.
    Raises: ModelError for an event longer than `max_bytes`.
    """
    data: list[bytes] = []
    size = 0
    begun = False
    async for line in _lines(chunks, max_bytes):
        if not begun:  # a byte order mark, as some servers write it, belongs to no line
            line, begun = line.removeprefix(BOM_UTF8), True
        if not line:
            if data:
                yield b"\n".join(data).decode("utf-8", "replace")
                data.clear()
                size = 0
        elif line.startswith(b"data:"):
            size += len(line)
            if size > max_bytes:
                raise _too_long(max_bytes)
            data.append(line[5:].removeprefix(b" "))


async def _lines(chunks: AsyncIterator[bytes], max_bytes: int) -> AsyncGenerator[bytes]:
    """Complete lines; each byte is looked at once, however many chunks a line comes in."""
    parts: list[bytes] = []
    size = 0
    after_return = False
    async for chunk in chunks:
        if after_return and chunk:
            # The second half of a CRLF that two chunks share ends no further line.
            chunk = chunk.removeprefix(b"\n")
            after_return = False
        if not chunk:
            continue
        after_return = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        for line in ended:
            parts.append(line)
            yield b"".join(parts)
            parts.clear()
            size = 0
        if rest:
            parts.append(rest)
            size += len(rest)
            if size > max_bytes:
                raise _too_long(max_bytes)


def _too_long(max_bytes: int) -> ModelError:
    return ModelError(f"the model's stream holds an event of more than {max_bytes // 1024**2} MiB")
