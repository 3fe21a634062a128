"""What a definition should say before a model reads it."""

from dataclasses import replace
from typing import Any

import pytest

from indexer.definition import ToolDefinition
from indexer.lint import LintFinding, lint_tool, lint_tools
from indexer.search import RejectedTool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "description": "The order's number, A-1042 say."}},
}
CLEAR = ToolDefinition(
    name="refund_order",
    description="Refund a paid order. Use it when a customer wants their money back; call it once for each order.",
    input_schema=SCHEMA,
)


def rules(definition: ToolDefinition) -> list[str]:
    return [finding.rule for finding in lint_tool(definition)]


def changed(**fields: Any) -> ToolDefinition:
    return replace(CLEAR, **fields)


@pytest.mark.parametrize(
    "description",
    [
        CLEAR.description,
        "결제된 주문을 환불합니다. 고객이 돈을 돌려받고 싶을 때 사용하고, 주문마다 한 번만 호출하세요.",
        "支払い済みの注文を返金します。顧客が返金を求める場合に使い、注文ごとに一度だけ呼び出してください。",
        "为已付款的订单退款。客户要求退款时使用；每个订单只调用一次。",
    ],
)
def test_a_description_that_says_when_to_use_and_when_to_stop_passes_in_every_language(description: str) -> None:
    assert rules(changed(description=description)) == []


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (changed(description="  "), ["description-missing"]),
        (changed(description="Order refund."), ["description-short", "when-to-use", "when-to-stop"]),
        (changed(description="Refund a paid order when asked."), ["when-to-stop"]),
        (changed(description="Refund one paid order of a customer, never more."), ["when-to-use"]),
        (changed(description=CLEAR.description + " Word." * 200), ["description-long"]),
        (changed(name="run"), ["name-unclear"]),
        (changed(name="do_task2"), ["name-unclear"]),
        (changed(name="refund order!"), ["name-characters"]),
        (changed(name="환불"), ["name-characters"]),
        (changed(input_schema={"type": "no-such-type"}), ["unusable"]),
    ],
)
def test_what_is_missing_is_found(definition: ToolDefinition, expected: list[str]) -> None:
    assert rules(definition) == expected


def test_parameters_without_a_description_are_named_also_nested_ones() -> None:
    schema = {
        "type": "object",
        "properties": {
            "customer": {"$ref": "#/$defs/Customer", "description": "Who gets the money."},
            "Amount": {"type": "number", "title": "Amount"},
            **{f"flag_{number}": {"type": "boolean"} for number in range(5)},
        },
        "$defs": {"Customer": {"type": "object", "properties": {"mail": {"type": "string"}}}},
    }
    [finding] = lint_tool(changed(input_schema=schema))
    assert finding.rule == "parameters-undescribed"
    assert finding.message == ("parameters without a description: Amount, flag_0, flag_1, flag_2, flag_3 and 2 more")


def test_tools_that_cannot_be_told_apart_and_entries_that_cannot_be_read_are_errors() -> None:
    other = changed(name="return_order", namespace="shop")
    refused = RejectedTool(place="line 4", tool="", field="name", reason="is missing", fix="Add it.")
    found = list(lint_tools([CLEAR, other, CLEAR, refused]))
    assert [(one.tool, one.rule, one.level) for one in found] == [
        ("shop/return_order", "description-shared", "error"),
        ("default/refund_order", "registered-twice", "error"),
        ("line 4", "unusable", "error"),
    ]
    assert found[2] == LintFinding(
        tool="line 4", rule="unusable", level="error", message="name: is missing", fix="Add it."
    )
