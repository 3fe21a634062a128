"""A model behind any OpenAI-compatible endpoint, over httpx."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, cast

import anyio
import httpx

from gateway.chat.exchange import ChatResponse, ModelEvent, ReasoningDelta, RoundFinished, TextDelta
from gateway.chat.json_text import decode_json, encode_json
from gateway.chat.messages import text_of
from gateway.chat.prompt import Prompt
from gateway.errors import ModelError, ModelHTTPError, ModelUnavailableError
from gateway.models.endpoint import ModelEndpoint, sendable
from gateway.models.sse import DONE, event_data
from gateway.models.wire import prompt_to_wire, response_from_wire
from gateway.models.wire_stream import ChunkAssembler

logger = logging.getLogger(__name__)

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_DRAIN_SECONDS: Final = 0.5
_MAX_ERROR_BYTES: Final = 256 * 1024
_LIST_TIMEOUT_SECONDS: Final = 5.0
_TELLS_SECRETS: Final = (httpx.LocalProtocolError, httpx.InvalidURL)
"""They repeat the header that cannot be sent, or the part of the URL that cannot be read."""
_CHAT: Final = "/chat/completions"
_MODELS: Final = "/models"
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=100)
"""Any number of agents may wait for the model at a time; with httpx's own limit the 101st would wait for another's
answer, and be told that the model did not answer."""


class OpenAICompatibleChatModel:
    """Calls `{url}/chat/completions`; retries nothing, so that no answer is paid for twice."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        client: httpx.AsyncClient | None = None,
        timeout_seconds: float = 120.0,
        default_model: str = "",
    ) -> None:
        """`timeout_seconds` bounds the wait for each next byte; a client handed over stays its owner's to close."""
        self._endpoint = ModelEndpoint(url=url, key=key)
        self._timeout_seconds = timeout_seconds
        self._timeout = httpx.Timeout(timeout_seconds, connect=min(_CONNECT_TIMEOUT_SECONDS, timeout_seconds))
        self._default_model = default_model
        self._own_client = client is None
        self._client = client or httpx.AsyncClient(limits=_LIMITS)

    @cached_property
    def _chat_url(self) -> httpx.URL:
        """Read once, and not before a request can say what is wrong with it. Raises: httpx.InvalidURL."""
        return httpx.URL(self._endpoint.at(_CHAT))

    async def call(self, prompt: Prompt) -> ChatResponse:
        """The whole answer at once. Raises: ModelError."""
        async with self._answer(prompt, stream=False) as response:
            return response_from_wire(_json(await response.aread()))

    async def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
        """Deltas as they come, then the whole. Raises: ModelError, TruncatedStreamError."""
        async with self._answer(prompt, stream=True) as response:
            if response.headers.get("content-type", "").startswith("application/json"):
                # Servers that do not stream answer all at once.
                whole = response_from_wire(_json(await response.aread()))
                if whole.message.reasoning:
                    yield ReasoningDelta(text=whole.message.reasoning)
                if text := text_of(whole.message.content):
                    yield TextDelta(text=text)
                yield RoundFinished(response=whole)
                return
            assembler = ChunkAssembler()
            done = said = False
            async with aclosing(event_data(response.aiter_bytes())) as events:
                async for data in events:
                    said = True
                    if data == DONE:
                        done = True
                        break
                    for delta in assembler.feed(_chunk(data)):
                        yield delta
                if done:
                    # Read to its very end, a response gives its connection back instead of closing it.
                    with anyio.move_on_after(_DRAIN_SECONDS):
                        async for _ in events:
                            pass
            if not said and not response.headers.get("content-type", "").startswith("text/event-stream"):
                kind = response.headers.get("content-type", "no content type")[:100]
                raise ModelError(f"the model's endpoint answered {kind!r} and no stream of events")
            yield RoundFinished(response=assembler.finish(done=done))

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """What `{url}/models` lists, within 5 seconds. Raises: ModelError."""
        place = self._endpoint.named(_MODELS)
        headers = sendable({"accept": "application/json", **self._endpoint.headers})
        timeout = min(_LIST_TIMEOUT_SECONDS, self._timeout_seconds)
        try:
            with anyio.fail_after(timeout):
                response = await self._client.get(self._endpoint.at(_MODELS), headers=headers, timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise ModelUnavailableError(f"{place} did not answer within {timeout:g} s: {type(error).__name__}") from (
                None if isinstance(error, _TELLS_SECRETS) else error
            )
        if not response.is_success:
            raise self._refusal(response, response.content[:_MAX_ERROR_BYTES])
        body = _json(response.content)
        data = cast("Mapping[str, object]", body).get("data") if isinstance(body, Mapping) else None
        listed = cast("list[object]", data) if isinstance(data, list) else [None]
        if not all(isinstance(one, Mapping) for one in listed):
            raise ModelError(f"{place} gives no list of models: {response.text[:200]}")
        entries = cast("list[Mapping[str, Any]]", listed)
        return [one for one in entries if isinstance(one.get("id"), str)]

    async def aclose(self) -> None:
        if self._own_client:
            await self._client.aclose()

    @asynccontextmanager
    async def _answer(self, prompt: Prompt, *, stream: bool) -> AsyncGenerator[httpx.Response]:
        """The open answer of the endpoint, closed on leaving; transport errors are translated here."""
        options = prompt.options
        if not options.model and self._default_model:
            prompt = replace(prompt, options=replace(options, model=self._default_model))
        headers = {
            **options.headers,
            "content-type": "application/json",
            "accept": "text/event-stream" if stream else "application/json",
            **self._endpoint.headers,
        }
        place = self._endpoint.named(_CHAT)
        body = encode_json(prompt_to_wire(prompt, stream=stream))
        try:
            async with self._client.stream(
                "POST", self._chat_url, content=body, headers=sendable(headers), timeout=self._timeout
            ) as response:
                if not response.is_success:
                    raise self._refusal(response, await _error_body(response))
                yield response
        except httpx.TimeoutException as error:
            raise ModelUnavailableError(
                f"the model's endpoint {place} did not answer within {self._timeout_seconds:g} s"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            told = f"the model's endpoint {place} cannot be reached: {type(error).__name__}"
            if isinstance(error, _TELLS_SECRETS):
                raise ModelUnavailableError(told) from None
            raise ModelUnavailableError(f"{told}: {error}") from error

    def _refusal(self, response: httpx.Response, body: bytes) -> ModelError:
        """The error that an answer is which is no success."""
        if response.status_code < 400:
            logger.warning(
                "%s sends requests on to %r: set the model's URL to where it leads",
                self._endpoint.named(""),
                response.headers.get("location", ""),
            )
            return ModelError(
                f"the model's endpoint answered {response.status_code}, which is no answer; redirects are not followed"
            )
        return ModelHTTPError(response.status_code, self._endpoint.without_key(body), response.headers)


async def _error_body(response: httpx.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) >= _MAX_ERROR_BYTES:
            break
    return body[:_MAX_ERROR_BYTES]


def _chunk(data: str) -> dict[str, Any]:
    chunk = _json(data.encode())
    if not isinstance(chunk, dict):
        raise ModelError(f"the model's stream holds a chunk that is not an object: {data[:200]}")
    return cast("dict[str, Any]", chunk)


def _json(body: bytes) -> object:
    try:
        return decode_json(body)
    except ValueError as error:
        raise ModelError(f"the model's answer is not JSON: {body[:200].decode('utf-8', 'replace')}") from error
