"""Runs the tool calls of one round; usable without the loop by those who decide on each call themselves."""

import difflib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio

from gateway.chat.json_text import decode_json
from gateway.chat.messages import Content, ToolCall, ToolResponse, ToolResponseMessage
from gateway.errors import LoopSafetyError, ToolArgumentsError, ToolError, ToolExecutionError, ToolNotFoundError
from gateway.tools.callback import ToolCallback, ToolMetadata
from gateway.tools.context import ToolContext
from gateway.tools.loop_safety import ToolExecutionMetrics
from gateway.tools.telemetry import AroundToolCall
from indexer import InvalidToolError, arguments_problem

logger = logging.getLogger(__name__)

_MAX_ERROR_TEXT: Final = 1000
_NOT_AGAIN: Final = "Do not call this tool again with the same arguments: change them, or skip it and go on."


class ToolCallingManager:
    """Runs calls concurrently within a bound and answers them in call order; holds no state of a run."""

    def __init__(
        self,
        *,
        max_concurrent_calls: int = 8,
        tool_timeout_seconds: float = 30.0,
        around: AroundToolCall | None = None,
    ) -> None:
        """`around` is entered for each call that runs: `ToolSpans()`, say."""
        self._around = around
        self._max_concurrent_calls = max_concurrent_calls
        self._tool_timeout_seconds = tool_timeout_seconds

    async def execute(
        self,
        calls: Sequence[ToolCall],
        callbacks: Iterable[ToolCallback],
        context: ToolContext | None = None,
        *,
        guard: ToolExecutionMetrics | None = None,
    ) -> ToolResponseMessage:
        """Run the calls of one assistant message; whatever goes wrong with one becomes its response.

        A `guard` answers the calls of a run that repeats itself in their tools' place.
        Raises: LoopSafetyError, when the guard ends the run.
        """
        by_name = {callback.spec.name: callback for callback in callbacks}
        round = _Round(by_name, context or ToolContext(), guard)
        responses = {place: answer for place, call in enumerate(calls) if (answer := round.refusal(call)) is not None}
        admitted = [(place, call) for place, call in enumerate(calls) if place not in responses]
        if len(admitted) == 1:
            place, call = admitted[0]
            responses[place] = await self._respond(call, round)
        elif admitted:
            await self._run_together(admitted, round, responses)
        return ToolResponseMessage(responses=tuple(responses[place] for place in range(len(calls))))

    async def _run_together(
        self, calls: Sequence[tuple[int, ToolCall]], round: "_Round", responses: dict[int, ToolResponse]
    ) -> None:
        stops: list[LoopSafetyError] = []
        limiter = anyio.CapacityLimiter(self._max_concurrent_calls)

        async def run(place: int, call: ToolCall) -> None:
            async with limiter:
                try:
                    responses[place] = await self._respond(call, round)
                except LoopSafetyError as stop:
                    stops.append(stop)  # a task group would wrap it; the other calls of the round still finish

        async with anyio.create_task_group() as group:
            for place, call in calls:
                group.start_soon(run, place, call)
        if stops:
            raise stops[0]

    async def _respond(self, call: ToolCall, round: "_Round") -> ToolResponse:
        if self._around is None:
            return await self._answer(call, round)
        with self._around(call) as told:
            response = await self._answer(call, round)
            told(response)
            return response

    async def _answer(self, call: ToolCall, round: "_Round") -> ToolResponse:
        try:
            content = await self._run(call, round.callbacks, round.context)
        except ToolError as error:
            response = ToolResponse(id=call.id, name=call.name, content=f"Error: {error}", is_error=True)
        else:
            response = ToolResponse(id=call.id, name=call.name, content=content)
        round.finished(call, response)
        return response

    async def _run(self, call: ToolCall, callbacks: Mapping[str, ToolCallback], context: ToolContext) -> Content:
        callback = callbacks.get(call.name)
        if callback is None:
            raise ToolNotFoundError(unknown_tool(call.name, list(callbacks)))
        arguments = parse_arguments(call)
        if not callback.metadata.checks_arguments:
            _hold_to_schema(callback, arguments)
        try:
            with anyio.move_on_after(self._tool_timeout_seconds):
                return await callback.call(arguments, context)
        except LoopSafetyError:
            raise
        except ToolError as error:
            raise ToolExecutionError(_with_advice(str(error))) from error
        except Exception as error:  # a tool may fail in any way, and the model must hear of it
            logger.exception("tool %s failed", call.name)
            raise ToolExecutionError(
                f"{call.name} failed: {type(error).__name__}: {str(error)[:_MAX_ERROR_TEXT]}. {_NOT_AGAIN}"
            ) from error
        raise ToolExecutionError(
            f"{call.name} did not finish within {self._tool_timeout_seconds:g} seconds; it may still have had an "
            f"effect. {_NOT_AGAIN}"
        )


