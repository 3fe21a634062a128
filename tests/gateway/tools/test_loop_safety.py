"""A run that repeats itself is answered in words, and then ended."""

import json
from typing import Any

import pytest

from gateway.chat.messages import ToolCall, ToolResponse
from gateway.errors import AgentLoopDetectedError
from gateway.settings import LoopSafetySettings
from gateway.tools.callback import CompletionKeys, ToolMetadata
from gateway.tools.loop_safety import ToolExecutionMetrics, canonical_arguments

PLAIN = ToolMetadata()
POLLER = ToolMetadata(repeatable=True)
COLLECTOR = ToolMetadata(completion=CompletionKeys(("site",)))


class Run:
    """Makes calls as the manager does."""

    def __init__(self, settings: LoopSafetySettings | None = None) -> None:
        self.metrics = ToolExecutionMetrics(settings)
        self._id = 0

    def call(
        self,
        metadata: ToolMetadata,
        arguments: Any = None,
        *,
        name: str = "tool",
        gives: str = "something",
        fails: bool = False,
    ) -> str:
        """How a call ended: what the guard said, or the tool."""
        self._id += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        call = ToolCall(id=str(self._id), name=name, arguments=text)
        refusal = self.metrics.admit(call, metadata)
        if refusal is not None:
            return refusal.split(":")[0]
        self.metrics.finished(call, metadata, ToolResponse(id=call.id, name=name, content=gives, is_error=fails))
        return "ran"


def test_the_same_call_in_a_row_is_stopped_and_the_sixth_stop_ends_the_run() -> None:
    run = Run()
    assert run.call(PLAIN, {"a": 1}) == "ran"
    assert [run.call(PLAIN, {"a": 1}) for _ in range(5)] == ["STOP"] * 5
    with pytest.raises(AgentLoopDetectedError):
        run.call(PLAIN, {"a": 1})


def test_the_same_call_after_another_one_may_run() -> None:
    run = Run()
    calls = [run.call(PLAIN, {"a": 1}), run.call(PLAIN, {"a": 2}), run.call(PLAIN, {"a": 1})]
    assert calls == ["ran", "ran", "ran"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}'),
        ('{"a": 1.0}', '{"a": 1}'),
        ('{"a": [1, {"c": " x "}]}', '{"a":[1.0,{"c":"x"}]}'),
        ("", "{}"),
        ("{broken", " {broken "),
    ],
)
def test_calls_that_mean_the_same_are_the_same(first: str, second: str) -> None:
    assert canonical_arguments(first) == canonical_arguments(second)
    run = Run()
    run.call(PLAIN, first or "{}")
    assert run.call(PLAIN, second) == "STOP"


def test_truth_is_not_a_number() -> None:
    assert canonical_arguments('{"a": true}') != canonical_arguments('{"a": 1}')


@pytest.mark.parametrize("fate", [{"fails": True}, {"gives": "[]"}, {"gives": " "}, {"gives": "null"}])
def test_a_failure_and_an_empty_result_count_as_done_for_their_arguments(fate: dict[str, Any]) -> None:
    run = Run()
    assert run.call(PLAIN, {"a": 1}, **fate) == "ran"
    assert run.call(PLAIN, {"a": 2}) == "ran"
    assert run.call(PLAIN, {"a": 1}) == "BLOCKED"


def test_the_fourth_block_ends_the_run() -> None:
    run = Run()
    run.call(PLAIN, {"a": 1}, fails=True)
    assert [run.call(PLAIN, {"a": 1}) for _ in range(3)] == ["BLOCKED"] * 3
    with pytest.raises(AgentLoopDetectedError, match="tool was asked for again and again"):
        run.call(PLAIN, {"a": 1})


def test_a_poller_may_repeat_itself_even_when_it_finds_nothing_yet() -> None:
    run = Run()
    assert [run.call(POLLER, gives="[]") for _ in range(9)] == ["ran"] * 9
    assert run.call(POLLER, fails=True) == "ran"
    assert run.call(POLLER) == "BLOCKED"


def test_a_target_is_collected_once_whatever_else_the_arguments_say() -> None:
    run = Run()
    assert run.call(COLLECTOR, {"site": "A", "depth": 1}) == "ran"
    assert run.call(COLLECTOR, {"site": "B"}) == "ran"
    assert run.call(COLLECTOR, {"site": "A", "depth": 2}) == "BLOCKED"


def test_a_collector_is_blocked_before_it_is_stopped() -> None:
    run = Run()
    run.call(COLLECTOR, {"site": "A"})
    assert run.call(COLLECTOR, {"site": "A"}) == "BLOCKED"
    assert run.metrics.stops == 0


def test_of_two_calls_for_one_target_in_the_same_round_the_second_is_blocked() -> None:
    metrics = ToolExecutionMetrics()
    round_of_calls = [
        ToolCall(id=str(depth), name="collect", arguments=json.dumps({"site": "A", "depth": depth})) for depth in (1, 2)
    ]
    first, second = [metrics.admit(call, COLLECTOR) for call in round_of_calls]
    assert first is None
    assert second is not None and second.startswith("BLOCKED")


def test_everything_covers_each_single_target_but_not_the_other_way_round() -> None:
    run = Run()
    assert run.call(COLLECTOR, {"site": "A"}) == "ran"
    assert run.call(COLLECTOR, {"site": "ALL"}) == "ran"
    assert run.call(COLLECTOR, {"site": "B"}) == "BLOCKED"
    assert run.call(COLLECTOR, {"site": "*"}) == "BLOCKED"


def test_a_list_of_targets_runs_as_long_as_one_of_them_is_new() -> None:
    run = Run()
    assert run.call(COLLECTOR, {"site": ["A", "B"]}) == "ran"
    assert run.call(COLLECTOR, {"site": "B"}) == "BLOCKED"
    assert run.call(COLLECTOR, {"site": ["B", "C"]}) == "ran"
    assert run.call(COLLECTOR, {"site": ["C", "A"]}) == "BLOCKED"


def test_tools_do_not_share_what_is_done() -> None:
    run = Run()
    assert run.call(COLLECTOR, {"site": "A"}, name="one") == "ran"
    assert run.call(COLLECTOR, {"site": "A"}, name="two") == "ran"


def test_the_thresholds_can_be_set() -> None:
    run = Run(LoopSafetySettings(max_blocks=0, max_stops=0))
    run.call(PLAIN)
    with pytest.raises(AgentLoopDetectedError):
        run.call(PLAIN)


def test_the_report_says_what_ran_and_what_did_not() -> None:
    run = Run()
    run.call(PLAIN, {"a": 1}, fails=True)
    run.call(PLAIN, {"a": 1})
    run.call(PLAIN, {"a": 2}, gives="[]")
    run.call(POLLER, name="poll")
    assert run.metrics.report() == {
        "calls": 4,
        "ran": 3,
        "failed": 1,
        "empty": 1,
        "blocked": 1,
        "stopped": 0,
        "tools": {"tool": 2, "poll": 1},
    }


def test_lists_that_multiply_are_one_target() -> None:
    run = Run()
    keys = ToolMetadata(completion=CompletionKeys(("a", "b", "c")))
    many = list(range(1_000))
    assert run.call(keys, {"a": many, "b": many, "c": many}) == "ran"
    assert run.call(keys, {"a": many, "b": many, "c": many}) != "ran"
