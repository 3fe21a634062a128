from gateway.bench.speed.short_tools import mean_tokens, shortened
from indexer import ToolDefinition


def test_a_tool_keeps_its_first_sentence_and_its_first_parameters_and_what_they_must_be() -> None:
    names = [f"parameter_{number}" for number in range(12)]
    parameters = {
        name: {"type": "integer", "enum": [1, 2], "description": "Says how many. Then much more.", "minimum": 0}
        for name in names
    }
    tool = ToolDefinition(
        name="count_orders",
        description="Counts the orders. See also cancel_order.",
        input_schema={"type": "object", "properties": parameters, "required": [names[0], names[11]]},
        output_schema={"type": "object"},
    )
    cut = shortened(tool)
    assert (cut.key, cut.description, cut.output_schema) == (tool.key, "Counts the orders.", None)
    assert list(cut.input_schema["properties"]) == names[:8]
    assert cut.input_schema["properties"][names[0]] == {
        "type": "integer",
        "enum": [1, 2],
        "description": "Says how many.",
    }
    assert cut.input_schema["required"] == [names[0]]


def test_a_parameter_without_a_type_is_a_text_and_tokens_are_those_a_model_would_read() -> None:
    bare = shortened(ToolDefinition(name="a", input_schema={"type": "object", "properties": {"query": {}}}))
    assert bare.input_schema["properties"] == {"query": {"type": "string", "description": ""}}
    longer = ToolDefinition(name="a", description="Says more than that.", input_schema=bare.input_schema)
    assert 0 < mean_tokens([bare]) < mean_tokens([bare, longer]) < mean_tokens([longer])
