"""What a conversation was shown that its messages do not tell, so that every later turn is shown the same.

Providers cache a prompt's prefix, and the tools stand at its beginning: a list of namespaces that changed with the
catalog, or a preloaded tool that another search would no longer find, would cost the cache of every open conversation.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.advisors.loop_run import ToolLoopRun
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, Message, text_of
from indexer import SearchScope

ConversationKey: TypeAlias = tuple[SearchScope, str, str]
"""The view that the conversation has, whose it is, and which one it is: its id, or a digest of how it begins."""

DEFAULT_MAX_CONVERSATIONS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationNotes:
    """What one conversation was shown."""

    namespaces: tuple[str, ...] | None = None
    """Those that its search tool names; None: that is not settled yet."""
    preloaded: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The names of tools that were shown at once, by what the user said."""


class ConversationNotebook:
    """Notes on the conversations of this process; past `max_conversations` those used longest ago are dropped.

    A conversation whose notes are gone, after a restart say, or in another gateway, is noted anew: its prefix changes
    once, and nothing else.
    """

    def __init__(self, *, max_conversations: int = DEFAULT_MAX_CONVERSATIONS) -> None:
        self._max_conversations = max_conversations
        self._notes: dict[ConversationKey, ConversationNotes] = {}

    def find(self, key: ConversationKey) -> ConversationNotes | None:
        """What is noted of a conversation; counts as a use of it."""
        notes = self._notes.pop(key, None)
        if notes is not None:
            self._notes[key] = notes
        return notes

    def keep(self, keys: Iterable[ConversationKey], notes: ConversationNotes) -> None:
        """Note something of a conversation, under every key by which it may come back."""
        for key in keys:
            self._notes.pop(key, None)
            self._notes[key] = notes
        while len(self._notes) > self._max_conversations:
            del self._notes[next(iter(self._notes))]


def key_now(run: ToolLoopRun) -> ConversationKey | None:
    """The key of the conversation that a request goes on with; None for one that begins, and has no id."""
    context = run.options.context
    if context.conversation_id:
        return run.options.search_scope, context.principal, f"id:{context.conversation_id}"
    for place, message in enumerate(run.request.prompt.messages):
        if isinstance(message, AssistantMessage):
            return _key(run, run.request.prompt.messages[:place], message)
    return None


def keys_later(run: ToolLoopRun, answer: AssistantMessage) -> set[ConversationKey]:
    """The keys under which a conversation that began with this run may come back.

    Its next request holds the first model message of the run, where rounds are kept; or its answer, where they are
    not; or the answer behind the texts of the rounds, which is how the chat route shows it.
    """
    said = [one for one in run.new_messages if isinstance(one, AssistantMessage)]
    texts = "\n".join(text_of(one.content) for one in (*said, answer))
    shown = AssistantMessage(content=texts, tool_calls=answer.tool_calls)
    return {_key(run, run.request.prompt.messages, one) for one in (*said[:1], answer, shown)}


def digest_of(text: str) -> str:
    """A short stand-in for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _key(run: ToolLoopRun, opening: Sequence[Message], first: AssistantMessage) -> ConversationKey:
    said = [[type(one).__name__, _content(one)] for one in opening]
    # Clients may trim a text, or break its lines anew; the ids of calls are what they have to give back.
    said.append(["first", [" ".join(text_of(first.content).split()), [call.id for call in first.tool_calls]]])
    beginning = digest_of(encode_json(said).decode())
    return run.options.search_scope, run.options.context.principal, f"begins:{beginning}"


def _content(message: Message) -> object:
    content = getattr(message, "content", "")
    return content if isinstance(content, str) else [dict(part) for part in content]
