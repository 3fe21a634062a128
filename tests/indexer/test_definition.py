"""The value that everything else holds by the thousand."""

import tracemalloc

from indexer.definition import ToolDefinition
from indexer.document import document_of
from indexer.stores.payload import decode_definition


def test_an_encoded_definition_takes_no_more_memory_than_its_text() -> None:
    definitions = [ToolDefinition(name=f"tool_{number}", description="x" * 2_000) for number in range(200)]
    tracemalloc.start()
    try:
        held = sum(len(definition.encoded) for definition in definitions)
        # Of this module alone: other threads of the process may allocate meanwhile.
        here = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/indexer/definition.py")])
        taken = sum(trace.size for trace in here.traces)
    finally:
        tracemalloc.stop()
    assert held > 200 * 2_000
    assert taken < 1.2 * held


def test_a_definition_that_was_read_back_has_its_parameters_in_its_owners_order() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}, "amount": {}, "by": {}}, "required": ["to"]}
    definition = ToolDefinition(name="pay", description="Pays.", input_schema=schema)
    read_back = decode_definition(definition.encoded)
    assert list(read_back.input_schema["properties"]) == ["to", "amount", "by"]
    assert document_of(read_back) == document_of(definition)
    assert read_back.encoded == definition.encoded


def test_the_order_of_keys_is_no_change() -> None:
    one = ToolDefinition(name="pay", input_schema={"type": "object", "properties": {"a": {}, "b": {}}})
    other = ToolDefinition(name="pay", input_schema={"properties": {"b": {}, "a": {}}, "type": "object"})
    assert one.content_hash == other.content_hash
    assert one.content_hash != ToolDefinition(name="pay", input_schema={"type": "object"}).content_hash


def test_integers_past_64_bits_and_lone_surrogates_are_encoded_too() -> None:
    for odd in (2**70, "\ud800"):
        definition = ToolDefinition(name="odd", input_schema={"type": "object", "default": odd})
        assert decode_definition(definition.encoded).input_schema["default"] == odd
        assert len(definition.content_hash) == 32
