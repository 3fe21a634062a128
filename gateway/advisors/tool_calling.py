"""The tool loop: call the model, run the tools it asks for, call it again, until it answers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, TypeAlias, cast
from uuid import uuid4

import anyio

from gateway.advisors.base import EndListener, HistoryAdvisor
from gateway.advisors.chain import HIGHEST_PRECEDENCE, CallAdvisorChain
from gateway.advisors.chat_model import close_stream
from gateway.advisors.loop_ends import auto_ended, direct, end_of, refused
from gateway.advisors.loop_limits import DEFAULT_MAX_ROUNDS, LoopLimits
from gateway.advisors.loop_run import EARLIER_TURNS, ToolLoopRun
from gateway.chat.exchange import (
    RUN_ID,
    ChatClientRequest,
    ChatClientResponse,
    RoundFinished,
    RunEvent,
    RunFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from gateway.chat.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponseMessage,
)
from gateway.errors import AFTER_TOOLS, AgentLoopDetectedError, ConfigurationError, TruncatedStreamError
from gateway.settings import LoopSafetySettings
from gateway.tools.callback import ToolCallback
from gateway.tools.loop_safety import ToolExecutionMetrics
from gateway.tools.manager import ToolCallingManager
from gateway.tools.resolver import ToolCallbackResolver

ModelCall: TypeAlias = Callable[[CallAdvisorChain, ChatClientRequest], AsyncIterator[RunEvent]]
"""Runs the rest of the chain once; yields events, the last of them RunFinished."""

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
        resolver: ToolCallbackResolver | None = None,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        limits: LoopLimits | None = None,
        internal_history: bool | None = None,
        safety: LoopSafetySettings | None = None,
        order: int = HIGHEST_PRECEDENCE + 300,
    ) -> None:
        """`callbacks` are offered to every request; `resolver` finds those that a request asks for by name.

        `limits` say more than `max_rounds`, and take its place. `internal_history`: whether the loop itself carries
        the rounds from call to call; None: unless a memory inside the loop does.
        """
        self._manager = manager or ToolCallingManager()
        self._callbacks = tuple(callbacks)
        self._resolver = resolver
        self._limits = limits or LoopLimits(max_rounds=max_rounds)
        self._internal_history = internal_history
        self._safety = safety
        self._order = order

    @property
    def order(self) -> int:
        return self._order

    # Hooks, each given the run; a subclass extends one and calls its parent.

    async def initialize_loop(self, request: ChatClientRequest) -> ToolLoopRun:
        """Once, before the first round: the run, with the tools that its first round shows."""
        run = ToolLoopRun.of(request)
        await self.offer_tools(run)
        return run

    async def offer_tools(self, run: ToolLoopRun) -> None:
        """Show the tools that the request and this advisor bring. Raises: ConfigurationError for an unknown name."""
        run.offer(run.options.callbacks)
        for name in run.options.names:
            found = await self._resolver.resolve(name, run.options.context) if self._resolver else None
            if found is None:
                raise ConfigurationError(
                    f"no tool is called {name!r}: pass the tool itself, or a resolver that knows it"
                )
            run.offer([found])
        run.offer(self._callbacks)

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

    def is_work(self, call: ToolCall) -> bool:
        """Whether a call does something for the user, and not only for the loop itself."""
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
        inside = inner.advisors[inner.position :]
        memories = [cast("HistoryAdvisor", one) for one in inside if hasattr(one, "earlier_turns")]
        listeners = [cast("EndListener", one) for one in inside if hasattr(one, "run_ended")]
        for memory in memories:
            run_id = request.context.get(RUN_ID) or uuid4().hex  # a memory keeps the rounds of a run together by it
            request = request.with_context(**{RUN_ID: run_id, EARLIER_TURNS: await memory.earlier_turns(request)})
        run = await self.initialize_loop(request)
        run.guard = ToolExecutionMetrics(self._safety)
        run.keeps_history = not memories if self._internal_history is None else self._internal_history
        response: ChatClientResponse | None = None
        try:
            async with aclosing(self._rounds(run, inner, call_model)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        response = run.outcome(event.response)
                    else:
                        yield event
        except AgentLoopDetectedError:  # the guard's, or an inner advisor's
            for event in auto_ended(run, self.is_work):
                if isinstance(event, RunFinished):
                    response = run.outcome(event.response)
                else:
                    yield event
        except Exception as error:  # of any kind: only noted here that tools ran, then raised on
            if any(one.response is not None and self.is_work(one.call) for one in run.guard.executions):
                error.add_note(AFTER_TOOLS)
            raise
        finally:
            # Runs on failure and cancellation too, so it is kept from being cancelled, but not for ever.
            with anyio.move_on_after(_FINALIZE_SECONDS, shield=True):
                try:
                    response = await self.finalize_loop(run, response) or response
                finally:
                    await _tell(listeners, run, response)
        if response is not None:
            yield RunFinished(response=response)

    async def _rounds(
        self, run: ToolLoopRun, inner: CallAdvisorChain, call_model: ModelCall
    ) -> AsyncGenerator[RunEvent]:
        """Events of all rounds, ending with the RunFinished of the answer."""
        while True:
            async with aclosing(self._ask(run, inner, call_model)) as events:
                async for event in events:
                    yield event
            response = run.response
            assert response is not None  # `_ask` has set it or failed
            ended = False
            async with aclosing(self._act(run, response)) as events:
                async for event in events:
                    ended = isinstance(event, RunFinished)
                    yield event
            if ended:
                return

    async def _act(self, run: ToolLoopRun, response: ChatClientResponse) -> AsyncGenerator[RunEvent]:
        """What follows from a model message: the end of the run, or tools that run and the next messages."""
        message = response.response.message
        end: Iterable[RunEvent] | None = end_of(run, response)
        results = ToolResponseMessage(responses=())
        if end is None and (limit := self._limits.reached(run)) is not None:
            results = refused(run, message, *limit)
        elif end is None:
            for call in message.tool_calls:
                yield ToolCallStarted(call=call)
            results, end = await self._execute(run, response)
            for call, result in zip(message.tool_calls, results.responses, strict=True):
                yield ToolCallFinished(call=call, response=result)
        if end is not None:
            for event in end:
                yield event
            return
        if any(self.is_work(call) or run.insists_on(call.name) for call in message.tool_calls):
            run.choice_is_met()
        run.messages = list(await self.next_instructions(run, message, results))

    async def _execute(
        self, run: ToolLoopRun, response: ChatClientResponse
    ) -> tuple[ToolResponseMessage, Iterable[RunEvent] | None]:
        """The results of a round's tools, and the end of the run, if this is it. Raises: AgentLoopDetectedError."""
        message = response.response.message
        results = await self._manager.execute(
            message.tool_calls, run.callbacks.values(), run.tool_context, guard=run.guard
        )
        run.tools_ran(message, results)
        return results, direct(run, response, results) if run.returns_direct(results) else None

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


async def _tell(listeners: Iterable[EndListener], run: ToolLoopRun, response: ChatClientResponse | None) -> None:
    """Tell advisors inside the loop of an end that no model call has shown them."""
    if response is not None and run.stop_reason == "answer":
        return
    added = run.new_messages if response is None else (*run.new_messages, response.response.message)
    for listener in listeners:
        await listener.run_ended(run.request, added, None if response is None else run.stop_reason)
