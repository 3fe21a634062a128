"""What a model is shown before it has searched."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.advisors.first_offer import FirstOffer
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, UserMessage
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.models.wire import tool_to_wire
from indexer import ToolDefinition
from tests.gateway.catalog import ALL, MAIL, REFUND, WEATHER, catalog


def count(specs: Sequence[ToolSpec]) -> int:
    return 100 * len(specs)


def names(prompt: Prompt) -> list[str]:
    return [spec.name for spec in prompt.tools]


async def shown(
    offer: FirstOffer,
    *messages: UserMessage | AssistantMessage,
    definitions: Sequence[ToolDefinition] = ALL,
    max_discovered: int = 40,
) -> Prompt:
    model = ScriptedChatModel("done")
    advisor = ToolSearchToolCallingAdvisor(
        await catalog(definitions), first_offer=offer, max_results=1, max_discovered=max_discovered
    )
    await ChatClient(model, advisors=[advisor]).call(messages or [UserMessage(content="go")])
    return model.prompts[0]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (400, ["get_weather", "refund_order", "send_email", "storage__list_buckets"]),
        (399, ["search_tools"]),
        (0, ["search_tools"]),
    ],
)
async def test_a_catalog_within_the_budget_is_shown_whole(budget: int, expected: list[str]) -> None:
    offer = FirstOffer(passthrough_tokens=budget, count_tools=count)
    assert names(await shown(offer)) == expected


async def test_an_empty_catalog_still_has_its_search_tool() -> None:
    offer = FirstOffer(passthrough_tokens=1000, count_tools=count)
    assert names(await shown(offer, definitions=[])) == ["search_tools"]


async def test_a_catalog_longer_than_models_take_is_never_shown_whole() -> None:
    many = [replace(REFUND, name=f"refund_{number}") for number in range(129)]
    offer = FirstOffer(passthrough_tokens=10**9, count_tools=count)
    assert names(await shown(offer, definitions=many)) == ["search_tools"]


async def test_confident_matches_of_what_the_user_says_are_shown_at_once() -> None:
    asked = UserMessage(content="refund an order")
    assert names(await shown(FirstOffer(preload_min_score=0.0, preload_max=1), asked)) == [
        "search_tools",
        "refund_order",
    ]
    assert names(await shown(FirstOffer(preload_min_score=1.0), asked)) == ["search_tools"]
    assert names(await shown(FirstOffer(), asked)) == ["search_tools"]


async def test_an_exact_name_is_always_confident() -> None:
    offer = FirstOffer(preload_min_score=1.0)
    assert names(await shown(offer, UserMessage(content="get_weather"))) == ["search_tools", "get_weather"]


async def test_preloading_keeps_to_the_cap_of_the_conversation() -> None:
    offer = FirstOffer(preload_min_score=0.0, preload_max=4)
    prompt = await shown(offer, UserMessage(content="refund weather e-mail buckets"), max_discovered=1)
    assert len(names(prompt)) == 2


async def test_the_tools_of_a_turn_are_a_prefix_of_the_next_turns() -> None:
    index = await catalog([REFUND, WEATHER, MAIL])
    model = ScriptedChatModel(wish("search_tools", queries=["weather forecast"]), "sunny", "sent")
    offer = FirstOffer(preload_min_score=0.0, preload_max=1)
    advisor = ToolSearchToolCallingAdvisor(index, first_offer=offer, max_results=1)
    client = ChatClient(model, advisors=[advisor])
    first = await client.call([UserMessage(content="refund an order")])
    assert [record.round for record in first.context["searches"]] == [0, 1]
    conversation = [
        UserMessage(content="refund an order"),
        *first.context["new_messages"],
        UserMessage(content="send an e-mail message"),
    ]
    await client.call(conversation)
    serialised = [encode_json([tool_to_wire(spec) for spec in prompt.tools]) for prompt in model.prompts]
    for earlier, later in zip(serialised, serialised[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]"))
    assert names(model.prompts[-1]) == ["search_tools", "refund_order", "get_weather", "send_email"]


async def test_the_search_tool_names_the_namespaces_if_they_are_few() -> None:
    few = await shown(FirstOffer(described_namespaces=2))
    assert few.tools[0].description.endswith("The namespaces are: default, storage.")
    many = await shown(FirstOffer(described_namespaces=1))
    assert "namespaces are" not in many.tools[0].description
