"""The loop over a catalog: what the model sees in each round, and what becomes of its calls."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from gateway.advisors.search_run import catalog_name
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunFinished
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, Content, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.errors import InvalidRequestError
from gateway.models.planner import Planner
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.models.wire import tool_to_wire
from gateway.tools.callback import ToolMetadata
from gateway.tools.client_tool import ClientToolFactory, definitions_of
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
from gateway.tools.search_tool import SearchRecord
from indexer import SearchScope, StoreUnavailableError, ToolDefinition, ToolIndex, ToolSearchRequest, ToolSearchResponse
from tests.gateway.catalog import ALL, BUCKETS, MAIL, REFUND, WEATHER, catalog, text_parameters

CLIENT_WIRE: Mapping[str, Any] = {
    "type": "function",
    "function": {"name": "open_file", "parameters": {"type": "object"}, "strict": False},
}
CLIENT_TOOL = ToolSpec(name="open_file", description="", parameters={"type": "object"}, wire=CLIENT_WIRE)


class Runner:
    """Runs every catalog tool here, and says which ones ran with what."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Mapping[str, Any]]] = []

    def callback_for(self, definition: ToolDefinition, alias: str) -> "RunHere":
        return RunHere(definition, alias, self)


class RunHere:
    metadata = ToolMetadata()

    def __init__(self, definition: ToolDefinition, alias: str, runner: Runner) -> None:
        self.spec = ToolSpec(name=alias, description=definition.description, parameters=definition.input_schema)
        self._definition = definition
        self._runner = runner

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        self._runner.ran.append((self._definition.name, arguments))
        return f"{self._definition.name} is done"


def names(prompt: Prompt) -> list[str]:
    return [spec.name for spec in prompt.tools]


def search(*queries: str, **more: Any) -> Any:
    return wish("search_tools", queries=list(queries), **more)


async def run(
    model: ScriptedChatModel,
    asked: str | Prompt | ChatClientRequest = "go",
    *,
    index: ToolIndex | None = None,
    runner: Runner | None = None,
    streamed: bool = False,
    **settings: Any,
) -> ChatClientResponse:
    advisor = ToolSearchToolCallingAdvisor(index or await catalog(), runner, **settings)
    client = ChatClient(model, advisors=[advisor])
    if not streamed:
        return await client.call(asked)
    events = [event async for event in client.stream(asked)]
    assert isinstance(events[-1], RunFinished)
    return events[-1].response


def searches(response: ChatClientResponse) -> tuple[SearchRecord, ...]:
    return response.context["searches"]


both = pytest.mark.parametrize("streamed", [False, True], ids=["call", "stream"])


@both
async def test_the_model_sees_the_search_tool_and_then_what_it_found(streamed: bool) -> None:
    runner = Runner()
    model = ScriptedChatModel(search("refund an order"), wish("refund_order", order_id="7"), "done")
    response = await run(model, runner=runner, streamed=streamed, max_results=1)
    assert [names(prompt) for prompt in model.prompts] == [
        ["search_tools"],
        ["search_tools", "refund_order"],
        ["search_tools", "refund_order"],
    ]
    assert runner.ran == [("refund_order", {"order_id": "7"})]
    assert response.text == "done"
    (record,) = searches(response)
    assert record.round == 1 and record.queries == ("refund an order",)
    assert record.results[0].score > 0 and record.results[0].reasons
    assert response.context["rounds"] == 3


