"""What a conversation remembers."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from gateway.chat.memory import ChatMemory, InMemoryChatMemory, SQLiteChatMemory, Turn, history, without_open_calls
from gateway.chat.message_records import message_from_record, message_to_record
from gateway.chat.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)

CALL = ToolCall(id="c", name="f", arguments="{}", extra={"signature": "s"})
EVERY_KIND: tuple[Message, ...] = (
    SystemMessage(content="s", extra={"role": "developer"}),
    UserMessage(content=({"type": "text", "text": "hi"},)),
    AssistantMessage(content="x", tool_calls=(CALL,), reasoning="hm", extra={"reasoning": "hm"}),
    ToolResponseMessage(responses=(ToolResponse(id="c", name="f", content="ok", is_error=True),)),
)


def turn(name: str, *messages: Message, failed: bool = False) -> Turn:
    return Turn(
        id=name, messages=messages or (UserMessage(content=name), AssistantMessage(content=name)), failed=failed
    )


Make = Callable[[int], ChatMemory]


@pytest.fixture(params=["in memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "in memory":
        return lambda most: InMemoryChatMemory(max_messages=most)
    return lambda most: SQLiteChatMemory(tmp_path / "memory.sqlite", max_messages=most)


async def ids(memory: ChatMemory, conversation: str = "a") -> list[str]:
    return [one.id for one in await memory.turns(conversation)]


async def test_conversations_are_kept_apart_and_can_be_cleared(make: Make) -> None:
    memory = make(10)
    await memory.record("a", turn("1"))
    await memory.record("b", turn("2"))
    assert (await ids(memory), await ids(memory, "b"), await ids(memory, "c")) == (["1"], ["2"], [])
    await memory.clear("a")
    assert (await ids(memory), await ids(memory, "b")) == ([], ["2"])


async def test_a_turn_that_grows_keeps_its_place(make: Make) -> None:
    memory = make(10)
    await memory.record("a", turn("1"))
    await memory.record("a", turn("2"))
    grown = Turn(id="1", messages=(UserMessage(content="more"),), tools=("f",), failed=True)
    await memory.record("a", grown)
    assert (await memory.turns("a"))[0] == grown
    assert await ids(memory) == ["1", "2"]


async def test_every_kind_of_message_is_remembered_as_it_was(make: Make) -> None:
    memory = make(10)
    kept = Turn(id="1", messages=(UserMessage(content="first"), *EVERY_KIND), tools=("f", "g"))
    await memory.record("a", kept)
    assert list(await memory.turns("a")) == [kept]


async def test_the_window_drops_whole_turns_and_never_begins_with_a_result(make: Make) -> None:
    memory = make(4)
    asked = AssistantMessage(tool_calls=(CALL,))
    result = ToolResponseMessage(responses=(ToolResponse(id="c", name="f", content="ok"),))
    await memory.record("a", turn("1"))
    await memory.record("a", turn("2", UserMessage(content="2"), asked))
    await memory.record("a", turn("3", result, AssistantMessage(content="3")))
    assert await ids(memory) == ["2", "3"]
    await memory.record("a", turn("4"))
    assert await ids(memory) == ["4"]


async def test_one_turn_that_is_larger_than_the_window_is_kept_whole(make: Make) -> None:
    memory = make(2)
    await memory.record("a", turn("1", *[UserMessage(content=str(number)) for number in range(5)]))
    assert await ids(memory) == ["1"]


async def test_many_writers_lose_nothing(make: Make) -> None:
    memory = make(100)
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(memory.record, "a", turn(str(number)))
    assert sorted(await ids(memory), key=int) == [str(number) for number in range(20)]


async def test_an_sqlite_memory_survives_its_process(tmp_path: Path) -> None:
    await SQLiteChatMemory(tmp_path / "m.sqlite").record("a", turn("1"))
    assert await ids(SQLiteChatMemory(tmp_path / "m.sqlite")) == ["1"]


async def test_the_conversations_used_longest_ago_are_dropped() -> None:
    memory = InMemoryChatMemory(max_conversations=2)
    for conversation in "abac":
        await memory.record(conversation, turn(conversation))
    assert [bool(await memory.turns(one)) for one in "abc"] == [True, False, True]


def test_a_failed_turn_says_so_in_the_answers_place() -> None:
    messages = history([turn("1", UserMessage(content="x"), failed=True)])
    assert isinstance(messages[1], AssistantMessage) and "failed" in str(messages[1].content)


def test_calls_without_results_are_left_out() -> None:
    other = ToolCall(id="d", name="g", arguments="{}")
    asked = AssistantMessage(content="", tool_calls=(CALL, other))
    result = ToolResponseMessage(responses=(ToolResponse(id="c", name="f", content="ok"),))
    assert without_open_calls([asked, result]) == [AssistantMessage(tool_calls=(CALL,)), result]
    assert without_open_calls([asked, UserMessage(content="x")]) == [UserMessage(content="x")]
    said = AssistantMessage(content="hm", tool_calls=(other,))
    assert without_open_calls([said]) == [AssistantMessage(content="hm")]


def test_an_unknown_kind_of_record_is_refused() -> None:
    assert [message_from_record(message_to_record(one)) for one in EVERY_KIND] == list(EVERY_KIND)
    with pytest.raises(ValueError, match="'robot'"):
        message_from_record({"kind": "robot"})
