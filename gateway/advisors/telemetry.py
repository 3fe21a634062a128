"""Spans around model calls, by OpenTelemetry's conventions for generative AI (v0.1.0)."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from gateway.advisors.chain import LOWEST_PRECEDENCE, CallAdvisorChain
from gateway.advisors.chat_model import close_stream
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, ChatResponse, RunEvent, RunFinished
from gateway.chat.json_text import whole_text

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_CACHED: Final = {"cached_tokens": "cache_read", "cache_write_tokens": "cache_creation"}


class ChatSpanAdvisor:
    """A `chat MODEL` span for each model call, just outside the model; what is said stays out of it."""

    name = "ChatSpanAdvisor"
    order = LOWEST_PRECEDENCE - 1

    def __init__(self, tracer: "Tracer | None" = None) -> None:
        """Without a tracer, that of the process; needs `opentelemetry-api`."""
        from opentelemetry.trace import get_tracer

        self._tracer = tracer or get_tracer("toolscout")

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        span = self._begin(request)
        try:
            response = await chain.next_call(request)
            _told(span, response.response)
            return response
        except BaseException as error:  # a cancelled call's span says so too
            _failed(span, error)
            raise
        finally:
            span.end()

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        # Not the current span: a generator may be resumed, and closed, in another context than it began in.
        span = self._begin(request)
        events = chain.next_stream(request)
        try:
            async for event in events:
                if isinstance(event, RunFinished):
                    _told(span, event.response.response)
                yield event
        except BaseException as error:  # a cancelled call's span says so too
            _failed(span, error)
            raise
        finally:
            await close_stream(events)
            span.end()

    def _begin(self, request: ChatClientRequest) -> "Span":
        from opentelemetry.trace import SpanKind

        model = whole_text(request.prompt.options.model)
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
        if model:
            attributes["gen_ai.request.model"] = model
        return self._tracer.start_span(f"chat {model}".rstrip(), kind=SpanKind.CLIENT, attributes=attributes)


def _told(span: "Span", response: ChatResponse) -> None:
    span.set_attribute("gen_ai.response.finish_reasons", [whole_text(response.finish_reason)])
    for name, value in (("id", response.id), ("model", response.model)):
        if value:
            span.set_attribute(f"gen_ai.response.{name}", whole_text(value))
    usage = response.usage
    if usage is None:
        return
    span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
    given = usage.details.get("prompt_tokens_details")
    details: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    for name, value in details.items():
        if name in _CACHED and isinstance(value, int):
            span.set_attribute(f"gen_ai.usage.{_CACHED[name]}.input_tokens", value)


def _failed(span: "Span", error: BaseException) -> None:
    span.set_attribute("error.type", type(error).__qualname__)