@both
async def test_the_tools_of_every_round_are_a_prefix_of_the_next_ones(streamed: bool) -> None:
    pinned = replace(WEATHER, pinned=True)
    model = ScriptedChatModel(
        search("send an e-mail"), search("refund an order"), search("storage buckets"), search("e-mail refund"), "done"
    )
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(CLIENT_TOOL,))
    await run(model, prompt, index=await catalog([REFUND, pinned, MAIL, BUCKETS]), streamed=streamed, max_results=1)
    serialised = [encode_json([tool_to_wire(spec) for spec in prompt.tools]) for prompt in model.prompts]
    for earlier, later in zip(serialised, serialised[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]"))
    assert names(model.prompts[0]) == ["open_file", "get_weather", "search_tools"]
    assert names(model.prompts[-1])[3:] == ["send_email", "refund_order", "storage__list_buckets"]
    assert serialised[0].startswith(b"[" + encode_json(CLIENT_WIRE))


async def test_parallel_searches_are_all_honoured_in_call_order() -> None:
    class Slow:
        """The catalog, with a first search that finishes last."""

        def __init__(self, index: ToolIndex) -> None:
            self._index = index
            self._second = anyio.Event()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._index, name)

        async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
            if request.queries == ("refund an order",):
                await self._second.wait()
            else:
                self._second.set()
            return await self._index.search(request)

    model = ScriptedChatModel([search("refund an order"), search("send an e-mail")], "done")
    slow: Any = Slow(await catalog())
    with anyio.fail_after(5):
        response = await run(model, index=slow, max_results=1)
    assert names(model.prompts[1]) == ["search_tools", "refund_order", "send_email"]
    assert [record.queries for record in searches(response)] == [("refund an order",), ("send an e-mail",)]


async def test_several_queries_share_the_places_of_one_search() -> None:
    model = ScriptedChatModel(search("refund an order", "send an e-mail"), "done")
    await run(model, max_results=2)
    assert sorted(names(model.prompts[1])) == ["refund_order", "search_tools", "send_email"]


async def test_an_equivalent_search_is_answered_once_and_then_with_a_stop() -> None:
    model = ScriptedChatModel(search("refund an order"), search("Refund order, AN"), "done")
    response = await run(model, max_results=1)
    answer = model.prompts[2].messages[-1]
    assert isinstance(answer, ToolResponseMessage)
    said = json.loads(str(answer.responses[0].content))
    assert said["next"].startswith("STOP:")
    assert said["tools"][0]["name"] == "refund_order"
    assert [record.repeated for record in searches(response)] == [False, True]


async def test_an_empty_search_says_why() -> None:
    model = ScriptedChatModel(search("refund an order"), "sorry")
    response = await run(model, index=await catalog([]))
    answer = model.prompts[1].messages[-1]
    assert isinstance(answer, ToolResponseMessage)
    assert "holds no tools" in str(answer.responses[0].content)
    assert searches(response)[0].empty_reason == "catalog_empty"


async def test_a_search_that_fails_tells_the_model_to_go_on() -> None:
    class Down:
        def __init__(self, index: ToolIndex) -> None:
            self._index = index

        def __getattr__(self, name: str) -> Any:
            return getattr(self._index, name)

        async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
            raise StoreUnavailableError("no route to the store")

    down: Any = Down(await catalog())
    model = ScriptedChatModel(search("refund"), "sorry")
    await run(model, index=down)
    answer = model.prompts[1].messages[-1]
    assert isinstance(answer, ToolResponseMessage) and answer.responses[0].is_error
    assert "not available right now" in str(answer.responses[0].content)


@both
async def test_calls_of_tools_nobody_here_runs_are_returned_with_their_definitions(streamed: bool) -> None:
    model = ScriptedChatModel(search("refund an order"), wish("refund_order", order_id="7"))
    response = await run(model, streamed=streamed, max_results=1)
    assert [call.name for call in response.response.message.tool_calls] == ["refund_order"]
    assert response.response.finish_reason == "tool_calls"
    assert response.context["stop_reason"] == "client_tools"
    (spec,) = response.context["returned_tools"]
    assert (spec.name, spec.parameters) == ("refund_order", REFUND.input_schema)


async def test_the_loop_goes_on_when_the_caller_sends_the_result_and_nothing_was_kept() -> None:
    index = await catalog()
    model = ScriptedChatModel(search("refund an order"), wish("refund_order", order_id="7"), "refunded")
    first = await run(model, index=index, max_results=1)
    call = first.response.message.tool_calls[0]
    conversation = (
        UserMessage(content="go"),
        first.response.message,
        ToolResponseMessage(responses=(ToolResponse(id=call.id, name=call.name, content="ok"),)),
    )
    response = await run(model, Prompt(messages=conversation), index=index)
    assert names(model.prompts[2]) == ["search_tools", "refund_order"]
    assert response.text == "refunded"


