"""A scripted model behind OpenAI's HTTP interface: an upstream for tests and dry runs that behaves like a real one."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.chat.exchange import ChatClientResponse, ModelEvent, RoundFinished, RunEvent, RunFinished
from gateway.chat.json_text import encode_json
from gateway.errors import InvalidRequestError, ModelHTTPError, TruncatedStreamError
from gateway.models.base import ChatModel
from gateway.models.wire import prompt_from_wire, response_to_wire
from gateway.models.wire_stream import ChunkWriter

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

_MODEL_NAME = "scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """What a client sent."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(slots=True)
class ScriptedServer:
    """An ASGI application: `POST …/chat/completions` asks the model, call or stream.

    A reply that is a ModelHTTPError is answered with its status, body and headers; a stream that is cut ends without
    its terminal event.
    """

    model: ChatModel
    received: list[ReceivedRequest] = field(default_factory=list[ReceivedRequest])
    """Every request, oldest first."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.requests import Request

        if scope["type"] != "http":
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: "Request") -> "Response":
        from starlette.responses import JSONResponse, Response, StreamingResponse

        if not request.url.path.endswith("/chat/completions"):
            return JSONResponse({"error": {"message": "no such route", "type": "invalid_request_error"}}, 404)
        body: dict[str, Any] = json.loads(await request.body())
        self.received.append(ReceivedRequest(body=body, headers=dict(request.headers)))
        try:
            if body.get("stream"):
                events = self.model.stream(prompt_from_wire(body))
                first = await anext(events)
                return StreamingResponse(self._frames(body, first, events), media_type="text/event-stream")
            response = await self.model.call(prompt_from_wire(body))
        except ModelHTTPError as error:
            return Response(error.body, error.status, headers=dict(error.headers))
        except InvalidRequestError as error:
            fault = {"message": str(error), "type": "invalid_request_error", "param": error.param, "code": None}
            return JSONResponse({"error": fault}, 400)
        return JSONResponse(response_to_wire(response, created=0, id="chatcmpl-scripted", model=_MODEL_NAME))

    async def _frames(
        self, body: Mapping[str, Any], first: ModelEvent, rest: AsyncIterator[ModelEvent]
    ) -> AsyncIterator[bytes]:
        options: Mapping[str, Any] = body.get("stream_options") or {}
        writer = ChunkWriter(
            id="chatcmpl-scripted", model=_MODEL_NAME, created=0, include_usage=bool(options.get("include_usage"))
        )
        try:
            for event in _whole(first):
                for chunk in writer.chunks(event):
                    yield _frame(chunk)
            async for later in rest:
                for event in _whole(later):
                    for chunk in writer.chunks(event):
                        yield _frame(chunk)
        except TruncatedStreamError:
            return
        yield b"data: [DONE]\n\n"


def _whole(event: ModelEvent) -> list[RunEvent]:
    """A model's stream ends with its round; a written stream ends with a run."""
    if isinstance(event, RoundFinished):
        return [event, RunFinished(response=ChatClientResponse(response=event.response))]
    return [event]


def _frame(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + encode_json(chunk) + b"\n\n"
