"""The model of a benchmark run where none is configured: it follows a conversation's script and sees only the prompt.

Its rules, in this order, for each turn:

1. It calls every needed tool that it can see. It sees a tool in the tool list or, where a delivery has it so, in the
   text of a search result.
2. While some needed tool is not in sight, it searches: the next query that the script has for each missing tool, all
   in one message, at most `search_budget` times a turn. When the script has no further query for a tool, it searches
   once with what the user said.
3. In `slip_share` of the turns, drawn by the seed, it first calls a wrong tool: the one in sight whose name shares
   most words with its query, if it shares two.
4. When its budget is spent and a tool is still missing, it tries such a wrong tool once, and then says that it could
   not do it.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.bench.tokens.conversations import Conversation, Need, Turn
from gateway.bench.tokens.delivery import Manner
from gateway.chat.json_text import decode_json
from gateway.chat.messages import AssistantMessage, Message, ToolCall, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.models.example_arguments import example_arguments
from gateway.models.scripted import Reply, Wish

GIVEN_UP: Final = "I could not find a tool for all of this, so I have to leave it undone."
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")
_ENOUGH_WORDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRules:
    """How able the scripted model is; the same for every delivery."""

    search_budget: int = 2
    """Rounds of search in one turn."""
    slip_share: float = 0.05
    """Share of turns in which it first calls a wrong tool, if it sees one that looks right."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """What has happened since the user last spoke."""

    called: frozenset[str]
    """Names of catalog tools, those called through a proxy too."""
    search_rounds: int
    told: str
    """Everything that searches have answered, in the whole conversation."""


class ScriptedPolicy:
    """A policy for `ScriptedChatModel`: a pure function of the prompt, for one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        names: Mapping[str, ToolSpec],
        manner: Manner,
        *,
        seed: int,
        rules: ScriptRules | None = None,
    ) -> None:
        """`names`: what the model knows each needed tool by."""
        self._conversation = conversation
        self._names = names
        self._manner = manner
        self._rules = rules or ScriptRules()
        drawn = random.Random(f"{conversation.id}/{seed}")
        self._slips = [drawn.random() < self._rules.slip_share for _ in conversation.turns]

    def __call__(self, prompt: Prompt) -> Reply:
        number = sum(isinstance(message, UserMessage) for message in prompt.messages) - 1
        turn = self._conversation.turns[number]
        progress = self._progress(prompt.messages)
        left = [need for need in turn.needs if self._names[need.tool].name not in progress.called]
        if not left:
            return turn.answer
        listed = _names_of(prompt.tools)
        ready = [need for need in left if self._in_sight(need, listed, progress)]
        wanted = {self._names[need.tool].name for need in turn.needs}
        slipped = bool(progress.called - wanted)
        if self._slips[number] and not slipped and (wrong := self._wrong(left, prompt.tools, wanted)) is not None:
            return self._wish(wrong, turn)
        missing = [need for need in left if need not in ready]
        if missing and (queries := self._queries(missing, progress, turn)):
            search = self._manner.search
            assert search is not None  # there are no queries without a search tool
            return [Wish(name=search.tool, arguments=arguments) for arguments in search.write(queries)]
        if ready:
            return [self._wish(self._names[need.tool], turn) for need in ready]
        if not slipped and (wrong := self._wrong(left, prompt.tools, wanted)) is not None:
            return self._wish(wrong, turn)
        return GIVEN_UP

    def _queries(self, missing: Sequence[Need], progress: _Progress, turn: Turn) -> list[str]:
        spent = progress.search_rounds
        if self._manner.search is None or spent >= self._rules.search_budget:
            return []
        tries = [(*need.queries, turn.user) for need in missing]
        return list(dict.fromkeys(queries[spent] for queries in tries if spent < len(queries)))

    def _in_sight(self, need: Need, listed: Mapping[str, ToolSpec], progress: _Progress) -> bool:
        name = self._names[need.tool].name
        if name in listed:
            return True
        if not (self._manner.told_is_callable or self._manner.call_proxy) or name not in progress.told:
            return False
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", progress.told) is not None

    def _wrong(self, left: Sequence[Need], tools: Iterable[ToolSpec], wanted: set[str]) -> ToolSpec | None:
        """The tool in the list whose name shares most words with the query; the first of equals."""
        if self._manner.call_proxy:
            return None
        asked = _words(left[0].queries[0])
        own = self._manner.search.tool if self._manner.search else ""
        best, most = None, _ENOUGH_WORDS - 1
        for tool in tools:
            shared = len(asked & _name_words(tool.name))
            if shared > most and tool.name not in wanted and tool.name != own:
                best, most = tool, shared
        return best

    def _wish(self, tool: ToolSpec, turn: Turn) -> Wish:
        arguments = example_arguments(tool.parameters, turn.user)
        if self._manner.call_proxy:
            return Wish(name=self._manner.call_proxy, arguments={"name": tool.name, "arguments": arguments})
        return Wish(name=tool.name, arguments=arguments)

    def _progress(self, messages: Sequence[Message]) -> _Progress:
        last = max(place for place, one in enumerate(messages) if isinstance(one, UserMessage))
        search = self._manner.search.tool if self._manner.search else None
        rounds = [one for one in messages[last:] if isinstance(one, AssistantMessage) and one.tool_calls]
        calls = [call for one in rounds for call in one.tool_calls if call.name != search]
        return _Progress(
            called=frozenset(self._called(calls)),
            search_rounds=sum(any(call.name == search for call in one.tool_calls) for one in rounds),
            told="\n".join(_told(messages, search)),
        )

    def _called(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        for call in calls:
            yield str(decode_json(call.arguments)["name"]) if call.name == self._manner.call_proxy else call.name


def _told(messages: Sequence[Message], search: str | None) -> Iterator[str]:
    for message in messages:
        if isinstance(message, ToolResponseMessage):
            yield from (text_of(one.content) for one in message.responses if one.name == search)


_LISTS: dict[int, tuple[tuple[ToolSpec, ...], dict[str, ToolSpec]]] = {}
_NAME_WORDS: dict[str, frozenset[str]] = {}


def _names_of(tools: tuple[ToolSpec, ...]) -> Mapping[str, ToolSpec]:
    """Tools by name; a list of thousands that comes again and again is read once."""
    known = _LISTS.get(id(tools))
    if known is not None and known[0] is tools:
        return known[1]
    names = {tool.name: tool for tool in tools}
    _LISTS.clear()
    _LISTS[id(tools)] = (tools, names)
    return names


def _name_words(name: str) -> frozenset[str]:
    words = _NAME_WORDS.get(name)
    if words is None:
        words = _NAME_WORDS[name] = _words(name)
    return words


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORDS.findall(text) if len(word) > 2)
