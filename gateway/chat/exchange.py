"""What travels through the advisor chain, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast

from gateway.chat.messages import AssistantMessage, ToolCall, ToolResponse, text_of
from gateway.chat.prompt import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counts them; over several rounds they are summed. `details` keeps the rest."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    other_tokens: int = 0
    """Only in the provider's total: some count a model's thinking there and nowhere else."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def total_tokens(self) -> int:
        """All of them, as the provider counts."""
        return self.prompt_tokens + self.completion_tokens + self.other_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            other_tokens=self.other_tokens + other.other_tokens,
            details=_sum_details(self.details, other.details),
        )


def _sum_details(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Counters summed at every depth; a counter that only one side has stays as it is."""
    total = dict(left)
    for name, value in right.items():
        known = total.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            total[name] = _sum_details(cast("Mapping[str, Any]", known), cast("Mapping[str, Any]", value))
        elif _are_counts(cast("object", known), value):
            total[name] = known + value
        elif value is not None:
            total[name] = value
    return total


def _are_counts(*values: object) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


RUN_ID: Final = "run_id"
"""Where a run's own id stands in the context of its request and response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatClientRequest:
    """A prompt and the context of one run; advisors change it by copying."""

    prompt: Prompt
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values advisors hand to each other within one run; never sent to the model."""

    def with_context(self, **values: object) -> "ChatClientRequest":
        """A copy with more values in its context."""
        return replace(self, context={**self.context, **values})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """One answer of a model."""

    message: AssistantMessage
    finish_reason: str = "stop"
    usage: Usage | None = None
    id: str = ""
    model: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The provider's own body, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatClientResponse:
    """The end of a run: the model's answer and what the loop did to get it."""

    response: ChatResponse
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the advisors leave for the caller: `usage`, `rounds`, `searches`, `stop_reason`, `returned_tools`."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return text_of(self.response.message.content)


# Events of a stream. A run's stream is any number of these, ending with one RunFinished.


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of what the model says, in order."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """A piece of what the model thinks, where its provider tells."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A model message is complete; its calls, if any, may now be run."""

    response: ChatResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """A tool of ours is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished:
    """What came of a call, well or not."""

    call: ToolCall
    response: ToolResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The end of a run; always the last event."""

    response: ChatClientResponse


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | RoundFinished
"""What a model's stream yields: deltas, then exactly one RoundFinished."""

RunEvent: TypeAlias = ModelEvent | ToolCallStarted | ToolCallFinished | RunFinished

StopReason = Literal[
    "answer",
    "client_tools",
    "return_direct",
    "loop",
    "max_rounds",
    "max_calls",
    "max_tokens",
    "max_seconds",
    "not_eligible",
]
"""Why a run ended; kept in the response context under `stop_reason`."""