async def test_what_earlier_searches_listed_is_visible_again_if_still_in_scope() -> None:
    index = await catalog()
    model = ScriptedChatModel(search("refund an order"), search("storage buckets"), "done")
    first = await run(model, index=index, runner=Runner(), max_results=1)
    conversation = (UserMessage(content="go"), *first.context["new_messages"], UserMessage(content="and now?"))
    model.enqueue("hm")
    await run(model, Prompt(messages=conversation), index=index)
    assert names(model.prompts[-1]) == ["search_tools", "refund_order", "storage__list_buckets"]

    options = ToolCallingChatOptions(scope=SearchScope(namespaces=frozenset({"storage"})))
    model.enqueue("hm")
    await run(
        model,
        ChatClientRequest(prompt=Prompt(messages=conversation), context={TOOL_OPTIONS: options}),
        index=index,
    )
    assert names(model.prompts[-1]) == ["search_tools", "storage__list_buckets"]


async def test_a_mixed_round_runs_nothing_and_returns_only_the_callers_calls() -> None:
    runner = Runner()
    model = ScriptedChatModel(
        search("refund an order"), [wish("refund_order", order_id="7"), wish("open_file"), search("mail")]
    )
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(CLIENT_TOOL,))
    response = await run(model, prompt, runner=runner, max_results=1)
    assert [call.name for call in response.response.message.tool_calls] == ["open_file"]
    assert runner.ran == []
    assert response.context["returned_tools"] == ()


async def test_a_catalog_tool_that_collides_with_a_clients_is_renamed_and_still_works() -> None:
    runner, index = Runner(), await catalog()
    theirs = ToolSpec(name="refund_order", description="theirs", parameters={"type": "object"})
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(theirs,))
    model = ScriptedChatModel(search("refund an order"), "done")
    await run(model, prompt, index=index, runner=runner, max_results=1)
    shown = names(model.prompts[1])
    assert shown[:2] == ["refund_order", "search_tools"]
    renamed = shown[2]
    assert renamed.startswith("refund_order_") and catalog_name(renamed) == "refund_order"

    model = ScriptedChatModel(search("refund an order"), wish(renamed, order_id="7"), "done")
    first = await run(model, prompt, index=index, runner=runner, max_results=1)
    assert runner.ran == [("refund_order", {"order_id": "7"})]

    model.enqueue("hm")
    conversation = (UserMessage(content="go"), *first.context["new_messages"], UserMessage(content="more"))
    await run(model, Prompt(messages=conversation, tools=(theirs,)), index=index)
    assert names(model.prompts[-1]) == ["refund_order", "search_tools", renamed]


async def test_a_colliding_tool_without_room_for_another_name_is_withheld() -> None:
    long = ToolDefinition(name="r" * 60, description="Refund an order.", input_schema=text_parameters())
    theirs = ToolSpec(name="r" * 60, description="", parameters={"type": "object"})
    model = ScriptedChatModel(search("refund an order"), "done")
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(theirs,))
    await run(model, prompt, index=await catalog([long]), max_results=1)
    assert names(model.prompts[1]) == ["r" * 60, "search_tools"]
    answer = model.prompts[1].messages[-1]
    assert isinstance(answer, ToolResponseMessage)
    assert "has the name of a tool of your list" in str(answer.responses[0].content)


async def test_a_client_tool_named_like_the_search_tool_is_refused() -> None:
    theirs = ToolSpec(name="search_tools", description="", parameters={})
    prompt = Prompt(messages=(UserMessage(content="go"),), tools=(CLIENT_TOOL, theirs))
    with pytest.raises(InvalidRequestError) as caught:
        await run(ScriptedChatModel("x"), prompt)
    assert caught.value.param == "tools[1].function.name"


async def test_several_answers_at_once_are_refused() -> None:
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(extra={"n": 2}))
    with pytest.raises(InvalidRequestError) as caught:
        await run(ScriptedChatModel("x"), prompt)
    assert caught.value.param == "n"


