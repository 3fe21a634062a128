import sys
from typing import Any

import pytest

from gateway.chat.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.chat.tokens import TokenCounter
from gateway.chat.tool_layout import lay_out_tools


def tool(
    name: str,
    properties: dict[str, Any] | None = None,
    description: str = "",
    *,
    required: tuple[str, ...] = (),
    definitions: dict[str, Any] | None = None,
) -> ToolSpec:
    parameters = {
        "type": "object",
        "properties": properties or {},
        "required": list(required),
        "$defs": definitions or {},
    }
    return ToolSpec(name=name, description=description, parameters=parameters)


WEATHER = tool(
    "get_weather",
    {
        "city": {"type": "string", "description": "City and country"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "Weather of a city",
    required=("city",),
)


# The `usage` that the API reported for such requests: hmarr/openai-chat-tokens, tests/token-counts.test.ts.
RECORDED: list[tuple[tuple[Message, ...], tuple[ToolSpec, ...], int]] = [
    ((UserMessage(content="hello"),), (), 8),
    ((SystemMessage(content="hello:"),), (), 9),
    (
        (
            SystemMessage(content="# Important: you're the best robot"),
            UserMessage(content="hello robot"),
            AssistantMessage(content="hello world"),
        ),
        (),
        27,
    ),
    ((UserMessage(content="hello"),), (tool("foo"),), 31),
    ((UserMessage(content="hello"),), (tool("foo", description="Do a foo"),), 36),
    (
        (UserMessage(content="hello"),),
        (
            tool(
                "bing_bong",
                {"foo": {"type": "string"}, "bar": {"type": "number", "description": "A number"}},
                "Do a bing bong",
            ),
        ),
        57,
    ),
    ((SystemMessage(content="Hello"), UserMessage(content="Hi there")), (tool("do_stuff"),), 35),
    ((SystemMessage(content="Hello:"), UserMessage(content="Hi there")), (tool("do_stuff"),), 35),
]


@pytest.mark.parametrize(("messages", "tools", "reported"), RECORDED)
def test_counts_equal_the_usage_that_the_provider_reported(
    messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], reported: int
) -> None:
    assert TokenCounter("cl100k_base").count_prompt(Prompt(messages=messages, tools=tools)) == reported


def test_text_is_counted_with_the_vocabulary_asked_for() -> None:
    assert TokenCounter("cl100k_base").count_text("안녕하세요") == 5
    assert TokenCounter("o200k_base").count_text("안녕하세요") == 2


def test_special_token_spellings_and_lone_surrogates_are_plain_text() -> None:
    counter = TokenCounter()
    assert counter.count_text("<|endoftext|>") > 1
    assert counter.count_text("a\ud800b") == counter.count_text("a\ufffdb")
    assert counter.count_text("") == 0


def test_tools_are_laid_out_as_a_typescript_namespace() -> None:
    assert lay_out_tools([WEATHER, tool("ping")], "openai") == (
        "# Tools\n\n## functions\n\nnamespace functions {\n\n"
        "// Weather of a city\n"
        "type get_weather = (_: {\n"
        "// City and country\n"
        "city: string,\n"
        'unit?: "celsius" | "fahrenheit", // default: celsius\n'
        "}) => any;\n\n"
        "type ping = () => any;\n\n"
        "} // namespace functions"
    )


def test_nested_alternative_and_referenced_schemas_are_written_out_once() -> None:
    schema = tool(
        "book",
        {
            "guest": {"$ref": "#/$defs/Person"},
            "host": {"$ref": "#/$defs/Person"},
            "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "seats": {"type": "array", "items": {"type": ["integer", "string"]}},
            "extra": {"type": "object"},
            "odd": {"$ref": "#/$defs/Missing"},
        },
        definitions={"Person": {"type": "object", "properties": {"friend": {"$ref": "#/$defs/Person"}}}},
    )
    text = lay_out_tools([schema], "openai")
    assert "guest?: {\n  friend?: Person,\n}," in text
    assert "host?: Person," in text
    assert "when?: string | null," in text
    assert "seats?: Array<number | string>," in text
    assert "extra?: object," in text
    assert "odd?: Missing," in text


def test_json_layout_keeps_the_whole_schema_and_a_clients_own_object() -> None:
    own = ToolSpec(name="x", description="", parameters={}, wire={"type": "function", "function": {"name": "mine"}})
    text = lay_out_tools([WEATHER, own], "json")
    assert '"enum": ["celsius", "fahrenheit"]' in text
    assert '{"type": "function", "function": {"name": "mine"}}\n' in text


@pytest.mark.parametrize("layout", ["openai", "json"])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_streamed_count_of_many_tools_equals_the_count_of_the_whole_text(encoding: Any, layout: Any) -> None:
    counter = TokenCounter(encoding, layout)
    texts = ["", "Ends with a stop.", "두 줄\n설명", "// slashes //", "(bracket)", "  spaces  "]
    tools = [tool(f"type_{n}", {"a": {"type": "string"}} if n % 2 else None, text) for n, text in enumerate(texts)]
    assert counter.count_tools(tools) == counter.count_text(lay_out_tools(tools, layout))


def test_calls_results_and_choice_are_part_of_the_request() -> None:
    counter = TokenCounter()
    call = ToolCall(id="call_1", name="get_weather", arguments='{"city": "Seoul"}')
    response = ToolResponse(id="call_1", name="get_weather", content="24 degrees")
    question = Prompt(messages=(UserMessage(content="weather in Seoul?"),), tools=(WEATHER,))
    answered = Prompt(
        messages=(
            *question.messages,
            AssistantMessage(tool_calls=(call,)),
            ToolResponseMessage(responses=(response,)),
        ),
        tools=(WEATHER,),
    )
    forced = Prompt(
        messages=question.messages,
        tools=(WEATHER,),
        options=ChatOptions(tool_choice={"type": "function", "function": {"name": "get_weather"}}),
    )
    spoken = sum(counter.count_text(text) for text in ("get_weather", '{"city": "Seoul"}', "24 degrees"))
    overheads = 3 + 1 + 3 + 3 + 1
    assert counter.count_prompt(answered) == counter.count_prompt(question) + spoken + overheads
    assert counter.count_prompt(forced) == counter.count_prompt(question) + 4 + counter.count_text("get_weather")


def test_no_tools_cost_nothing() -> None:
    assert TokenCounter().count_tools([]) == 0


def test_counter_says_how_it_counts() -> None:
    assert "o200k_base" in TokenCounter().note
    assert "TypeScript" in TokenCounter().note


def test_counting_does_not_unpack_every_vocabulary_of_the_package() -> None:
    TokenCounter().count_text("warm")
    assert "bpe_openai" not in sys.modules
