"""One run of the tool loop: all that it remembers, so that the advisor that runs it need not."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, StopReason, Usage
from gateway.chat.messages import AssistantMessage, Message, ToolCall, ToolResponseMessage
from gateway.chat.prompt import ToolSpec
from gateway.tools.callback import ToolCallback
from gateway.tools.context import ToolContext
from gateway.tools.loop_safety import TOOL_EXECUTION, ToolExecutionMetrics
from gateway.tools.options import ToolCallingChatOptions, tool_options

USAGE: Final = "usage"
ROUNDS: Final = "rounds"
NEW_MESSAGES: Final = "new_messages"
STOP_REASON: Final = "stop_reason"
RETURNED_TOOLS: Final = "returned_tools"
ROUND: Final = "round"
"""Where the number of a run's model call, counted from 1, stands in the context of that call."""
DISCOVERED: Final = "discovered"
EARLIER_TURNS: Final = "earlier_turns"
"""Where what a memory keeps of the conversation stands in a request's context."""


@dataclass(kw_only=True)
class ToolLoopRun:
    """What one request has done so far; made by `initialize_loop`, seen by every hook, gone with the request."""

    request: ChatClientRequest
    options: ToolCallingChatOptions
    messages: list[Message]
    """The conversation that the next model call is given."""
    callbacks: dict[str, ToolCallback] = field(default_factory=dict[str, ToolCallback])
    """Tools beside the caller's own, by the name that the model sees, in the order it sees them."""
    response: ChatClientResponse | None = None
    """Of the latest model call."""
    model_calls: int = 0
    tool_rounds: int = 0
    """Rounds in which tools ran."""
    usage: Usage | None = None
    """Summed over the model calls; None while no call has reported any."""
    new_messages: list[Message] = field(default_factory=list[Message])
    """What this run has added to the conversation: model messages and tool results."""
    tool_choice: Any = None
    keeps_history: bool = True
    """False: a memory inside the loop remembers the rounds, so a model call is given only what is new."""
    guard: ToolExecutionMetrics = field(default_factory=ToolExecutionMetrics)
    """Counts the tool calls of the whole run, and stops it from repeating itself."""
    started: float = field(default_factory=time.monotonic)
    limit: str | None = None
    """Why no more tools may run, once that is so."""
    stop_reason: StopReason = "answer"
    returned_tools: tuple[ToolSpec, ...] = ()
    """Definitions of the tools whose calls are handed to the caller and which it did not bring itself."""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """Whatever hooks want to remember, and what goes into the response's context at the end."""

    @classmethod
    def of(cls, request: ChatClientRequest) -> "ToolLoopRun":
        """A fresh run of a request."""
        return cls(
            request=request,
            options=tool_options(request.context),
            messages=list(request.prompt.messages),
            tool_choice=request.prompt.options.tool_choice,
        )

    @property
    def client_tools(self) -> tuple[ToolSpec, ...]:
        """The tools in the request: the caller's own, whose calls are always its to run."""
        return self.request.prompt.tools

    def offer(self, callbacks: Iterable[ToolCallback]) -> None:
        """Show tools to the model after those it sees already; a name that is taken keeps its first owner."""
        taken = {spec.name for spec in self.client_tools}
        for callback in callbacks:
            name = callback.spec.name
            if name not in taken and name not in self.callbacks:
                self.callbacks[name] = callback

    def next_request(self) -> ChatClientRequest:
        """What the next model call is given: the caller's tools first and untouched, then ours."""
        prompt = self.request.prompt
        return replace(
            self.request,
            context={**self.request.context, ROUND: self.model_calls + 1},
            prompt=replace(
                prompt,
                messages=tuple(self.messages),
                tools=(*prompt.tools, *(callback.spec for callback in self.callbacks.values())),
                options=replace(prompt.options, tool_choice=self.tool_choice),
            ),
        )

    def heard(self, response: ChatClientResponse) -> None:
        """Take note of a model call."""
        self.model_calls += 1
        self.response = response
        usage = response.response.usage
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage

    def belongs_to_caller(self, call: ToolCall) -> bool:
        """Whether a call is the caller's to run: its own tool, or a catalog tool that nobody here runs."""
        if any(spec.name == call.name for spec in self.client_tools):
            return True
        callback = self.callbacks.get(call.name)
        return callback is not None and not callback.metadata.runs_here

    @property
    def tool_context(self) -> ToolContext:
        """What tools are given: the request's context, and the run's own count of its calls."""
        context = self.options.context
        return replace(context, values={**context.values, TOOL_EXECUTION: self.guard})

    def tools_ran(self, message: AssistantMessage, results: ToolResponseMessage) -> None:
        """Take note of a round in which tools ran."""
        self.tool_rounds += 1
        self.new_messages += [message, results]

    @property
    def calls_wanted(self) -> int:
        """How many calls the latest model message asks for."""
        return 0 if self.response is None else len(self.response.response.message.tool_calls)

    @property
    def insisted_tool(self) -> str | None:
        """The name of the very tool that the caller wants to be called, if it does."""
        return _function_name(self.tool_choice)

    @property
    def chosen_tools(self) -> tuple[str, ...]:
        """The names that the caller's choice speaks of: the one it insists on, or those it allows."""
        tools = _inside(_inside(self.tool_choice, "allowed_tools"), "tools")
        allowed = cast("list[object]", tools) if isinstance(tools, list) else []
        names = [_function_name(one) for one in (self.tool_choice, *allowed)]
        return tuple(name for name in names if name is not None)

    def insists_on(self, name: str) -> bool:
        """Whether the caller wants this very tool to be called."""
        return self.insisted_tool == name

    def choice_is_met(self) -> None:
        """A tool that the caller insisted on has run: from now on the model may answer."""
        choice = self.tool_choice
        allowed = _inside(choice, "allowed_tools")
        if isinstance(allowed, Mapping):
            still = {**cast("Mapping[str, Any]", allowed), "mode": "auto"}
            self.tool_choice = {**cast("Mapping[str, Any]", choice), "allowed_tools": still}
        elif choice not in (None, "auto", "none"):
            self.tool_choice = "auto"

    def returns_direct(self, results: ToolResponseMessage) -> bool:
        """Whether the results of a round are the answer: only if every tool of it says so, and none failed."""
        callbacks = [self.callbacks.get(result.name) for result in results.responses]
        return all(
            callback is not None and callback.metadata.return_direct and not result.is_error
            for callback, result in zip(callbacks, results.responses, strict=True)
        )

    def outcome(self, response: ChatClientResponse) -> ChatClientResponse:
        """The run's response: the last answer with the usage of all rounds, and what the run did in its context."""
        return ChatClientResponse(
            response=replace(response.response, usage=self.usage),
            context={
                **response.context,
                **self.values,
                USAGE: self.usage,
                ROUNDS: self.model_calls,
                NEW_MESSAGES: (*self.new_messages, response.response.message),
                STOP_REASON: self.stop_reason,
                TOOL_EXECUTION: self.guard.report(),
                RETURNED_TOOLS: self.returned_tools,
            },
        )


def _inside(value: object, name: str) -> object:
    """A field of an object that a client sent; None where it is none, or lacks the field."""
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None


def _function_name(choice: object) -> str | None:
    """The name in `{"type": "function", "function": {"name": ...}}`."""
    name = _inside(_inside(choice, "function"), "name")
    return name if isinstance(name, str) else None
