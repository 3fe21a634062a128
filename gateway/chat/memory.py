"""What a conversation remembers between requests."""

import asyncio
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from gateway.chat.message_records import message_from_record, message_to_record
from gateway.chat.messages import AssistantMessage, Message, ToolResponseMessage, UserMessage
from gateway.threads import run_in_thread

_Result = TypeVar("_Result")

DEFAULT_MAX_MESSAGES: Final = 100
_FAILED: Final = "(This turn failed before it could be answered.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one run added to a conversation."""

    id: str
    """The run's: a turn that grows round by round is recorded again under it."""
    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    """Catalog tools that the run had discovered, by the names that the model saw."""
    failed: bool = False
    """The run ended with an error: there is no answer, or not the last one."""


class ChatMemory(Protocol):
    """Keeps the turns of conversations; a conversation's key already holds whose it is."""

    async def turns(self, conversation: str) -> Sequence[Turn]:
        """The turns to remember, oldest first, cut to what the memory keeps."""
        ...

    async def record(self, conversation: str, turn: Turn) -> None:
        """Add a turn, or replace the one with its id."""
        ...

    async def clear(self, conversation: str) -> None: ...


class InMemoryChatMemory:
    """Turns in this process; the conversations that were used longest ago are dropped."""

    def __init__(self, *, max_messages: int = DEFAULT_MAX_MESSAGES, max_conversations: int = 1000) -> None:
        self._max_messages = max_messages
        self._max_conversations = max_conversations
        self._conversations: OrderedDict[str, dict[str, Turn]] = OrderedDict()

    async def turns(self, conversation: str) -> Sequence[Turn]:
        known = self._conversations.get(conversation)
        return () if known is None else windowed(list(known.values()), self._max_messages)

    async def record(self, conversation: str, turn: Turn) -> None:
        turns = self._conversations.setdefault(conversation, {})
        turns[turn.id] = turn
        kept = windowed(list(turns.values()), self._max_messages)
        self._conversations[conversation] = {one.id: one for one in kept}
        self._conversations.move_to_end(conversation)
        while len(self._conversations) > self._max_conversations:
            self._conversations.popitem(last=False)

    async def clear(self, conversation: str) -> None:
        self._conversations.pop(conversation, None)


class SQLiteChatMemory:
    """Turns in an SQLite file, which several processes may share; calls run in worker threads."""

    def __init__(self, path: Path | str, *, max_messages: int = DEFAULT_MAX_MESSAGES) -> None:
        """`max_messages` bounds what is remembered; the file keeps everything until it is cleared."""
        self._path = str(path)
        self._max_messages = max_messages
        self._lock = asyncio.Lock()
        self._ready = False

    async def turns(self, conversation: str) -> Sequence[Turn]:
        return windowed(await self._run(partial(self._read, conversation)), self._max_messages)

    async def record(self, conversation: str, turn: Turn) -> None:
        await self._run(partial(self._write, conversation, turn))

    async def clear(self, conversation: str) -> None:
        await self._run(partial(self._delete, conversation))

    async def _run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        async with self._lock:
            return await run_in_thread(partial(self._with_connection, work), name=f"the chat memory {self._path}")

    def _with_connection(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with closing(sqlite3.connect(self._path, timeout=10)) as connection, connection:
            if not self._ready:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS turns (place INTEGER PRIMARY KEY AUTOINCREMENT,"
                    " conversation TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, UNIQUE (conversation, id))"
                )
                self._ready = True
            return work(connection)

    def _read(self, conversation: str, connection: sqlite3.Connection) -> list[Turn]:
        # A turn holds at least one message, so no more turns than messages can be wanted.
        rows = connection.execute(
            "SELECT id, record FROM turns WHERE conversation = ? ORDER BY place DESC LIMIT ?",
            (conversation, self._max_messages),
        ).fetchall()
        return [_turn_from_record(turn_id, record) for turn_id, record in reversed(rows)]

    def _write(self, conversation: str, turn: Turn, connection: sqlite3.Connection) -> None:
        record = {
            "messages": [message_to_record(message) for message in turn.messages],
            "tools": turn.tools,
            "failed": turn.failed,
        }
        connection.execute(
            "INSERT INTO turns (conversation, id, record) VALUES (?, ?, ?)"
            " ON CONFLICT (conversation, id) DO UPDATE SET record = excluded.record",
            (conversation, turn.id, json.dumps(record)),
        )

    def _delete(self, conversation: str, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM turns WHERE conversation = ?", (conversation,))


def _turn_from_record(turn_id: str, text: str) -> Turn:
    record = json.loads(text)
    return Turn(
        id=turn_id,
        messages=tuple(message_from_record(one) for one in record["messages"]),
        tools=tuple(record["tools"]),
        failed=record["failed"],
    )


def windowed(turns: Sequence[Turn], max_messages: int) -> list[Turn]:
    """The newest turns with at most so many messages, beginning with something the user said; never half a turn."""
    kept: list[Turn] = []
    room = max_messages
    for turn in reversed(turns):
        room -= len(turn.messages)
        if room < 0 and kept:
            break
        kept.insert(0, turn)
    while kept and not isinstance(next(iter(kept[0].messages), None), UserMessage):
        kept.pop(0)
    return kept


def history(turns: Iterable[Turn]) -> list[Message]:
    """The messages of turns as a model is to see them; a turn that failed says so in the answer's place."""
    messages: list[Message] = []
    for turn in turns:
        messages += turn.messages
        if turn.failed:
            messages.append(AssistantMessage(content=_FAILED))
    return messages


def without_open_calls(messages: Sequence[Message]) -> list[Message]:
    """The messages without calls that no result follows: model APIs refuse a conversation that leaves one open."""
    closed: list[Message] = []
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            following = messages[place + 1] if place + 1 < len(messages) else None
            answered = (
                {response.id for response in following.responses}
                if isinstance(following, ToolResponseMessage)
                else set[str]()
            )
            calls = tuple(call for call in message.tool_calls if call.id in answered)
            if not calls and not message.content:
                continue
            message = replace(message, tool_calls=calls)
        closed.append(message)
    return closed
