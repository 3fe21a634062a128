"""Conversation files, good and broken."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.bench.tokens.conversations import Conversation, ConversationError, load_conversations, within

_TURN: dict[str, Any] = {
    "user": "Refund it.",
    "needs": [{"tool": "shop/refund", "queries": ["refund an order"]}],
    "answer": "Done.",
}
_GOOD: dict[str, Any] = {"id": "a", "lang": "en", "kind": "single", "turns": [_TURN]}
_NONE: list[str] = []
_OURS = Path(__file__).parents[4] / "benchmarks" / "conversations"


def _write(path: Path, *records: object) -> Path:
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records), encoding="utf-8")
    return path


def test_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    _write(tmp_path / "b.jsonl", {**_GOOD, "id": "second"})
    _write(tmp_path / "a.jsonl", "", {**_GOOD, "turns": [{**_TURN, "tool_result": "ok"}, {**_TURN, "needs": _NONE}]})

    first, second = load_conversations(tmp_path)

    assert (first.id, second.id) == ("a", "second")
    assert first.turns[0].tool_result == "ok"
    assert first.turns[0].needs[0].queries == ("refund an order",)
    assert first.tools == ("shop/refund",)


def test_conversations_whose_tools_the_catalog_lacks_are_left_out(tmp_path: Path) -> None:
    conversations = load_conversations(_write(tmp_path / "a.jsonl", _GOOD))

    assert within(conversations, {"shop/refund": 0}) == conversations
    assert within(conversations, {"shop/other": 0}) == []


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{]", "line 1: not JSON"),
        ("[]", "line 1: expected an object"),
        ({**_GOOD, "kind": "many"}, "`kind` is 'many'"),
        ({**_GOOD, "turns": []}, "`turns` must be a list that holds something"),
        ({**_GOOD, "turns": ["hello"]}, r"turns\[0\]: expected an object"),
        ({**_GOOD, "turns": [{**_TURN, "user": " "}]}, r"turns\[0\]: `user` must be a text"),
        ({**_GOOD, "turns": [{**_TURN, "needs": [{"tool": "x", "queries": _NONE}]}]}, r"needs\[0\]: `queries`"),
        ({**_GOOD, "turns": [{**_TURN, "needs": [{"tool": "x", "queries": [""]}]}]}, "none of them empty"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        load_conversations(_write(tmp_path / "a.jsonl", record))


def test_an_id_may_stand_once_and_a_folder_may_not_be_empty(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match="no conversations here"):
        load_conversations(tmp_path)
    with pytest.raises(ConversationError, match="stands on an earlier line"):
        load_conversations(_write(tmp_path / "a.jsonl", _GOOD, _GOOD))


def test_the_held_out_conversations_are_no_part_of_the_benchmark_and_need_other_services() -> None:
    benchmark, held_out = load_conversations(_OURS), load_conversations(_OURS / "heldout")

    def services(conversations: Sequence[Conversation]) -> set[str]:
        return {tool.split("/")[0] for one in conversations for tool in one.tools}

    assert not services(benchmark) & services(held_out)
    assert not {one.id for one in benchmark} & {one.id for one in held_out}
    assert len(held_out) >= 20
    assert {one.lang for one in held_out} == {"en", "ko"}
    assert {len(one.turns) for one in held_out} == {1, 2, 3}
    assert {one.kind for one in held_out} == {"single", "multi"}
