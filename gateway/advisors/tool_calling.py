"""The tool loop: call the model, run the tools it asks for, call it again, until it answers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, TypeAlias

import anyio

from gateway.advisors.base import HistoryAdvisor
from gateway.advisors.chain import HIGHEST_PRECEDENCE, CallAdvisorChain
from gateway.advisors.chat_model import close_stream
from gateway.advisors.loop_run import EARLIER_TURNS, ToolLoopRun
from gateway.chat.exchange import (
    ChatClientRequest,
    ChatClientResponse,
    RoundFinished,
    RunEvent,
    RunFinished,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from gateway.chat.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    text_of,
)
from gateway.errors import TruncatedStreamError
from gateway.tools.callback import ToolCallback
from gateway.tools.manager import ToolCallingManager

ModelCall: TypeAlias = Callable[[CallAdvisorChain, ChatClientRequest], AsyncIterator[RunEvent]]
"""Runs the rest of the chain once; yields events, the last of them RunFinished."""

DEFAULT_MAX_ROUNDS: Final = 10
_FINALIZE_SECONDS: Final = 5.0


class ToolCallingAdvisor:
    """Runs the loop by calling the rest of the chain once a round; the hooks say what happens in between.

    The same loop and hooks serve `call` and `stream`. All state of a request is in its `ToolLoopRun`.
    """

    name: str = "ToolCallingAdvisor"

    def __init__(
        self,
        *,
        manager: ToolCallingManager | None = None,
        callbacks: Iterable[ToolCallback] = (),
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        internal_history: bool | None = None,
        order: int = HIGHEST_PRECEDENCE + 300,
    ) -> None:
        """`callbacks` are offered to every request; `max_rounds` bounds the rounds in which tools run.

        `internal_history`: whether the loop itself carries the rounds from call to call; None: unless a memory inside
        the loop does.
        """
        self._manager = manager or ToolCallingManager()
        self._callbacks = tuple(callbacks)
        self._max_rounds = max_rounds
        self._internal_history = internal_history
        self._order = order

    @property
    def order(self) -> int:
        return self._order

    # Hooks, each given the run; a subclass extends one and calls its parent.

    async def initialize_loop(self, request: ChatClientRequest) -> ToolLoopRun:
        """Once, before the first round: the run, with the tools that its first round shows."""
        run = ToolLoopRun.of(request)
        run.offer(run.options.callbacks)
        run.offer(self._callbacks)
        return run

    async def before_call(self, run: ToolLoopRun, request: ChatClientRequest) -> ChatClientRequest:
        """Before each model call: what it is given."""
        return request

    async def after_call(self, run: ToolLoopRun, response: ChatClientResponse) -> ChatClientResponse:
        """After each model call, before its tools run: what counts as its answer."""
        return response

    async def next_instructions(
        self, run: ToolLoopRun, message: AssistantMessage, results: ToolResponseMessage
    ) -> Sequence[Message]:
        """After the tools of a round: the messages of the next model call."""
        if run.keeps_history:
            return (*run.messages, message, results)
        return (*(one for one in run.messages if isinstance(one, SystemMessage)), results)

    async def finalize_loop(self, run: ToolLoopRun, response: ChatClientResponse | None) -> ChatClientResponse | None:
        """Once, at the end: the response, or None if the run failed or was cancelled."""
        return response

    def meets_tool_choice(self, calls: Sequence[ToolCall]) -> bool:
        """Whether running these calls does what a caller's forced `tool_choice` insisted on."""
        return True

    # The loop

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        async with aclosing(self._run(request, chain.copy(after=self), _call)) as events:
            async for event in events:
                if isinstance(event, RunFinished):
                    return event.response
        raise AssertionError("a run ends with RunFinished or with an error")

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        async with aclosing(self._run(request, chain.copy(after=self), _stream)) as events:
            async for event in events:
                yield event

    async def _run(
        self, request: ChatClientRequest, inner: CallAdvisorChain, call_model: ModelCall
    ) -> AsyncGenerator[RunEvent]:
        memories = [one for one in inner.advisors[inner.position :] if isinstance(one, HistoryAdvisor)]
        for memory in memories:
            request = request.with_context(**{EARLIER_TURNS: await memory.earlier_turns(request)})
        run = await self.initialize_loop(request)
        run.keeps_history = not memories if self._internal_history is None else self._internal_history
        response: ChatClientResponse | None = None
        try:
            async with aclosing(self._rounds(run, inner, call_model)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        response = run.outcome(event.response)
                    else:
                        yield event
        finally:
            # Runs on failure and cancellation too, so it is kept from being cancelled, but not for ever.
            with anyio.move_on_after(_FINALIZE_SECONDS, shield=True):
                response = await self.finalize_loop(run, response) or response
        if response is not None:
            yield RunFinished(response=response)

    async def _rounds(
        self, run: ToolLoopRun, inner: CallAdvisorChain, call_model: ModelCall
    ) -> AsyncGenerator[RunEvent]:
        """Events of all rounds, ending with the RunFinished of the answer."""
        wanted = run.options.max_rounds
        limit = self._max_rounds if wanted is None else min(wanted, self._max_rounds)
        while True:
            async with aclosing(self._ask(run, inner, call_model)) as events:
                async for event in events:
                    yield event
            response = run.response
            assert response is not None  # `_ask` has set it or failed
            ended = False
            async with aclosing(self._act(run, response, limit)) as events:
                async for event in events:
                    ended = isinstance(event, RunFinished)
                    yield event
            if ended:
                return

    async def _act(self, run: ToolLoopRun, response: ChatClientResponse, limit: int) -> AsyncGenerator[RunEvent]:
        """What follows from a model message: the end of the run, or tools that run and the next messages."""
        message = response.response.message
        if end := _end(run, response, limit):
            for event in end:
                yield event
            return
        if run.tool_rounds >= limit:
            run.stop_reason = "max_rounds"
            run.tool_choice = "none"
            results = _refused(message.tool_calls, limit)
            run.new_messages += [message, results]
        else:
            for call in message.tool_calls:
                yield ToolCallStarted(call=call)
            results = await self._manager.execute(message.tool_calls, run.callbacks.values(), run.options.context)
            run.tools_ran(message, results)
            for call, result in zip(message.tool_calls, results.responses, strict=True):
                yield ToolCallFinished(call=call, response=result)
            if run.returns_direct(results):
                run.stop_reason = "return_direct"
                for event in _direct(response, results):
                    yield event
                return
            if self.meets_tool_choice(message.tool_calls):
                run.choice_is_met()
        run.messages = list(await self.next_instructions(run, message, results))

    async def _ask(self, run: ToolLoopRun, inner: CallAdvisorChain, call_model: ModelCall) -> AsyncGenerator[RunEvent]:
        """One model call: its events but for the last, whose response the run takes note of."""
        events = call_model(inner, await self.before_call(run, run.next_request()))
        response: ChatClientResponse | None = None
        try:
            async for event in events:
                if isinstance(event, RunFinished):
                    response = event.response
                else:
                    yield event
        finally:
            await close_stream(events)
        if response is None:
            raise TruncatedStreamError("an inner advisor's stream ended without RunFinished; no tool of it was run")
        run.heard(response)
        run.response = await self.after_call(run, response)


async def _call(inner: CallAdvisorChain, request: ChatClientRequest) -> AsyncIterator[RunEvent]:
    response = await inner.next_call(request)
    yield RoundFinished(response=response.response)
    yield RunFinished(response=response)


def _stream(inner: CallAdvisorChain, request: ChatClientRequest) -> AsyncIterator[RunEvent]:
    return inner.next_stream(request)


def _end(run: ToolLoopRun, response: ChatClientResponse, limit: int) -> tuple[RunEvent, ...]:
    """The last events of a run that ends with this model message; empty if its tools are ours to run."""
    calls = response.response.message.tool_calls
    if not calls or run.stop_reason == "max_rounds":
        return tuple(_answered(response, limit))
    theirs = tuple(call for call in calls if run.belongs_to_caller(call))
    return (RunFinished(response=_returned(run, response, theirs)),) if theirs else ()


def _answered(response: ChatClientResponse, limit: int) -> Iterator[RunEvent]:
    """The end of a run with the model's own words; a model that still wants tools after its last round gets none."""
    message = response.response.message
    if message.tool_calls:
        content = message.content
        if not text_of(content).strip():
            content = f"I stopped after {limit} rounds of tool calls, the most that one request may take."
            yield TextDelta(text=content)
        response = _with_message(response, replace(message, content=content, tool_calls=()), "stop")
    yield RunFinished(response=response)


def _returned(run: ToolLoopRun, response: ChatClientResponse, theirs: tuple[ToolCall, ...]) -> ChatClientResponse:
    """The end of a run whose next step is the caller's: only its calls are left in the message.

    Calls of ours beside them were not run; the model asks for them again when it has the caller's results.
    """
    run.stop_reason = "client_tools"
    own = {spec.name for spec in run.client_tools}
    names = dict.fromkeys(call.name for call in theirs if call.name not in own)
    run.returned_tools = tuple(run.callbacks[name].spec for name in names)
    return _with_message(response, replace(response.response.message, tool_calls=theirs), "tool_calls")


def _direct(response: ChatClientResponse, results: ToolResponseMessage) -> Iterator[RunEvent]:
    """The end of a run whose answer is what its tools returned."""
    contents = [result.content for result in results.responses]
    content = contents[0] if len(contents) == 1 else "\n".join(text_of(one) for one in contents)
    yield TextDelta(text=text_of(content))
    yield RunFinished(response=_with_message(response, AssistantMessage(content=content), "stop"))


def _refused(calls: Sequence[ToolCall], limit: int) -> ToolResponseMessage:
    """Answers to calls beyond the last round, so that the model can close the conversation."""
    text = (
        f"Not run: {limit} rounds of tool calls are the most that one request may take, and they are used up. Call no "
        "more tools. Answer the user now with what you have, and say that you stopped at this limit."
    )
    return ToolResponseMessage(
        responses=tuple(ToolResponse(id=call.id, name=call.name, content=text, is_error=True) for call in calls)
    )


def _with_message(response: ChatClientResponse, message: AssistantMessage, finish_reason: str) -> ChatClientResponse:
    """The response with another message; the provider's own body no longer fits it."""
    answer = response.response
    return replace(response, response=replace(answer, message=message, finish_reason=finish_reason, raw={}))
