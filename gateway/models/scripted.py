"""A model that follows a script or a policy: for tests, and for trying the gateway without an upstream."""

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio.lowlevel

from gateway.chat.exchange import ChatResponse, ModelEvent, ReasoningDelta, RoundFinished, TextDelta, Usage
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, ToolCall, text_of
from gateway.chat.prompt import Prompt
from gateway.errors import ModelError, TruncatedStreamError

UsageCounter: TypeAlias = Callable[[Prompt, AssistantMessage], Usage]
"""Counts what a provider would bill for a prompt and its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A scripted wish to run a tool; the model gives it its id."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    """A string is sent as it is, so that broken JSON can be scripted."""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A scripted stream that ends after some deltas without its terminal event."""

    text: str
    after: int


Reply: TypeAlias = (
    "str | Wish | list[Wish] | AssistantMessage | ChatResponse | Cut | Exception | Callable[[Prompt], Reply]"
)
"""What a script may answer with: text, calls, a whole message, a failure, or a function of the prompt."""

_WORDS: Final = re.compile(r"\S+\s*|\s+")


def wish(tool: str, /, **arguments: object) -> Wish:
    """A wish to run a tool with these arguments."""
    return Wish(name=tool, arguments=arguments)


class ScriptedChatModel:
    """Answers from a queue, then by a policy; sees nothing but the prompt it is given.

    Replies that were queued are taken in order, which suits one conversation at a time; a policy is a function of the
    prompt, so any number of conversations may share the model.
    """

    def __init__(
        self,
        *replies: Reply,
        policy: Callable[[Prompt], Reply] | None = None,
        count_usage: UsageCounter | None = None,
        name: str = "scripted",
    ) -> None:
        self._queue: deque[Reply] = deque(replies)
        self._policy = policy
        self._count_usage = count_usage
        self._name = name
        self.prompts: list[Prompt] = []
        """Every prompt it was given, oldest first; only kept while there is no policy, which may serve for ever."""

    def enqueue(self, *replies: Reply) -> None:
        """Add replies to the end of the script."""
        self._queue.extend(replies)

    async def call(self, prompt: Prompt) -> ChatResponse:
        """The next reply. Raises: ModelError when the script is at its end, or whatever was queued."""
        await anyio.lowlevel.checkpoint()
        reply = self._next(prompt)
        if isinstance(reply, Cut):
            raise TruncatedStreamError("the model's answer was cut")
        return self._answer(prompt, reply)

    async def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
        """The next reply word by word, then whole. Raises: as `call`, and TruncatedStreamError for a `Cut`."""
        await anyio.lowlevel.checkpoint()
        reply = self._next(prompt)
        if isinstance(reply, Cut):
            for word in _WORDS.findall(reply.text)[: reply.after]:
                yield TextDelta(text=word)
            raise TruncatedStreamError("the model's stream ended without a finish reason; no tool of it was run")
        response = self._answer(prompt, reply)
        for word in _WORDS.findall(response.message.reasoning):
            yield ReasoningDelta(text=word)
        for word in _WORDS.findall(text_of(response.message.content)):
            await anyio.lowlevel.checkpoint()
            yield TextDelta(text=word)
        yield RoundFinished(response=response)

    async def aclose(self) -> None:
        """Nothing is held open."""

    def _next(self, prompt: Prompt) -> "AssistantMessage | ChatResponse | Cut":
        if self._policy is None:
            self.prompts.append(prompt)
        if self._queue:
            reply = self._queue.popleft()
        elif self._policy is not None:
            reply = self._policy(prompt)
        else:
            raise ModelError("the script has no further reply: enqueue one for each model call, or give it a policy")
        return _message_of(reply, prompt)

    def _answer(self, prompt: Prompt, reply: AssistantMessage | ChatResponse) -> ChatResponse:
        if isinstance(reply, ChatResponse):
            return reply
        return ChatResponse(
            message=reply,
            finish_reason="tool_calls" if reply.tool_calls else "stop",
            usage=self._count_usage(prompt, reply) if self._count_usage else None,
            model=prompt.options.model or self._name,
        )


def _message_of(reply: Reply, prompt: Prompt) -> AssistantMessage | ChatResponse | Cut:
    """The reply as a message; call ids are unique within a conversation and equal on every run."""
    if isinstance(reply, Exception):
        raise reply
    if isinstance(reply, str):
        return AssistantMessage(content=reply)
    if isinstance(reply, Wish):
        return AssistantMessage(tool_calls=(_call(reply, prompt, 0),))
    if isinstance(reply, AssistantMessage | ChatResponse | Cut):
        return reply
    if callable(reply):
        return _message_of(reply(prompt), prompt)
    return AssistantMessage(tool_calls=tuple(_call(entry, prompt, place) for place, entry in enumerate(reply)))


def _call(wanted: Wish, prompt: Prompt, place: int) -> ToolCall:
    arguments = wanted.arguments
    return ToolCall(
        id=wanted.id or f"call_{len(prompt.messages)}_{place}",
        name=wanted.name,
        arguments=arguments if isinstance(arguments, str) else encode_json(arguments).decode(),
    )


def with_calls(text: str, *wishes: Wish) -> Callable[[Prompt], Reply]:
    """A reply that says something and wishes for tools in one message."""

    def reply(prompt: Prompt) -> AssistantMessage:
        calls = tuple(_call(entry, prompt, place) for place, entry in enumerate(wishes))
        return AssistantMessage(content=text, tool_calls=calls)

    return reply
