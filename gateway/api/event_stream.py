"""Server-sent events for long runs: kept alive while nothing is said, ended when the reader leaves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
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
_LONG_WAIT_SECONDS: Final = 0.0005
"""A reader that has waited longer gets its event before the source goes on; in the middle of a burst it gets several
at once, which costs less."""


class ClientGoneError(Exception):
    """The client closed the connection before its answer was ready."""


def data_event(value: object) -> bytes:
    """One event with a JSON value."""
    return b"data: " + encode_json(value) + b"\n\n"


class EventPump(Generic[T]):
    """Runs an async iterator in one task of its own, so that waiting for its next items may time out.

    Timeouts and cancel scopes inside the iterator belong to the task that entered them: items may not be asked for
    from changing tasks. There is one reader, which waits until there are items, the source ends or the client leaves.
    """

    def __init__(self, source: AsyncIterator[T], receive: "Receive") -> None:
        """`receive`: of the request, whose body has been read."""
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._items: list[T] = []
        self._reader: asyncio.Future[None] | None = None
        self._reader_since = 0.0
        self._room: asyncio.Future[None] | None = None
        self._task = self._loop.create_task(self._pump())
        self._leaving = self._loop.create_task(_until_disconnect(receive))
        for task in (self._task, self._leaving):
            task.add_done_callback(lambda _: self._wake())

    async def _pump(self) -> None:
        try:
            async for item in self._source:
                self._items.append(item)
                if self._wake() > _LONG_WAIT_SECONDS:
                    await asyncio.sleep(0)
                if len(self._items) >= _HELD_EVENTS:
                    self._room = self._loop.create_future()
                    await self._room
        finally:
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()

    def _wake(self) -> float:
        """Let the reader go on, if there is one; for how many seconds it has waited."""
        reader, self._reader = self._reader, None
        if reader is None or reader.done():
            return 0.0
        reader.set_result(None)
        return self._loop.time() - self._reader_since

    async def next(self, timeout_seconds: float) -> list[T]:
        """The items that have come since, in their order; none if there is none after that time.

        Raises: StopAsyncIteration after the last one, whatever the iterator raised, and ClientGoneError.
        """
        if not (self._items or self._task.done() or self._leaving.done()):
            await self._wait(timeout_seconds)
        if self._leaving.done():
            raise ClientGoneError
        items, self._items = self._items, []
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if items or not self._task.done():
            return items
        self._task.result()
        raise StopAsyncIteration

    async def _wait(self, seconds: float) -> None:
        self._reader = reader = self._loop.create_future()
        self._reader_since = self._loop.time()
        timer = self._loop.call_later(max(seconds, 0.0), self._wake)
        try:
            await reader
        finally:
            timer.cancel()

    async def aclose(self) -> None:
        """Stop the iterator, wherever it is."""
        for task in (self._task, self._leaving):
            task.cancel()
        await asyncio.wait({self._task, self._leaving})
        for task in (self._task, self._leaving):
            if not task.cancelled():
                task.exception()  # already told, or of no interest to a reader who left


class EventStreamResponse(Response):
    """An SSE answer of frames; its source is closed at the end, also when the client disconnects."""

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        close: Callable[[], Awaitable[None]],
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`frames` ends, or raises ClientGoneError, when the client leaves; `close` is called at the end."""
        # Without the second, a proxy such as nginx collects events until its buffer is full.
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._frames = frames
        self._close = close

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for frame in self._frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except ClientGoneError:
            pass  # nobody reads the rest
        finally:
            await self._close()


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
