"""Conversations with the tools that they need, read from JSON lines.

One object a line: `id`, `lang`, `kind` ("single" or "multi": whether any turn needs several tools), and `turns`, each
with `user`, `needs`, `answer` and, if the tools are to say something of their own, `tool_result`. A need names its
`tool` as NAMESPACE/NAME and the `queries` that a model would search with, in the order it would try them; they are
written by someone who has not seen the names of the tools.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from gateway.errors import ConfigurationError

Kind = Literal["single", "multi"]

DEFAULT_TOOL_RESULT: Final = '{"ok": true, "id": "res-0042", "status": "done"}'


class ConversationError(ConfigurationError):
    """A conversation file that cannot be used; names the file and the line."""


@dataclass(frozen=True, slots=True)
class Need:
    """A tool that a turn needs, and the words to search it with."""

    tool: str
    """NAMESPACE/NAME."""
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the user says, and what it takes to answer."""

    user: str
    needs: tuple[Need, ...]
    answer: str
    tool_result: str = DEFAULT_TOOL_RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of one or more turns."""

    id: str
    lang: str
    kind: Kind
    turns: tuple[Turn, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """Every tool that it needs, once, in order of need."""
        return tuple(dict.fromkeys(need.tool for turn in self.turns for need in turn.needs))


def load_conversations(path: Path) -> list[Conversation]:
    """Conversations of a file, or of every `*.jsonl` file of a folder, by name. Raises: ConversationError."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ConversationError(f"{path}: no conversations here; write them as *.jsonl, one a line")
    found: dict[str, Conversation] = {}
    for file in files:
        for place, record in _records(file):
            conversation = _conversation(record, place)
            if conversation.id in found:
                raise ConversationError(
                    f"{place}: the id {conversation.id!r} stands on an earlier line; give it its own"
                )
            found[conversation.id] = conversation
    if not found:
        raise ConversationError(f"{path}: holds no conversation")
    return list(found.values())


def within(conversations: Iterable[Conversation], known: Mapping[str, object] | frozenset[str]) -> list[Conversation]:
    """Those whose tools are all in the catalog."""
    return [one for one in conversations if all(tool in known for tool in one.tools)]


def _records(file: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConversationError(f"{file}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        try:
            record: object = json.loads(line)
        except ValueError as error:
            raise ConversationError(f"{place}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise ConversationError(f"{place}: expected an object with id, lang, kind and turns")
        yield place, cast("Mapping[str, Any]", record)


def _conversation(record: Mapping[str, Any], place: str) -> Conversation:
    turns = _list(record, "turns", place)
    kind = _text(record, "kind", place)
    if kind not in get_args(Kind):
        raise ConversationError(f"{place}: `kind` is {kind!r}; write single or multi")
    return Conversation(
        id=_text(record, "id", place),
        lang=_text(record, "lang", place),
        kind=cast("Kind", kind),
        turns=tuple(_turn(turn, f"{place}, turns[{number}]") for number, turn in enumerate(turns)),
    )


def _turn(record: object, place: str) -> Turn:
    if not isinstance(record, dict):
        raise ConversationError(f"{place}: expected an object with user, needs and answer")
    turn = cast("Mapping[str, Any]", record)
    needs = _list(turn, "needs", place, may_be_empty=True)
    return Turn(
        user=_text(turn, "user", place),
        needs=tuple(_need(need, f"{place}.needs[{number}]") for number, need in enumerate(needs)),
        answer=_text(turn, "answer", place),
        tool_result=str(turn.get("tool_result") or DEFAULT_TOOL_RESULT),
    )


def _need(record: object, place: str) -> Need:
    if not isinstance(record, dict):
        raise ConversationError(f"{place}: expected an object with tool and queries")
    need = cast("Mapping[str, Any]", record)
    queries = _list(need, "queries", place)
    if not all(isinstance(query, str) and query.strip() for query in queries):
        raise ConversationError(f"{place}: `queries` must be texts, none of them empty")
    return Need(_text(need, "tool", place), tuple(cast("Sequence[str]", queries)))


def _text(record: Mapping[str, Any], field: str, place: str) -> str:
    value = record.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ConversationError(f"{place}: `{field}` must be a text")
    return value


def _list(record: Mapping[str, Any], field: str, place: str, *, may_be_empty: bool = False) -> Sequence[object]:
    value = record.get(field)
    if not isinstance(value, list) or not (value or may_be_empty):
        raise ConversationError(f"{place}: `{field}` must be a list{'' if may_be_empty else ' that holds something'}")
    return cast("Sequence[object]", value)
