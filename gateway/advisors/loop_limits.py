"""How far one run may go."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from gateway.advisors.loop_run import ToolLoopRun
from gateway.chat.exchange import StopReason

DEFAULT_MAX_ROUNDS: Final = 10
DEFAULT_MAX_CALLS: Final = 200
"""Ten rounds of twenty calls each; a message may hold any number, and each of them costs whoever runs it."""

EligibilityChecker: TypeAlias = Callable[[ToolLoopRun], str | None]
"""Asked before the tools of a round run: None if they may, or why not, as the model and the user are to read it."""


class LimitReached(NamedTuple):
    """Why no more tools run."""

    stop_reason: StopReason
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """Bounds of one run; past any of them the model is asked once more, and may only talk."""

    max_rounds: int = DEFAULT_MAX_ROUNDS
    """Rounds in which tools run."""
    max_calls: int = DEFAULT_MAX_CALLS
    """Tool calls of all rounds together; of a round that would go past it, none runs."""
    max_tokens: int | None = None
    """Prompt and completion tokens of all model calls, where the provider counts them."""
    max_seconds: float | None = None
    """Since the run began; a model call or a tool that is under way is not cut."""
    eligible: EligibilityChecker | None = None

    def reached(self, run: ToolLoopRun) -> LimitReached | None:
        """The limit that keeps the tools of the next round from running, if any."""
        wanted = run.options.max_rounds
        rounds = self.max_rounds if wanted is None else min(wanted, self.max_rounds)
        if run.tool_rounds >= rounds:
            return LimitReached("max_rounds", f"{rounds} rounds of tool calls are the most that one request may take")
        if len(run.guard.executions) + run.calls_wanted > self.max_calls:
            return LimitReached("max_calls", f"{self.max_calls} tool calls are the most that one request may make")
        used = 0 if run.usage is None else run.usage.prompt_tokens + run.usage.completion_tokens
        if self.max_tokens is not None and used >= self.max_tokens:
            return LimitReached("max_tokens", f"the {self.max_tokens} tokens that one request may use are used up")
        if self.max_seconds is not None and time.monotonic() - run.started >= self.max_seconds:
            return LimitReached("max_seconds", f"the {self.max_seconds:g} seconds that one request may take are over")
        for eligible in (self.eligible, run.options.eligible):
            if eligible is not None and (refusal := eligible(run)) is not None:
                return LimitReached("not_eligible", refusal)
        return None