@dataclass(frozen=True, slots=True)
class _Round:
    """What the calls of one round share."""

    callbacks: Mapping[str, ToolCallback]
    context: ToolContext
    guard: ToolExecutionMetrics | None

    def refusal(self, call: ToolCall) -> ToolResponse | None:
        """The guard's answer to a call that is not to run. Raises: LoopSafetyError."""
        text = self.guard.admit(call, self._metadata(call)) if self.guard else None
        return None if text is None else ToolResponse(id=call.id, name=call.name, content=text, is_error=True)

    def finished(self, call: ToolCall, response: ToolResponse) -> None:
        if self.guard:
            self.guard.finished(call, self._metadata(call), response)

    def _metadata(self, call: ToolCall) -> ToolMetadata:
        callback = self.callbacks.get(call.name)
        return _UNKNOWN if callback is None else callback.metadata


_UNKNOWN: Final = ToolMetadata()


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none at all count as an empty object. Raises: ToolArgumentsError."""
    if not call.arguments.strip():
        return {}
    try:
        arguments = decode_json(call.arguments, strict=True)
    except ValueError as error:
        raise ToolArgumentsError(
            f"the arguments of {call.name} are not valid JSON ({error}). Call it again with one JSON object that fits "
            "its schema; do not repeat the same text."
        ) from error
    if not isinstance(arguments, dict):
        raise ToolArgumentsError(
            f"the arguments of {call.name} must be one JSON object with the parameters by name, "
            f"not {type(cast('object', arguments)).__name__}. Call it again with an object."
        )
    if not _is_text(call.arguments, cast("dict[str, Any]", arguments)):
        raise ToolArgumentsError(
            f"the arguments of {call.name} hold half of a character (an unpaired surrogate such as \\ud83d). Call it "
            "again with the whole character, or without it."
        )
    return cast("dict[str, Any]", arguments)


def _is_text(written: str, arguments: Mapping[str, Any]) -> bool:
    """Whether all texts are whole: what a tool is given must be storable and sendable."""
    if written.isascii() and "\\ud" not in written.lower():
        return True  # only an escape can hold half a character
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def unknown_tool(name: str, visible: Sequence[str]) -> str:
    """What to tell a model that called a tool it cannot see; names nothing but what it can see."""
    close = difflib.get_close_matches(name, visible, n=3, cutoff=0.5)
    hint = f" The closest tools you have: {', '.join(close)}." if close else ""
    return f"there is no tool named {name!r}.{hint} Call only tools of your list, by their exact name."


def _hold_to_schema(callback: ToolCallback, arguments: Mapping[str, Any]) -> None:
    """Raises: ToolArgumentsError for arguments that do not fit."""
    spec = callback.spec
    try:
        problem = arguments_problem(spec.parameters, arguments)
    except InvalidToolError:
        logger.warning("the schema of %s cannot be used to check arguments", spec.name)
        return
    if problem:
        raise ToolArgumentsError(
            f"the arguments of {spec.name} do not fit. {problem} Correct them and call it again; do not repeat the "
            "same arguments."
        )


def _with_advice(message: str) -> str:
    """A tool's own error, with what to do next unless the tool has said so itself."""
    return message if "again" in message else f"{message.rstrip('. ')}. {_NOT_AGAIN}"
