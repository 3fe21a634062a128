"""Results that look real and say that they are not."""

from itertools import islice
from typing import Any

import pytest

from gateway.registry.simulator import SIMULATION_NOTE, simulate
from indexer import ToolDefinition, arguments_problem

BUCKET_LIST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "Buckets": {"type": "array", "items": {"$ref": "#/$defs/Bucket"}},
        "Owner": {"anyOf": [{"$ref": "#/$defs/Owner"}, {"type": "null"}]},
        "Total": {"type": "integer", "minimum": 3, "maximum": 4},
    },
    "required": ["Buckets", "Total"],
    "$defs": {
        "Bucket": {
            "type": "object",
            "properties": {
                "Name": {"type": "string", "maxLength": 5},
                "CreationDate": {"type": "string", "format": "date-time"},
                "Region": {"type": "string", "enum": ["eu", "us"]},
                "BucketArn": {"type": "string"},
                "Versioned": {"type": ["boolean", "null"]},
                "Copies": {"type": "array", "items": {"$ref": "#/$defs/Bucket"}},
            },
            "required": ["Name", "Region"],
        },
        "Owner": {"type": "object", "properties": {"Email": {"type": "string", "format": "email"}}},
    },
}


def tool(output_schema: dict[str, Any] | None) -> ToolDefinition:
    return ToolDefinition(name="ListBuckets", namespace="aws-s3", output_schema=output_schema)


def test_a_result_has_the_shape_of_the_output_schema_and_is_marked() -> None:
    answer = simulate(tool(BUCKET_LIST), {})
    assert answer["simulated"] is True
    assert answer["note"] == SIMULATION_NOTE
    assert answer["tool"] == "aws-s3/ListBuckets"
    assert arguments_problem(BUCKET_LIST, answer["result"]) is None
    assert "@" in answer["result"]["Owner"]["Email"]


def test_the_same_call_gives_the_same_result_and_another_call_another() -> None:
    first = simulate(tool(BUCKET_LIST), {"Prefix": "a"})
    assert simulate(tool(BUCKET_LIST), {"Prefix": "a"}) == first
    assert simulate(tool(BUCKET_LIST), {"Prefix": "b"})["result"] != first["result"]


def test_arguments_come_back_in_fields_of_their_name() -> None:
    result = simulate(tool(BUCKET_LIST), {"name": "logs", "region": "us"})["result"]
    assert result["Buckets"][0]["Name"] == "logs"
    assert result["Buckets"][0]["Region"] == "us"


def test_a_tool_without_an_output_schema_reports_success() -> None:
    assert simulate(tool(None), {"x": 1})["result"] == {"status": "succeeded"}


def test_required_fields_are_never_cut() -> None:
    names = [f"field_{number}" for number in range(40)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    assert list(simulate(tool(schema), {})["result"]) == names


def test_a_schema_that_branches_into_itself_gives_a_small_result() -> None:
    branches = {f"branch_{number}": {"$ref": "#"} for number in range(12)}
    result = simulate(tool({"type": "object", "properties": branches, "required": list(branches)}), {})
    assert len(str(result)) < 50_000


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"$ref": "#/$defs/missing"}, {"anyOf": []}, {"type": "object", "properties": {"a": True}}, {}],
)
def test_a_schema_that_says_nothing_still_gives_a_result(schema: dict[str, Any]) -> None:
    assert "result" in simulate(tool(schema), {})


def test_results_of_real_operations_fit_their_own_schemas() -> None:
    pytest.importorskip("botocore", reason="needs the extra toolscout[aws]")
    from indexer.sources.aws import AwsSource

    checked = 0
    for entry in islice(AwsSource().entries(), 0, 2_000, 50):
        if isinstance(entry, ToolDefinition) and entry.output_schema is not None:
            result = simulate(entry, {})["result"]
            assert arguments_problem(entry.output_schema, result) is None, entry.key
            checked += 1
    assert checked > 10
