"""OpenAI's chat completions with the tool loop inside: clients change their base URL and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway.api.answers import JsonAnswer
from gateway.api.dependencies import caller_of, json_body, services_of
from gateway.api.errors import ProblemError, log_unexpected, openai_error, problem_of
from gateway.api.event_stream import (
    DONE,
    KEEP_ALIVE,
    ClientGoneError,
    EventPump,
    EventStreamResponse,
    data_event,
    unless_disconnected,
)
from gateway.api.guard import Caller
from gateway.api.schemas import CHAT_EXAMPLE, json_request
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunEvent, RunFinished
from gateway.chat.json_text import decode_json
from gateway.chat.prompt import Prompt
from gateway.errors import InvalidRequestError, ModelHTTPError
from gateway.models.wire import prompt_from_wire, response_to_wire, tool_to_wire
from gateway.models.wire_checks import object_at
from gateway.models.wire_stream import ChunkWriter, shown_answer
from gateway.services import Services
from gateway.tools.context import ToolContext
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions

router = APIRouter(tags=["chat"])

ROUNDS_HEADER: Final = "x-toolscout-rounds"
STOP_HEADER: Final = "x-toolscout-stop"

_PASSED_HEADERS: Final = ("openai-organization", "openai-project", "traceparent", "tracestate", "baggage")
"""Of the client's headers, those meant for the model's endpoint. Its key, cookies and hop-by-hop headers are not."""


@router.post(
    "/v1/chat/completions",
    summary="Chat with the catalog's tools at hand",
    openapi_extra=json_request(
        {"type": "object", "description": "As OpenAI's API takes it; unknown fields are passed to the model."},
        {"a question": CHAT_EXAMPLE, "streamed": {**CHAT_EXAMPLE, "stream": True}},
    ),
)
async def chat_completions(request: Request) -> Response:
    """The model finds catalog tools by itself, and those that run here are run here.

    Calls of your own tools, and of catalog tools that nobody here runs, are returned; for the latter the definitions
    stand in `x_toolscout.tools`. Send the results back as usual, and the loop goes on.
    """
    body = object_at(await json_body(request), "", "the body")
    chat = _ChatRequest(body, request, services_of(request), caller_of(request))
    try:
        return await (chat.stream() if chat.streams else chat.call())
    except ClientGoneError:
        return Response(status_code=499)  # nobody reads it


class _ChatRequest:
    """One request on its way through the loop and back into OpenAI's shapes."""

    def __init__(self, body: Mapping[str, Any], request: Request, services: Services, caller: Caller) -> None:
        """Raises: InvalidRequestError."""
        self.streams = _flag(body, "stream")
        include_usage = _include_usage(body)
        count = body.get("n")
        if count is not None and count != 1:
            raise InvalidRequestError("n", "must be 1: with tools run by the gateway there is one conversation")
        prompt = prompt_from_wire(body)
        headers = {name: request.headers[name] for name in _PASSED_HEADERS if name in request.headers}
        prompt = replace(prompt, options=replace(prompt.options, headers=headers))
        self._request = request
        self._services = services
        self._chat = _chat_request(prompt, caller)
        self._id = f"chatcmpl-{request.scope['toolscout.request_id']}"
        self._created = int(time.time())
        self._model = prompt.options.model or services.settings.upstream_model
        self._writer = ChunkWriter(id=self._id, model=self._model, created=self._created, include_usage=include_usage)

    async def call(self) -> Response:
        """The whole answer at once."""
        run = await unless_disconnected(self._request, self._services.client.call(self._chat))
        model = self._model or run.response.model
        body = response_to_wire(shown_answer(run), created=self._created, id=self._id, model=model)
        body["x_toolscout"] = _outcome(run)
        return JsonAnswer(body, headers=_outcome_headers(run))

    async def stream(self) -> Response:
        """The answer as it comes about; fails with a status of its own as long as nothing has been said."""
        pump = EventPump(self._services.client.stream(self._chat), self._request.receive)
        try:
            beginning = await self._beginning(pump)
        except BaseException:  # whatever ends it, and be it a cancellation: the pump's tasks must end too
            await pump.aclose()
            raise
        return EventStreamResponse(self._frames(pump, beginning), pump.aclose)

    async def _beginning(self, pump: EventPump[RunEvent]) -> bytes:
        """The first frames, waited for until there is something to say, or for as long as a client may wait."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._services.settings.keep_alive_seconds
        frames = b""
        while not frames:
            frames = self._frames_of(await pump.next(until - clock()))
        return frames

    async def _frames(self, pump: EventPump[RunEvent], frames: bytes) -> AsyncIterator[bytes]:
        try:
            while True:
                if frames:
                    yield frames
                if frames.endswith(DONE):
                    return
                frames = self._frames_of(await pump.next(self._services.settings.keep_alive_seconds))
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001  the answer has begun: only a frame can still say that it failed
            yield data_event(self._error_frame(error))

    def _frames_of(self, events: Sequence[RunEvent]) -> bytes:
        """Events as frames: none for what a client does not see, the end and its mark for the last one."""
        return b"".join(frame for event in events for frame in self._frames_of_one(event)) if events else KEEP_ALIVE

    def _frames_of_one(self, event: RunEvent) -> Iterator[bytes]:
        if not isinstance(event, RunFinished):
            yield from map(data_event, self._writer.chunks(event))
            return
        for chunk in self._writer.chunks(event):
            yield data_event(_with_outcome(chunk, event.response))
        yield DONE

    def _error_frame(self, error: Exception) -> object:
        if isinstance(error, ModelHTTPError):
            return _upstream_error(error)
        problem = problem_of(error)
        log_unexpected(error, problem, self._request.scope["path"])
        return openai_error(problem)


def _chat_request(prompt: Prompt, caller: Caller) -> ChatClientRequest:
    options = ToolCallingChatOptions(context=ToolContext(tenant=caller.tenant, principal=caller.principal))
    return ChatClientRequest(prompt=prompt, context={TOOL_OPTIONS: options})


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidRequestError(name, "must be true or false")
    return bool(value)


def _include_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, Mapping):
        raise InvalidRequestError("stream_options", "must be an object")
    return _flag(cast("Mapping[str, Any]", options), "include_usage")


def _outcome(run: ChatClientResponse) -> dict[str, Any]:
    """What the loop did, beside the answer."""
    outcome: dict[str, Any] = {
        "rounds": run.context.get("rounds", 1),
        "stop_reason": run.context.get("stop_reason", "answer"),
    }
    tools = run.context.get("returned_tools")
    if tools:
        outcome["tools"] = [tool_to_wire(tool) for tool in tools]
    return outcome


def _outcome_headers(run: ChatClientResponse) -> dict[str, str]:
    outcome = _outcome(run)
    return {ROUNDS_HEADER: str(outcome["rounds"]), STOP_HEADER: str(outcome["stop_reason"])}


def _with_outcome(chunk: dict[str, Any], run: ChatClientResponse) -> dict[str, Any]:
    """The chunk that ends the answer also says what the loop did: a stream's headers left before that was known."""
    ends = any(choice.get("finish_reason") for choice in chunk["choices"])
    return {**chunk, "x_toolscout": _outcome(run)} if ends else chunk


def _upstream_error(error: ModelHTTPError) -> object:
    """An upstream's own error object where it sent one, for an answer that has already begun."""
    try:
        body: object = decode_json(error.body)
    except ValueError:
        body = None
    if isinstance(body, dict) and "error" in body:
        return cast("object", body)
    return openai_error(ProblemError(error.status, "upstream", f"the model's endpoint answered {error.status}"))


DIRECT: Final = {("POST", "/v1/chat/completions"): chat_completions}
"""For the guard to call by itself."""
