"""Server-sent events for long runs: kept alive while nothing is said, ended when the reader leaves."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from starlette.responses import Response

from gateway.chat.json_text import encode_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

T = TypeVar("T")

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment: every client of the protocol skips it."""
DONE: Final = b"data: [DONE]\n\n"

_HELD_EVENTS: Final = 64


class ClientGoneError(Exception):
    """The client closed the connection before its answer was ready."""


def data_event(value: object) -> bytes:
    """One event with a JSON value."""
    return b"data: " + encode_json(value) + b"\n\n"


class EventPump(Generic[T]):
    """Runs an async iterator in one task of its own, so that waiting for its next item may time out.

    Timeouts and cancel scopes inside the iterator belong to the task that entered them: items may not be asked for
    from changing tasks.
    """

    def __init__(self, source: AsyncIterator[T]) -> None:
        self._source = source
        self._items: asyncio.Queue[T | None] = asyncio.Queue(_HELD_EVENTS)
        self._task = asyncio.create_task(self._pump())

    async def _pump(self) -> None:
        try:
            async for item in self._source:
                await self._items.put(item)
        finally:
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()

    async def next(self, timeout_seconds: float) -> "T | None":
        """The next item, or None if there is none yet.

        Raises: StopAsyncIteration after the last one, and whatever the iterator raised.
        """
        take = asyncio.ensure_future(self._items.get())
        try:
            await asyncio.wait({take, self._task}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            if take.done():
                return take.result()
        finally:
            take.cancel()
        if not self._items.empty():
            return self._items.get_nowait()
        if not self._task.done():
            return None
        self._task.result()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop the iterator, wherever it is."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # already told, or of no interest to a reader who left


class EventStreamResponse(Response):
    """An SSE answer whose frames are cancelled, and whose source is closed, when the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncIterator[bytes], *, headers: Mapping[str, str] | None = None) -> None:
        # Without the second, a proxy such as nginx collects events until its buffer is full.
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._frames = frames

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_until_disconnect(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (writing, leaving):
                task.cancel()
            await asyncio.wait({writing, leaving})
        if not writing.cancelled():
            writing.result()

    async def _write(self, send: "Send") -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for frame in self._frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            close = getattr(self._frames, "aclose", None)
            if close is not None:
                await close()


async def unless_disconnected(request: "Request", work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, which is cancelled when the client leaves. Raises: ClientGoneError."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_until_disconnect(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, leaving):
            if not task.done():
                task.cancel()
        await asyncio.wait({working, leaving})
    if working.cancelled():
        raise ClientGoneError
    return working.result()


async def _until_disconnect(receive: "Receive") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
