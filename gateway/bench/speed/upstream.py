"""A model endpoint that streams the same answer to everyone at once: what a gateway adds to it can then be seen.

Run as a program it prints its port and serves until its input ends.
"""

import asyncio
import json
import sys
from typing import Any, Final

_DELTAS: Final = 16
_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def stream_bytes() -> bytes:
    """The whole answer: a role, some words, the end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"word{number} "} for number in range(_DELTAS)]
    events = [_event(delta, None) for delta in deltas] + [_event({}, "stop"), b"data: [DONE]\n\n"]
    return _HEAD + b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


def _event(delta: dict[str, Any], finish: str | None) -> bytes:
    chunk = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "bench",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request of a connection."""
    whole = stream_bytes()
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(_length(head))
            writer.write(whole)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the other side has gone
    finally:
        writer.close()


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


async def _serve() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
