"""Shows the tool calls, and the thinking, of a run while it goes on."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.advisors.base import BaseAdvisor
from gateway.advisors.chain import HIGHEST_PRECEDENCE
from gateway.chat.exchange import RUN_ID, ChatClientRequest, ChatClientResponse, StopReason
from gateway.chat.messages import Message, ToolCall, ToolResponse, ToolResponseMessage, text_of
from indexer.errors import cut

_EXCERPT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrace:
    """A model's call, and later what came of it."""

    run_id: str
    call: ToolCall | None = None
    """What the model asked for."""
    result: ToolResponse | None = None
    """What it was given back, by the call's id."""

    def __str__(self) -> str:
        if self.call is not None:
            return f"-> {self.call.name}({_cut(self.call.arguments)})"
        if self.result is None:
            return ""
        return f"<- {self.result.name}{' failed' if self.result.is_error else ''}: {_cut(text_of(self.result.content))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What a model thought in one round, where its provider tells."""

    run_id: str
    text: str

    def __str__(self) -> str:
        return f".. {_cut(self.text)}"


def to_console(entry: ToolTrace | Thought) -> None:
    """Write a line to standard error, where it does not mix with a program's output."""
    sys.stderr.write(f"{entry}\n")


class ToolCallTraceAdvisor(BaseAdvisor):
    """Hands every tool call and result to a callback, by default to the console."""

    name = "ToolCallTraceAdvisor"

    def __init__(
        self, callback: Callable[[ToolTrace], None] = to_console, *, order: int = HIGHEST_PRECEDENCE + 350
    ) -> None:
        self._callback = callback
        self.order = order

    async def before(self, request: ChatClientRequest) -> ChatClientRequest:
        last = request.prompt.messages[-1] if request.prompt.messages else None
        if isinstance(last, ToolResponseMessage):
            self._show(request, last)
        return request

    async def after(self, request: ChatClientRequest, response: ChatClientResponse) -> ChatClientResponse:
        for call in response.response.message.tool_calls:
            self._callback(ToolTrace(run_id=_run_id(request), call=call))
        return response

    async def run_ended(
        self, request: ChatClientRequest, messages: Sequence[Message], stop_reason: StopReason | None
    ) -> None:
        """Results that are the answer go to no model call, where `before` would see them."""
        results = messages[-2] if stop_reason == "return_direct" else None
        if isinstance(results, ToolResponseMessage):
            self._show(request, results)

    def _show(self, request: ChatClientRequest, results: ToolResponseMessage) -> None:
        for result in results.responses:
            self._callback(ToolTrace(run_id=_run_id(request), result=result))


class ThinkTraceAdvisor(BaseAdvisor):
    """Hands a model's reasoning to a callback, by default to the console; providers that hide it give nothing."""

    name = "ThinkTraceAdvisor"

    def __init__(
        self, callback: Callable[[Thought], None] = to_console, *, order: int = HIGHEST_PRECEDENCE + 360
    ) -> None:
        self._callback = callback
        self.order = order

    async def after(self, request: ChatClientRequest, response: ChatClientResponse) -> ChatClientResponse:
        reasoning = response.response.message.reasoning
        if reasoning:
            self._callback(Thought(run_id=_run_id(request), text=reasoning))
        return response


def _run_id(request: ChatClientRequest) -> str:
    return str(request.context.get(RUN_ID, ""))


def _cut(text: str) -> str:
    return cut(" ".join(text.split()), _EXCERPT)