async def test_a_tool_that_the_request_insists_on_is_visible_from_the_start() -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    model = ScriptedChatModel(wish("get_weather", city="Jeju"), "sunny")
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice=choice))
    await run(model, prompt, runner=Runner())
    assert names(model.prompts[0]) == ["search_tools", "get_weather"]
    assert model.prompts[1].options.tool_choice == "auto"


async def test_tools_that_the_request_allows_are_visible_from_the_start() -> None:
    """A provider refuses a choice among tools that it was not given."""
    allowed = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "no_such_tool")]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": allowed}}
    model = ScriptedChatModel(wish("get_weather", city="Jeju"), "sunny")
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice=choice))
    await run(model, prompt, runner=Runner())
    assert names(model.prompts[0]) == ["search_tools", "get_weather"]
    assert [one.options.tool_choice["allowed_tools"]["mode"] for one in model.prompts] == ["required", "auto"]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "allowed_tools", "allowed_tools": "get_weather"},
        {"type": "allowed_tools", "allowed_tools": {"tools": [7, {"function": 7}, {"function": {"name": 7}}]}},
        {"type": "function", "function": [{"name": "get_weather"}]},
        ["get_weather"],
        7,
    ],
)
async def test_a_choice_of_no_known_shape_is_the_models_to_judge(choice: Any) -> None:
    model = ScriptedChatModel(search("weather"), wish("get_weather", city="Jeju"), "sunny")
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice=choice))
    response = await run(model, prompt, runner=Runner(), max_results=4)
    assert response.text == "sunny"
    assert model.prompts[0].options.tool_choice == choice


async def test_a_search_alone_does_not_meet_a_required_choice() -> None:
    model = ScriptedChatModel(search("weather"), wish("get_weather", city="Jeju"), "sunny")
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice="required"))
    await run(model, prompt, runner=Runner(), max_results=4)
    assert [one.options.tool_choice for one in model.prompts] == ["required", "required", "auto"]


async def test_a_search_that_was_insisted_on_is_made_once() -> None:
    model = ScriptedChatModel(search("weather"), "there is one")
    choice = {"type": "function", "function": {"name": "search_tools"}}
    prompt = Prompt(messages=(UserMessage(content="go"),), options=ChatOptions(tool_choice=choice))
    await run(model, prompt, runner=Runner(), max_results=4)
    assert [one.options.tool_choice for one in model.prompts] == [choice, "auto"]


async def test_a_search_that_finds_only_known_tools_says_so_and_names_them() -> None:
    model = ScriptedChatModel(search("refund an order"), search("customer's money back"), "done")
    response = await run(model, index=await catalog([REFUND]))
    answer = model.prompts[2].messages[-1]
    assert isinstance(answer, ToolResponseMessage)
    said = json.loads(str(answer.responses[0].content))
    assert [one["name"] for one in said["tools"]] == ["refund_order"]
    assert said["next"].startswith("You have these tools already")
    assert [record.empty_reason for record in searches(response)] == ["", "all_already_found"]


async def test_a_search_of_any_length_is_answered() -> None:
    model = ScriptedChatModel(search("refund an order" + " lorem" * 200_000), "done")
    await run(model)
    assert "refund_order" in names(model.prompts[1])


async def test_a_conversation_is_shown_no_more_found_tools_than_its_cap() -> None:
    model = ScriptedChatModel(search("refund an order", "send an e-mail"), search("storage buckets"), "done")
    await run(model, max_results=2, max_discovered=1)
    assert len(names(model.prompts[1])) == 2
    assert names(model.prompts[2]) == names(model.prompts[1])
    answers = [one for one in model.prompts[2].messages if isinstance(one, ToolResponseMessage)]
    assert len(json.loads(str(answers[0].responses[0].content))["tools"]) == 1
    assert "tool list is full" in str(answers[1].responses[0].content)


