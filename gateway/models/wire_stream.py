"""Streamed answers in OpenAI's chat-completions chunks: put together, and taken apart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from gateway.chat.exchange import (
    ChatClientResponse,
    ChatResponse,
    ReasoningDelta,
    RoundFinished,
    RunEvent,
    RunFinished,
    TextDelta,
    Usage,
)
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, ToolCall, text_of
from gateway.errors import ModelError, TruncatedStreamError
from gateway.models.wire import (
    REASONING_FIELDS,
    call_to_wire,
    error_from_wire,
    error_in,
    new_call_id,
    usage_from_wire,
    usage_to_wire,
)


@dataclass(slots=True)
class _CallParts:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


class ChunkAssembler:
    """Puts one answer together from its chunks; belongs to one stream."""

    def __init__(self) -> None:
        self.finish_reason = ""
        self._id = ""
        self._model = ""
        self._usage: Usage | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._extra: dict[str, Any] = {}
        self._beside: dict[str, Any] = {}
        self._beside_choice: dict[str, Any] = {}
        self._calls: list[_CallParts] = []
        self._by_index: dict[int, _CallParts] = {}

    def feed(self, chunk: Mapping[str, Any]) -> list[TextDelta | ReasoningDelta]:
        """Take in one chunk; the deltas to show.

        Raises: ModelError for an error object in the stream, and for a chunk of another shape.
        """
        try:
            return list(self._take(chunk))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the model's stream holds a chunk that cannot be read: {str(chunk)[:200]}") from error

    def _take(self, chunk: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        if (fault := error_in(chunk)) is not None:
            raise error_from_wire(fault)
        self._id = self._id or str(chunk.get("id") or "")
        self._model = self._model or str(chunk.get("model") or "")
        if usage := usage_from_wire(chunk.get("usage")):
            self._usage = usage
        self._beside.update(_told(chunk, _CHUNK_FIELDS))
        for choice in cast("list[Mapping[str, Any]]", chunk.get("choices") or ()):
            if choice.get("index", 0) != 0:
                continue  # further choices of n>1 are no part of the loop
            yield from self._delta(cast("Mapping[str, Any]", choice.get("delta") or {}))
            if choice.get("finish_reason"):
                self.finish_reason = str(choice["finish_reason"])
            for name, value in _told(choice, _CHOICE_FIELDS).items():
                self._beside_choice[name] = _joined(self._beside_choice.get(name), value, growing=frozenset())

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        for name, value in delta.items():
            if value is None or name == "role":
                continue
            if name == "content":
                text = value if isinstance(value, str) else "".join(_texts(value))
                if text:
                    self._text.append(text)
                    yield TextDelta(text=text)
            elif name in REASONING_FIELDS and isinstance(value, str):
                if self._reasoning_field in ("", name):  # some servers send the same thought in both fields
                    self._reasoning_field = name
                    self._reasoning.append(value)
                    yield ReasoningDelta(text=value)
            elif name == "tool_calls":
                for fragment in cast("list[Mapping[str, Any]]", value):
                    self._fragment(fragment)
            else:
                self._extra[name] = _joined(self._extra.get(name), value)

    def _fragment(self, fragment: Mapping[str, Any]) -> None:
        parts = self._parts_of(fragment)
        function = cast("Mapping[str, Any]", fragment.get("function") or {})
        parts.id = parts.id or str(fragment.get("id") or "")
        parts.name = parts.name or str(function.get("name") or "")
        if (kind := fragment.get("type", "function")) not in ("function", None):
            parts.extra["type"] = kind
            body: Mapping[str, Any] = fragment.get(kind) or {}
            parts.name = parts.name or str(body.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            parts.arguments.append(arguments)
        elif arguments is not None:  # some servers send the parsed object, whole
            parts.arguments.append(encode_json(arguments).decode())
        for name, value in fragment.items():
            if name not in ("index", "id", "function", "type") and value is not None:
                parts.extra[name] = _joined(parts.extra.get(name), value)

    def _parts_of(self, fragment: Mapping[str, Any]) -> _CallParts:
        """The call that a fragment belongs to.

        Some servers leave the index out, or give every parallel call index 0: a new id then starts a new call.
        """
        index, call_id = fragment.get("index"), fragment.get("id")
        known = self._by_index.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        if known is None or (call_id and known.id and call_id != known.id):
            known = _CallParts()
            self._calls.append(known)
            if isinstance(index, int):
                self._by_index[index] = known
        return known

    def finish(self, *, done: bool) -> ChatResponse:
        """The whole answer; `done` says that the stream's terminal event came.

        Raises: TruncatedStreamError if it was cut; calls are only believed after a finish reason.
        """
        if not self.finish_reason and (not done or self._calls or not (self._text or self._reasoning)):
            raise TruncatedStreamError(
                "the model's stream ended without a finish reason: the answer is incomplete and no tool of it was run"
            )
        reasoning = "".join(self._reasoning)
        extra = {**self._extra, self._reasoning_field: reasoning} if self._reasoning_field else self._extra
        calls = tuple(
            ToolCall(
                id=parts.id or new_call_id(),
                name=parts.name,
                arguments="".join(parts.arguments),
                extra=parts.extra,
            )
            for parts in self._calls
        )
        return ChatResponse(
            message=AssistantMessage(content="".join(self._text), tool_calls=calls, reasoning=reasoning, extra=extra),
            finish_reason=self.finish_reason or "stop",
            usage=self._usage,
            id=self._id,
            model=self._model,
            raw={**self._beside, "choices": [self._beside_choice]} if self._beside or self._beside_choice else {},
        )


_CHUNK_FIELDS: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "error"})
_CHOICE_FIELDS: Final = frozenset({"index", "delta", "finish_reason"})
_GROWING: Final = frozenset({"arguments", "input", "data", "transcript"})
"""Texts inside objects that come in pieces: of a legacy function call, of a custom tool's call, of speech."""


