"""The scripted model and its planner."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gateway.chat.exchange import RoundFinished, TextDelta, Usage
from gateway.chat.messages import AssistantMessage, ToolResponse, ToolResponseMessage, UserMessage
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.errors import ModelError, TruncatedStreamError
from gateway.models.example_arguments import example_arguments
from gateway.models.planner import Planner, needs_of
from gateway.models.scripted import Cut, ScriptedChatModel, wish, with_calls

SEARCH = ToolSpec(name="search_tools", description="Find tools.", parameters={"type": "object"})
REFUND = ToolSpec(
    name="refund_order",
    description="Refund an order.",
    parameters={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
)


def ask(text: str, *tools: ToolSpec, **options: Any) -> Prompt:
    return Prompt(messages=(UserMessage(content=text),), tools=tools, options=ChatOptions(**options))


async def test_a_script_is_followed_in_order_and_its_prompts_are_kept() -> None:
    model = ScriptedChatModel("one")
    model.enqueue(wish("f", a=1), with_calls("both", wish("g")))
    assert (await model.call(ask("x"))).message.content == "one"
    called = (await model.call(ask("y"))).message
    assert [(call.name, call.arguments) for call in called.tool_calls] == [("f", '{"a":1}')]
    assert (await model.call(ask("z"))).message.content == "both"
    assert [prompt.messages[0] for prompt in model.prompts] == [UserMessage(content=text) for text in "xyz"]


async def test_the_end_of_the_script_is_an_error_that_says_so() -> None:
    with pytest.raises(ModelError, match="no further reply"):
        await ScriptedChatModel().call(ask("x"))


async def test_a_queued_failure_is_raised() -> None:
    with pytest.raises(ModelError, match="down"):
        await ScriptedChatModel(ModelError("down")).call(ask("x"))


async def test_a_stream_comes_in_words_and_ends_with_the_whole() -> None:
    events = [event async for event in ScriptedChatModel("Hello big  world").stream(ask("x"))]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hello ", "big  ", "world"]
    assert isinstance(events[-1], RoundFinished)


async def test_a_cut_stream_shows_its_words_and_then_fails() -> None:
    seen: list[object] = []
    with pytest.raises(TruncatedStreamError):
        async for event in ScriptedChatModel(Cut(text="a b c", after=2)).stream(ask("x")):
            seen.append(event)  # noqa: PERF401 - a comprehension would lose what came before the failure
    assert seen == [TextDelta(text="a "), TextDelta(text="b ")]


async def test_usage_is_what_the_counter_says_and_none_without_one() -> None:
    def count(prompt: Prompt, message: AssistantMessage) -> Usage:
        return Usage(prompt_tokens=len(prompt.tools), completion_tokens=len(str(message.content)))

    assert (await ScriptedChatModel("abc", count_usage=count).call(ask("x", SEARCH))).usage == Usage(
        prompt_tokens=1, completion_tokens=3
    )
    assert (await ScriptedChatModel("abc").call(ask("x"))).usage is None


def found(*entries: Mapping[str, str]) -> str:
    return json.dumps({"tools": list(entries)})


def after_search(prompt: Prompt, wanted: AssistantMessage, result: str, *tools: ToolSpec) -> Prompt:
    responses = (ToolResponse(id=wanted.tool_calls[0].id, name=wanted.tool_calls[0].name, content=result),)
    return Prompt(
        messages=(*prompt.messages, wanted, ToolResponseMessage(responses=responses)), tools=(*prompt.tools, *tools)
    )


async def test_the_planner_searches_calls_what_it_found_and_answers() -> None:
    model = ScriptedChatModel(policy=Planner())
    prompt = ask("Please refund order ord-77.", SEARCH)
    first = (await model.call(prompt)).message
    assert json.loads(first.tool_calls[0].arguments) == {"queries": ["Please refund order ord-77."]}

    prompt = after_search(prompt, first, found({"name": "gone"}, {"name": "refund_order"}), REFUND)
    second = (await model.call(prompt)).message
    assert [call.name for call in second.tool_calls] == ["refund_order"]
    assert json.loads(second.tool_calls[0].arguments) == {"order_id": "ord-77"}

    third = (await model.call(after_search(prompt, second, '{"status":"refunded"}'))).message
    assert third.tool_calls == ()
    assert "refunded" in str(third.content)


@pytest.mark.parametrize(
    ("request_text", "found_names", "called"),
    [
        ("Which buckets do I have?", ["CreateBucket", "ListBuckets"], "ListBuckets"),
        ("버킷 목록을 보여 줘", ["CreateBucket", "ListBuckets"], "ListBuckets"),
        ("Make a bucket", ["DeleteBucket", "s3__CreateBucket"], "s3__CreateBucket"),
        ("Delete my bucket", ["buckets_get", "buckets_delete"], "buckets_delete"),
        ("the bucket, please", ["CreateBucket", "ListBuckets"], "CreateBucket"),
        ("Make a bucket", ["OldCreateBucket", "CreateBucket"], "CreateBucket"),
        ("Which buckets do I have?", ["a", "b"], "a"),
    ],
)
async def test_the_planner_takes_the_found_tool_that_does_the_kind_of_thing_asked_for(
    request_text: str, found_names: list[str], called: str
) -> None:
    model = ScriptedChatModel(policy=Planner())
    tools = [
        ToolSpec(name=name, description="Deprecated." if name.startswith("Old") else "", parameters={"type": "object"})
        for name in found_names
    ]
    prompt = ask(request_text, SEARCH)
    first = (await model.call(prompt)).message
    result = found(*({"name": name} for name in found_names))
    second = (await model.call(after_search(prompt, first, result, *tools))).message
    assert [call.name for call in second.tool_calls] == [called]


async def test_the_planner_calls_nothing_that_it_cannot_see() -> None:
    model = ScriptedChatModel(policy=Planner())
    prompt = ask("Please refund order ord-77.", SEARCH)
    first = (await model.call(prompt)).message
    message = (await model.call(after_search(prompt, first, found({"name": "refund_order"})))).message
    assert message.tool_calls == ()
    assert "no tool" in str(message.content)
    assert (await model.call(ask("Refund my order"))).message.tool_calls == ()


async def test_the_planner_uses_a_clients_tool_whose_words_fit() -> None:
    message = (await ScriptedChatModel(policy=Planner()).call(ask("Refund this order", REFUND))).message
    assert [call.name for call in message.tool_calls] == ["refund_order"]


async def test_the_planner_obeys_a_ban_on_calls() -> None:
    prompt = ask("Refund this order", SEARCH, REFUND, tool_choice="none")
    assert (await ScriptedChatModel(policy=Planner()).call(prompt)).message.tool_calls == ()


async def test_the_planner_calls_one_tool_for_each_need() -> None:
    model = ScriptedChatModel(policy=Planner())
    mail = ToolSpec(name="send_mail", description="", parameters={"type": "object"})
    prompt = ask("Refund order ord-77, and then write to bob@example.org", SEARCH)
    first = (await model.call(prompt)).message
    needs = json.loads(first.tool_calls[0].arguments)["queries"]
    assert needs == ["Refund order ord-77", "write to bob@example.org"]
    result = found(
        {"name": "refund_order", "for": needs[0]},
        {"name": "refund_order", "for": needs[1]},
        {"name": "send_mail", "for": needs[1]},
    )
    second = (await model.call(after_search(prompt, first, result, REFUND, mail))).message
    assert [call.name for call in second.tool_calls] == ["refund_order", "send_mail"]


@pytest.mark.parametrize(
    ("request_text", "needs"),
    [
        ("refund order 7", ["refund order 7"]),
        ("Refund order 7. Mail the customer.", ["Refund order 7", "Mail the customer"]),
        ("주문을 환불해 줘. 그리고 고객에게 메일을 보내 줘", ["주문을 환불해 줘", "고객에게 메일을 보내 줘"]),
        ("", ["help"]),
        (
            "One of our servers hangs. Restart it, and then show me its load.",
            ["One of our servers hangs. Restart it", "One of our servers hangs. show me its load"],
        ),
        ("Make a new folder and share it with Kim.", ["Make a new folder", "Make a new folder. share it with Kim"]),
        ("Find bread and butter for me", ["Find bread and butter for me"]),
        ("Make a folder. Share it with Kim.", ["Make a folder", "Make a folder. Share it with Kim"]),
    ],
)
def test_a_request_is_split_into_its_needs(request_text: str, needs: list[str]) -> None:
    assert needs_of(request_text) == needs


def test_arguments_are_plausible_for_their_schema() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["city", "unit", "days", "when", "to", "tags", "place", "kind", "ratio", "flag", "query", "maybe"],
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "when": {"type": "string", "format": "date"},
            "to": {"type": "string", "format": "email"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 2},
            "place": {"$ref": "#/$defs/Place"},
            "kind": {"const": "forecast"},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "flag": {"type": "boolean"},
            "query": {"type": "string"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "integer", "default": 9}]},
            "unused": {"type": "string"},
        },
        "$defs": {
            "Place": {
                "allOf": [
                    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
                    {"properties": {"floor": {"type": "integer"}}, "required": ["floor"]},
                ]
            }
        },
    }
    request = 'Forecast for "Jeju" in fahrenheit, 3 days from 2026-05-01, mail it to kim@example.org'
    arguments = example_arguments(schema, request)
    assert arguments["city"] == "Jeju"
    assert arguments["unit"] == "fahrenheit"
    assert arguments["days"] == 3
    assert arguments["when"] == "2026-05-01"
    assert arguments["to"] == "kim@example.org"
    assert len(arguments["tags"]) == 2 and all(len(tag) <= 4 for tag in arguments["tags"])
    assert set(arguments["place"]) == {"id", "floor"}
    assert arguments["kind"] == "forecast"
    assert 0 < arguments["ratio"] <= 1
    assert arguments["flag"] is False
    assert arguments["query"] == request
    assert arguments["maybe"] == 9
    assert "unused" not in arguments
    assert example_arguments(schema, request) == arguments


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]},
            "Loop": {"$ref": "#/$defs/Loop"},
        },
    }
    assert "next" in example_arguments(schema, "x")
    assert example_arguments({**schema, "$ref": "#/$defs/Loop"}, "x") == {}


def test_a_candidate_that_fits_the_schema_is_preferred() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[0-9]+$"}}, "required": ["id"]}

    def fits(_schema: Mapping[str, Any], value: object) -> bool:
        return str(value).isdigit()

    assert example_arguments(schema, "show me account", fits=fits) == {"id": "1"}
