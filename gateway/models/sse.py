"""Server-sent events: bytes in, the data of each event out."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    """The data of each complete event; comments and other fields are skipped, a cut last event is dropped.

    Only CR and LF end a line: JSON may hold U+2028 and the like as they are.
    """
    buffer = b""
    data: list[bytes] = []
    async for chunk in chunks:
        buffer += chunk
        lines = _LINE_END.split(buffer)
        buffer = lines.pop()
        if not buffer and chunk.endswith(b"\r"):
            # Half of a CRLF, maybe: a line is only over when the next byte shows what this one was.
            buffer = (lines.pop() if lines else b"") + b"\r"
        for line in lines:
            if not line:
                if data:
                    yield b"\n".join(data).decode("utf-8", "replace")
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))


def encode_event(data: bytes) -> bytes:
    """One event that carries one line of data."""
    return b"data: " + data + b"\n\n"


def encode_comment(text: str) -> bytes:
    """A comment, which readers skip: keeps a connection alive."""
    return f": {text}\n\n".encode()


DONE: Final = "[DONE]"
"""The data of a chat-completions stream's last event."""