async def test_a_tenant_never_sees_another_tenants_tools() -> None:
    index = await catalog([*ALL, replace(REFUND, tenant="acme", name="acme_refund")])
    model = ScriptedChatModel(search("refund an order"), "done")
    advisor = ToolSearchToolCallingAdvisor(index, max_results=4)
    await ChatClient(model, advisors=[advisor], context=ToolContext(tenant="acme")).call("go")
    assert names(model.prompts[1]) == ["search_tools", "acme_refund"]


async def test_a_catalog_of_python_functions_runs_without_a_server() -> None:
    @tool
    def refund_order(order_id: str, context: ToolContext) -> str:
        """Refund a customer's order."""
        return f"{order_id} refunded for {context.principal}"

    index = await catalog(definitions_of([refund_order]))
    advisor = ToolSearchToolCallingAdvisor(index, ClientToolFactory([refund_order]))
    client = ChatClient(ScriptedChatModel(policy=Planner()), advisors=[advisor], context=ToolContext(principal="kim"))
    response = await client.call("Please refund order ord-77")
    assert "ord-77 refunded for kim" in response.text


@both
async def test_the_planner_goes_the_whole_way_in_korean_too(streamed: bool) -> None:
    refund = replace(REFUND, description="주문을 환불합니다. Refund a customer's order.")
    runner = Runner()
    response = await run(
        ScriptedChatModel(policy=Planner()),
        "주문 ord-77 환불해 주세요",
        index=await catalog([refund, WEATHER, MAIL]),
        runner=runner,
        streamed=streamed,
    )
    assert runner.ran == [("refund_order", {"order_id": "ord-77"})]
    assert "refund_order is done" in response.text


async def test_fifty_runs_share_an_advisor_without_sharing_discoveries() -> None:
    advisor = ToolSearchToolCallingAdvisor(await catalog(), Runner(), max_results=1)
    seen: dict[str, set[tuple[str, ...]]] = {"refund an order": set(), "send an e-mail": set()}

    def policy(prompt: Prompt) -> Any:
        user = prompt.messages[0]
        assert isinstance(user, UserMessage)
        if len(prompt.messages) == 1:
            return search(str(user.content))
        seen[str(user.content)].add(tuple(names(prompt)))
        return "done"

    client = ChatClient(ScriptedChatModel(policy=policy), advisors=[advisor])
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(client.call, list(seen)[number % 2])
    assert seen == {
        "refund an order": {("search_tools", "refund_order")},
        "send an e-mail": {("search_tools", "send_email")},
    }


async def test_a_name_from_the_history_that_is_a_clients_tool_is_not_looked_up() -> None:
    theirs = ToolSpec(name="refund_order", description="theirs", parameters={"type": "object"})
    conversation = (
        UserMessage(content="go"),
        AssistantMessage(tool_calls=(ToolCall(id="c", name="refund_order", arguments="{}"),)),
        ToolResponseMessage(responses=(ToolResponse(id="c", name="refund_order", content="ok"),)),
    )
    model = ScriptedChatModel("done")
    await run(model, Prompt(messages=conversation, tools=(theirs,)))
    assert names(model.prompts[0]) == ["refund_order", "search_tools"]


async def test_of_too_many_pinned_tools_the_most_trusted_are_shown_and_the_rest_is_found(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Anyone who may register may pin, and a provider refuses a prompt of too many tools."""
    many = [
        ToolDefinition(name=f"crowd_{number:03}", description=f"Crowd thing {number}.", pinned=True)
        for number in range(150)
    ]
    ours = [replace(REFUND, pinned=True, trust="verified"), replace(MAIL, pinned=True, trust="trusted")]
    model = ScriptedChatModel(search("select:crowd_149"), "done", "done")
    index = await catalog([*many, *ours])
    client = ChatClient(model, advisors=[ToolSearchToolCallingAdvisor(index)])
    await client.call("go")
    await client.call("go")
    shown = names(model.prompts[0])
    assert shown == [*(f"crowd_{number:03}" for number in range(30)), "refund_order", "send_email", "search_tools"]
    assert names(model.prompts[1]) == [*shown, "crowd_149"]
    told = [record.getMessage() for record in caplog.records if "pinned" in record.getMessage()]
    assert told == ["152 tools are pinned, and a request shows 32: unpin those that not every conversation needs"]
