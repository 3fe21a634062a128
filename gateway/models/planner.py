"""The policy of a scripted model that has no mind: search, call what was found, answer.

It stands in for a real model where none is configured. Like a real one it knows only the prompt: the tools in it, what
the user said, and what the tools answered; it can call nothing that the prompt does not show.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from gateway.chat.json_text import decode_json
from gateway.chat.messages import AssistantMessage, Message, ToolResponse, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.models.example_arguments import Fits, example_arguments
from gateway.models.intent import deeds_of_request
from gateway.models.scripted import Reply, Wish
from indexer import deeds_of_tool, is_deed

_MAX_QUERIES: Final = 5
_STATEMENT: Final = re.compile(r"(?:one|my|our|the|an?|this|that|there|i|we|some)\b", re.IGNORECASE)
_POINTS_BACK: Final = re.compile(r"\b(?:it|its|them|their|they|that one)\b|그것|그걸", re.IGNORECASE)
_NEED_ENDS: Final = re.compile(
    r"[.!?。！？]+(?:\s+|$)|\n+|;\s*|,?\s+(?:and then|and also|then|after that)\s+|,\s+and\s+"
    r"|(?<=고)\s*,\s*|\s*그리고\s*|\s*그런 다음\s*|\s*그 다음에?\s*"
)
_WORDS: Final = re.compile(r"[^\W_]+")
_EXCERPT: Final = 400


@dataclass(frozen=True, slots=True)
class _Turn:
    """What has happened since the user last spoke."""

    request: str
    called: tuple[str, ...]
    results: tuple[ToolResponse, ...]


class Planner:
    """A policy for `ScriptedChatModel`: a pure function of the prompt."""

    def __init__(self, *, search_tool: str = "search_tools", fits: Fits | None = None) -> None:
        """`fits` tells whether a value satisfies a schema, so that patterns can be met."""
        self._search_tool = search_tool
        self._fits = fits

    def __call__(self, prompt: Prompt) -> Reply:
        turn = _turn(prompt.messages)
        visible = {tool.name: tool for tool in prompt.tools if _is_function(tool)}
        if prompt.tool_choice_forbids_calls:
            return _answer(turn, self._search_tool)
        if self._search_tool in visible and self._search_tool not in turn.called:
            return Wish(name=self._search_tool, arguments={"queries": needs_of(turn.request)})
        if any(name != self._search_tool for name in turn.called):
            return _answer(turn, self._search_tool)
        chosen = list(self._chosen(turn, visible))
        if not chosen:
            return _answer(turn, self._search_tool)
        return [
            Wish(name=tool.name, arguments=example_arguments(tool.parameters, need, fits=self._fits))
            for tool, need in chosen
        ]

    def _chosen(self, turn: _Turn, visible: Mapping[str, ToolSpec]) -> Iterator[tuple[ToolSpec, str]]:
        """For each need the best found tool that can be seen; without any, the one that shares most words."""
        found = [entry for result in turn.results if result.name == self._search_tool for entry in found_tools(result)]
        taken: set[str] = set()
        for need in dict.fromkeys(entry.get("for", "") for entry in found):
            names = [entry["name"] for entry in found if entry.get("for", "") == need]
            tools = [visible[name] for name in names if name in visible and name not in taken]
            if tools:
                best = _best(tools, need or turn.request)
                taken.add(best.name)
                yield best, need or turn.request
        if not taken:
            known = [tool for name, tool in visible.items() if name != self._search_tool]
            best = max(known, key=lambda tool: _shared_words(tool, turn.request), default=None)
            if best is not None and _shared_words(best, turn.request):
                yield best, turn.request


def needs_of(request: str) -> list[str]:
    """The separate needs of a request, at most five; one that has no parts is one need.

    A part that only points back ("restart it") is told together with what it points to.
    """
    clauses = [clause for part in _NEED_ENDS.split(request) for clause in _clauses(part)]
    parts = [part.strip() for part in clauses]
    parts = [part for part in parts if len(part.split()) > 1 or len(part) > 12]
    needs: list[str] = []
    subject = ""
    for place, part in enumerate(parts):
        if subject and _POINTS_BACK.search(part):
            needs.append(f"{subject}. {part}")
            continue
        subject = part
        pointed_at = place + 1 < len(parts) and _POINTS_BACK.search(parts[place + 1])
        if not (pointed_at and _STATEMENT.match(part)) or deeds_of_request(part):
            needs.append(part)
    return needs[:_MAX_QUERIES] if len(needs) > 1 else [request.strip() or "help"]


def _clauses(part: str) -> list[str]:
    """The part, cut where an "and" leads to another deed; "search and replace" and "bread and butter" stay whole."""
    pieces = re.split(r"\s+and\s+", part)
    clauses = pieces[:1]
    for piece in pieces[1:]:
        words = piece.split()
        if len(words) > 2 and len(clauses[-1].split()) > 2 and is_deed(words[0]):
            clauses.append(piece)
        else:
            clauses[-1] += f" and {piece}"
    return clauses


def _best(tools: Sequence[ToolSpec], need: str) -> ToolSpec:
    """Of tools in the order in which they were found: one that does the kind of deed the need asks for, if there is."""
    wanted = deeds_of_request(need)

    def worth(place: int) -> float:
        tool = tools[place]
        does = deeds_of_tool(tool.name)
        fits = 0 if not wanted or not does else 2 if wanted & does else -2
        old = 2 if "deprecated" in tool.description[:_EXCERPT].casefold() else 0
        return fits - old - place

    return tools[max(range(len(tools)), key=worth)]


def found_tools(result: ToolResponse) -> list[dict[str, str]]:
    """The tools that a search result lists, as its reader sees them: name, and the need it was found for."""
    try:
        body = decode_json(text_of(result.content))
    except ValueError:
        return []
    entries = cast("Mapping[str, Any]", body).get("tools") if isinstance(body, Mapping) else None
    listed = cast("Sequence[object]", entries) if isinstance(entries, list) else ()
    return [cast("dict[str, str]", entry) for entry in listed if isinstance(entry, dict) and "name" in entry]


def _turn(messages: Sequence[Message]) -> _Turn:
    last = max((index for index, one in enumerate(messages) if isinstance(one, UserMessage)), default=-1)
    since = messages[last + 1 :]
    user = messages[last] if last >= 0 else None
    return _Turn(
        request=text_of(user.content) if isinstance(user, UserMessage) else "",
        called=tuple(call.name for one in since if isinstance(one, AssistantMessage) for call in one.tool_calls),
        results=tuple(result for one in since if isinstance(one, ToolResponseMessage) for result in one.responses),
    )


def _answer(turn: _Turn, search_tool: str) -> str:
    """What the tools gave, told to the user."""
    told = [result for result in turn.results if result.name != search_tool]
    if not told:
        return f"I found no tool that fits this request: {turn.request[:_EXCERPT]}"
    lines = [f"{result.name}: {text_of(result.content)[:_EXCERPT]}" for result in told]
    return "Here is what the tools returned.\n" + "\n".join(lines)


def _is_function(tool: ToolSpec) -> bool:
    return tool.wire is None or tool.wire.get("type") == "function"


def _shared_words(tool: ToolSpec, request: str) -> int:
    said = {word.casefold() for word in _WORDS.findall(request) if len(word) > 3}
    return len(said & {word.casefold() for word in _WORDS.findall(f"{tool.name.replace('_', ' ')} {tool.description}")})
