"""What of a definition becomes text."""

from typing import Any

import pytest

from indexer.definition import ToolDefinition
from indexer.document import (
    DENSE_TEXT_LIMIT,
    MAX_PARAMETERS,
    dense_text,
    document_of,
    identifier_parts,
    short_text,
    split_identifier,
)


def _tool(schema: dict[str, Any], **fields: Any) -> ToolDefinition:
    return ToolDefinition(name="send_invoice", input_schema=schema, **fields)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("get_weather", ["get", "weather"]),
        ("getHTTPResponse", ["get", "HTTP", "Response"]),
        ("list-s3-buckets", ["list", "s3", "buckets"]),
        ("ec2.DescribeInstances", ["ec2", "Describe", "Instances"]),
        ("OAuth2Token", ["OAuth2", "Token"]),
        ("listAPIs", ["list", "APIs"]),
        ("render3D", ["render3", "D"]),
        ("날씨_조회", ["날씨", "조회"]),
        ("___", []),
    ],
)
def test_identifiers_part_at_case_separators_and_digits(identifier: str, words: list[str]) -> None:
    assert identifier_parts(identifier) == words
    assert split_identifier(identifier) == " ".join(words)


def test_parameters_are_found_through_references_combiners_nesting_and_items() -> None:
    document = document_of(
        _tool(
            {
                "type": "object",
                "$defs": {"Customer": {"properties": {"email": {"description": "Where to send it"}}}},
                "properties": {
                    "customer": {"$ref": "#/$defs/Customer", "description": "Who pays"},
                    "due": {"anyOf": [{"properties": {"days": {"type": "integer"}}}, {"type": "string"}]},
                    "lines": {"type": "array", "items": {"properties": {"amount": {"title": "Net amount"}}}},
                },
                "allOf": [{"properties": {"currency": {"description": "ISO\n 4217"}}}],
            }
        )
    )

    described = dict(
        zip(document.parameter_names.split("\n"), document.parameter_descriptions.split("\n"), strict=True)
    )
    assert described == {
        "customer": "Who pays",
        "due": "",
        "lines": "",
        "email": "Where to send it",
        "days": "",
        "amount": "Net amount",
        "currency": "ISO 4217",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}}},
        {"$defs": {"N": {"properties": {"child": {"$ref": "#/$defs/N"}}}}, "properties": {"n": {"$ref": "#/$defs/N"}}},
        {"properties": {"a": {"$ref": "#/nowhere/at~1all"}, "b": {"$ref": "https://example.com/x"}, "c": True}},
        {"properties": ["not", "a", "mapping"], "anyOf": "nor a list"},
    ],
)
def test_circular_broken_and_odd_schemas_are_walked_once_and_end(schema: dict[str, Any]) -> None:
    names = document_of(_tool(schema)).parameter_names.split("\n")

    assert len(names) == len(set(names))


def test_schemas_are_walked_within_bounds_of_depth_and_size() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for level in range(40):
        deep = {"properties": {f"level{level}": deep}}
    wide = {"properties": {f"field{number}": {"type": "string"} for number in range(MAX_PARAMETERS + 100)}}

    assert "level39" in document_of(_tool(deep)).parameter_names
    assert "level0\n" not in document_of(_tool(deep)).parameter_names + "\n"
    assert len(document_of(_tool(wide)).parameter_names.split("\n")) == MAX_PARAMETERS


def test_the_default_namespace_and_a_title_that_repeats_the_name_say_nothing() -> None:
    document = document_of(_tool({}, title="send_invoice"))

    assert (document.namespace, document.title, document.parameter_names) == ("", "", "")


def test_dense_text_puts_the_most_telling_words_first_and_is_cut_at_a_word() -> None:
    schema = {"properties": {"customerId": {"description": "Who pays"}}}
    definition = _tool(schema, namespace="BillingApi", title="Send an invoice", description="Sends   it\nby e-mail.")

    assert dense_text(document_of(definition)) == (
        "billing api. send invoice. Send an invoice. Sends it by e-mail.. customer id Who pays"
    )
    assert short_text(document_of(definition)) == "send invoice. Send an invoice. Sends it by e-mail."
    cut = dense_text(document_of(_tool({}, description="word " * 1000)))
    assert len(cut) <= DENSE_TEXT_LIMIT
    assert cut.endswith("word")
