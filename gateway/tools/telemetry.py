"""Spans around tool calls, by OpenTelemetry's conventions for generative AI (v0.1.0)."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from gateway.chat.json_text import whole_text
from gateway.chat.messages import ToolCall, ToolResponse
from gateway.tools.search_tool import SEARCH_TOOL_NAME

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Told: TypeAlias = Callable[[ToolResponse], None]
"""To be told what a call gave."""

AroundToolCall: TypeAlias = Callable[[ToolCall], AbstractContextManager[Told]]
"""Entered when a call begins to run, left when it has ended."""


class ToolSpans:
    """A span for each tool call, `execute_tool NAME`, and `retrieval` for a search of the catalog.

    Arguments and results stay out: they may hold anything.
    """

    def __init__(self, tracer: "Tracer | None" = None) -> None:
        """Without a tracer, that of the process; needs `opentelemetry-api`."""
        from opentelemetry.trace import get_tracer

        self._tracer = tracer or get_tracer("toolscout")

    def __call__(self, call: ToolCall) -> AbstractContextManager[Told]:
        return self._span(call)

    @contextmanager
    def _span(self, call: ToolCall) -> Generator[Told]:
        operation = "retrieval" if call.name == SEARCH_TOOL_NAME else "execute_tool"
        name = whole_text(call.name)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": operation,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": whole_text(call.id),
            "gen_ai.tool.type": "function",
        }
        with self._tracer.start_as_current_span(f"{operation} {name}", attributes=attributes) as span:

            def told(response: ToolResponse) -> None:
                if response.is_error:
                    span.set_attribute("error.type", "tool_error")

            yield told