def _told(entry: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What a chunk says beside the fields that are read: `system_fingerprint` and `logprobs`, say."""
    return {name: value for name, value in entry.items() if name not in known and value is not None}


def _joined(known: object, value: object, *, growing: frozenset[str] = _GROWING) -> object:
    """Unknown fields of deltas: text and lists grow, objects do inside, anything else is replaced.

    What is known was made here and grows in place: log probabilities come with every token.
    """
    if isinstance(value, str):
        return known + value if isinstance(known, str) and growing else value
    if isinstance(value, list):
        entries = cast("list[Any]", known) if isinstance(known, list) else []
        entries.extend(cast("list[Any]", value))
        return entries
    if isinstance(value, Mapping):
        inside = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
        for name, one in cast("Mapping[str, Any]", value).items():
            inside[name] = _joined(inside.get(name), one, growing=growing if name in growing else frozenset())
        return inside
    return value


def _texts(parts: object) -> Iterator[str]:
    """The texts of content that comes as parts. Raises: TypeError for anything else."""
    if not isinstance(parts, list):
        raise TypeError("content is neither text nor parts")
    for part in cast("list[Mapping[str, Any]]", parts):
        if part.get("type") == "text":
            yield str(part["text"])


_GAP: Final = "\n\n"
"""Between the texts of two model messages that a client sees as one."""


def shown_answer(run: ChatClientResponse) -> ChatResponse:
    """A run's answer as a client that did not stream is to see it: what `ChunkWriter` would have shown, at once.

    Text from rounds that ran here stands before the answer's own.
    """
    message = run.response.message
    said = [one for one in run.context.get("new_messages", ()) if isinstance(one, AssistantMessage)]
    hidden = [text for one in said[:-1] if (text := text_of(one.content))]
    if not hidden or not isinstance(message.content, str):
        return run.response
    content = _GAP.join([*hidden, message.content] if message.content else hidden)
    return replace(run.response, message=replace(message, content=content))


_SHOWN_BY_DELTAS: Final = frozenset({"content", *REASONING_FIELDS})
_MESSAGE_FIELDS: Final = _CHOICE_FIELDS | {"message"}


class ChunkWriter:
    """Turns the events of one run into the chunks that a client of the chat route reads.

    Rounds that ran here are not shown but for their text; only calls that belong to the client become tool calls.
    """

    def __init__(self, *, id: str, model: str, created: int, include_usage: bool = False) -> None:
        self._head: dict[str, Any] = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
        self._include_usage = include_usage
        self._started = False
        self._text_shown = False
        self._gap_due = False

    def chunks(self, event: RunEvent) -> Iterator[dict[str, Any]]:
        """The chunks that an event becomes: often one, sometimes none."""
        match event:
            case TextDelta(text=text):
                if self._gap_due:
                    self._gap_due = False
                    text = _GAP + text  # the text of a hidden round and the next one's would run into each other
                self._text_shown = True
                yield self._delta({"content": text})
            case ReasoningDelta(text=text):
                yield self._delta({"reasoning_content": text})
            case RoundFinished():
                self._gap_due = self._text_shown
            case RunFinished(response=response):
                yield from self._end(response)
            case _:
                return

    def _end(self, run: ChatClientResponse) -> Iterator[dict[str, Any]]:
        response = run.response
        if not self._text_shown and run.text:  # an answer that no delta carried, a tool's direct result say
            yield self._delta({"content": run.text})
        if said := _told(response.message.extra, _SHOWN_BY_DELTAS):
            yield self._delta(said)
        for index, call in enumerate(response.message.tool_calls):
            yield self._delta({"tool_calls": [{"index": index, **call_to_wire(call)}]})
        choices = cast("list[Mapping[str, Any]]", response.raw.get("choices") or [{}])
        end = {"index": 0, "delta": self._first({}), "finish_reason": response.finish_reason}
        yield {**_told(response.raw, _CHUNK_FIELDS), **self._chunk([{**_told(choices[0], _MESSAGE_FIELDS), **end}])}
        if self._include_usage and response.usage is not None:
            yield {**self._chunk([]), "usage": usage_to_wire(response.usage)}

    def _delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        return self._chunk([{"index": 0, "delta": self._first(delta), "finish_reason": None}])

    def _first(self, delta: dict[str, Any]) -> dict[str, Any]:
        """The first delta of a stream names the role."""
        if self._started:
            return delta
        self._started = True
        return {"role": "assistant", "content": "", **delta}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        chunk = {**self._head, "choices": choices}
        if self._include_usage:
            chunk["usage"] = None
        return chunk
