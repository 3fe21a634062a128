"""Keeps count of a run's tool calls, and stops a run that only repeats itself."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from gateway.chat.json_text import decode_json, encode_json
from gateway.chat.messages import ToolCall, ToolResponse, text_of
from gateway.errors import AgentLoopDetectedError
from gateway.settings import LoopSafetySettings
from gateway.tools.callback import CompletionKeys, ToolMetadata

Outcome = Literal["ok", "empty", "failed", "blocked", "stopped"]

TOOL_EXECUTION: Final = "tool_execution"
"""Where the metrics stand in the values of a tool's context, and their report in a response's context."""

_EMPTY_RESULTS: Final = frozenset({"", "[]", "{}", "null", '""'})
_EVERYTHING: Final = "*"
_MAX_TARGETS: Final = 1_000
"""Of one call: lists in several arguments multiply."""

Target: TypeAlias = str
"""The canonical JSON of a tool's completion keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecution:
    """One call of a run and what became of it."""

    call: ToolCall
    outcome: Outcome
    response: ToolResponse | None = None
    """None for a call that was not run."""


class ToolExecutionMetrics:
    """All tool calls of one run, whatever a trimmed prompt still shows of them; decides which of the next ones run."""

    def __init__(self, settings: LoopSafetySettings | None = None) -> None:
        self._settings = settings or LoopSafetySettings()
        self.executions: list[ToolExecution] = []
        self.blocks = 0
        self.stops = 0
        self._last: tuple[str, str] | None = None
        self._done: dict[tuple[str, str], Outcome] = {}
        self._targets: dict[str, dict[Target, Outcome]] = {}

    def admit(self, call: ToolCall, metadata: ToolMetadata) -> str | None:
        """None if a call may run, or what to answer the model in the tool's place.

        To be asked in call order, before any of a round's calls runs. Raises: AgentLoopDetectedError, past the limits.
        """
        signature = (call.name, canonical_arguments(call.arguments))
        repeats, self._last = signature == self._last, signature
        finished = self._finished(call, metadata, signature)
        if finished is not None:
            self.executions.append(ToolExecution(call=call, outcome="blocked"))
            self.blocks += 1
            if self.blocks > self._settings.max_blocks:
                raise AgentLoopDetectedError(f"{call.name} was asked for again and again although it was done")
            return _blocked(call, finished)
        if repeats and not metadata.repeatable:
            self.executions.append(ToolExecution(call=call, outcome="stopped"))
            self.count_stop(call.name)
            return (
                f"STOP: you made this very call of {call.name} just now, and its result stands above. Do not make it "
                "again: use that result, do something else, or answer the user."
            )
        if metadata.completion is not None:  # from here on, so that of two calls in one round the second is blocked
            targets = self._targets.setdefault(call.name, {})
            for target in _targets(call, metadata.completion):
                targets.setdefault(target, "ok")
        return None

    def count_stop(self, name: str) -> None:
        """Note a repetition that was answered with STOP. Raises: AgentLoopDetectedError, past the limit."""
        self.stops += 1
        if self.stops > self._settings.max_stops:
            raise AgentLoopDetectedError(f"{name} was called in the same way again and again")

    def finished(self, call: ToolCall, metadata: ToolMetadata, response: ToolResponse) -> None:
        """Note what a call that ran gave; a failure and an empty result count as done for their arguments too."""
        outcome: Outcome = "ok"
        if response.is_error:
            outcome = "failed"
        elif isinstance(response.content, str) and response.content.strip() in _EMPTY_RESULTS:
            outcome = "empty"
        self.executions.append(ToolExecution(call=call, outcome=outcome, response=response))
        if metadata.completion is not None:
            targets = self._targets.setdefault(call.name, {})
            targets.update(dict.fromkeys(_targets(call, metadata.completion), outcome))
        elif outcome == "failed" or (outcome == "empty" and not metadata.repeatable):
            self._done[call.name, canonical_arguments(call.arguments)] = outcome

    def report(self) -> dict[str, Any]:
        """Counts for whoever asks what the run did."""
        outcomes = [execution.outcome for execution in self.executions]
        tools: dict[str, int] = {}
        for execution in self.executions:
            if execution.response is not None:
                tools[execution.call.name] = tools.get(execution.call.name, 0) + 1
        return {
            "calls": len(outcomes),
            "ran": sum(tools.values()),
            "failed": outcomes.count("failed"),
            "empty": outcomes.count("empty"),
            "blocked": self.blocks,
            "stopped": self.stops,
            "tools": tools,
        }

    def _finished(self, call: ToolCall, metadata: ToolMetadata, signature: tuple[str, str]) -> Outcome | None:
        """How everything that a call is about ended before, or None if any of it is still to be done."""
        if metadata.completion is None:
            return self._done.get(signature)
        known = self._targets.get(call.name, {})
        ended: Outcome | None = None
        for target in _targets(call, metadata.completion):
            ended = known.get(target) or known.get(_EVERYTHING)
            if ended is None:
                return None
        return ended


def canonical_arguments(text: str) -> str:
    """Equal for arguments that mean the same: order of keys, spaces and the spelling of numbers do not matter."""
    try:
        value: object = decode_json(text) if text.strip() else {}
    except ValueError:
        return text.strip()
    return json.dumps(_canonical(value), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _canonical(value: object) -> object:
    if isinstance(value, dict):
        return {key: _canonical(one) for key, one in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_canonical(one) for one in cast("list[object]", value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


def _targets(call: ToolCall, keys: CompletionKeys) -> Iterator[Target]:
    """What a call is about, several where an argument lists several."""
    given = _parsed(canonical_arguments(call.arguments))
    choices: list[list[object]] = []
    for name in keys.arguments:
        value = given.get(name)
        choices.append(cast("list[object]", value) if isinstance(value, list) else [value])
    if any(isinstance(one, str) and one.casefold() in keys.everything for values in choices for one in values):
        yield _EVERYTHING
        return
    if math.prod(map(len, choices)) > _MAX_TARGETS:
        yield encode_json(choices).decode()  # more than anyone collects one by one: all of it is one target
        return
    for combination in itertools.product(*choices):
        yield encode_json(combination).decode()


def _parsed(text: str) -> Mapping[str, object]:
    try:
        value: object = decode_json(text)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _blocked(call: ToolCall, outcome: Outcome) -> str:
    match outcome:
        case "failed":
            why = f"{call.name} has failed for this already, and would fail again"
            then = "skip it, go on with the rest, and tell the user what is missing"
        case "empty":
            why = f"{call.name} has been called for this already and there was nothing"
            then = "go on without, and tell the user that there is nothing"
        case _:
            why = f"{call.name} has been done for this already; its result stands above"
            then = "go on with what is still to be done, or answer the user"
    return f"BLOCKED: {why}. Do not call it again for this: {then}."


def collected_text(executions: list[ToolExecution], *, limit: int = 500) -> str:
    """What a run had collected, for the answer of one that was ended."""
    lines = [
        f"- {one.call.name}({one.call.arguments}): {text_of(one.response.content)[:limit]}"
        for one in executions
        if one.outcome == "ok" and one.response is not None
    ]
    return "\n".join(lines)
