"""Every turn of a conversation begins with the same bytes, whatever becomes of the catalog meanwhile."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from gateway.advisors.conversation_notes import ConversationNotebook, ConversationNotes
from gateway.advisors.first_offer import FirstOffer
from gateway.advisors.memory import MessageChatMemoryAdvisor
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import ChatClientResponse
from gateway.chat.json_text import encode_json
from gateway.chat.memory import InMemoryChatMemory
from gateway.chat.messages import AssistantMessage, Message, SystemMessage, ToolCall, UserMessage
from gateway.chat.prompt import Prompt
from gateway.client import ChatClient
from gateway.models.scripted import Reply, ScriptedChatModel, wish
from gateway.models.wire import tool_to_wire
from gateway.models.wire_stream import shown_answer
from gateway.tools.context import ToolContext
from indexer import SearchScope, ToolIndex
from tests.gateway.catalog import BUCKETS, MAIL, REFUND, WEATHER, catalog

NAMING = FirstOffer(described_namespaces=9)
SEARCHED = (wish("search_tools", queries=["refund an order"]), "It is refunded.")


class Talk:
    """One index and model, and what a client asks through them."""

    def __init__(self, index: ToolIndex, *script: Reply, offer: FirstOffer = NAMING) -> None:
        self.index = index
        self.model = ScriptedChatModel(*script)
        self.notebook = ConversationNotebook()
        self.client = ChatClient(
            self.model, advisors=[ToolSearchToolCallingAdvisor(index, first_offer=offer, notebook=self.notebook)]
        )

    async def ask(self, messages: Sequence[Message], context: ToolContext | None = None) -> ChatClientResponse:
        return await self.client.call(messages, context=context)

    async def add_namespace(self, name: str) -> None:
        await self.index.register([replace(BUCKETS, namespace=name)])


def tools_of(prompt: Prompt) -> bytes:
    return encode_json([tool_to_wire(spec) for spec in prompt.tools])


def assert_prefixes(prompts: Iterable[Prompt]) -> None:
    shown = [tools_of(prompt) for prompt in prompts]
    for earlier, later in zip(shown, shown[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]"))


def echoed_answer(response: ChatClientResponse) -> list[Message]:
    return [response.response.message]


def echoed_rounds(response: ChatClientResponse) -> list[Message]:
    return list(response.context["new_messages"])


def echoed_as_the_chat_route_shows_it(response: ChatClientResponse) -> list[Message]:
    message = shown_answer(response).message
    return [replace(message, content=f"  {message.content}\n")]


@pytest.mark.parametrize("echo", [echoed_answer, echoed_rounds, echoed_as_the_chat_route_shows_it])
async def test_the_named_namespaces_stay_as_they_were_when_the_catalog_grows(
    echo: Callable[[ChatClientResponse], list[Message]],
) -> None:
    search = ToolCall(id="c1", name="search_tools", arguments='{"queries": ["refund an order"]}')
    first_round = AssistantMessage(content="Let me look.", tool_calls=(search,))
    talk = Talk(await catalog(), first_round, SEARCHED[1], "You are welcome.", "Bye.")
    conversation: list[Message] = [SystemMessage(content="Be kind."), UserMessage(content="Refund my order")]
    for said in ("Thank you", "Bye"):
        response = await talk.ask(conversation)
        await talk.add_namespace(f"new{len(said)}")
        conversation += [*echo(response), UserMessage(content=said)]
    await talk.ask(conversation)
    search_tool = talk.model.prompts[0].tools[0]
    assert search_tool.description.endswith("The namespaces are: default, storage.")
    assert [prompt.tools[0] for prompt in talk.model.prompts] == [search_tool] * 4


async def test_a_conversation_with_an_id_is_known_by_it_whatever_its_messages() -> None:
    talk = Talk(await catalog(), "One.", "Two.", "Three.")
    mine = ToolContext(principal="kim", conversation_id="42")
    await talk.ask([UserMessage(content="Hello")], mine)
    await talk.add_namespace("later")
    await talk.ask([UserMessage(content="Only what is new")], mine)
    await talk.ask([UserMessage(content="Hello")], replace(mine, principal="lee"))
    mine_first, mine_second, theirs = (prompt.tools[0].description for prompt in talk.model.prompts)
    assert mine_first == mine_second
    assert theirs.endswith("The namespaces are: default, later, storage.")


async def test_a_new_conversation_that_begins_alike_hears_of_new_namespaces_and_the_old_one_does_not() -> None:
    talk = Talk(await catalog(), "Hi Kim.", "Hi Lee.", "Fine.", "Good.")
    hello = UserMessage(content="Hello")
    old = await talk.ask([hello])
    await talk.add_namespace("later")
    new = await talk.ask([hello])
    for response in (old, new):
        await talk.ask([hello, response.response.message, UserMessage(content="How are you?")])
    names = [prompt.tools[0].description.partition("are: ")[2] for prompt in talk.model.prompts]
    assert names == [
        "default, storage.",
        "default, later, storage.",
        "default, storage.",
        "default, later, storage.",
    ]


async def test_too_many_namespaces_at_first_stay_unnamed_when_they_become_fewer() -> None:
    talk = Talk(await catalog(), "One.", "Two.", offer=FirstOffer(described_namespaces=1))
    hello = UserMessage(content="Hello")
    first = await talk.ask([hello])
    await talk.index.delete([BUCKETS.key])
    await talk.ask([hello, first.response.message, UserMessage(content="Again")])
    assert talk.model.prompts[0].tools == talk.model.prompts[1].tools


async def test_a_conversation_that_another_process_began_is_settled_at_its_next_turn() -> None:
    talk = Talk(await catalog(), "Two.", "Three.")
    conversation: list[Message] = [
        UserMessage(content="Hello"), AssistantMessage(content="One."), UserMessage(content="Two?"),
    ]  # fmt: skip
    second = await talk.ask(conversation)
    await talk.add_namespace("later")
    await talk.ask([*conversation, second.response.message, UserMessage(content="Three?")])
    assert talk.model.prompts[0].tools == talk.model.prompts[1].tools


async def test_a_preloaded_tool_stays_when_another_would_match_better_now() -> None:
    talk = Talk(await catalog([REFUND, WEATHER]), "Done.", offer=FirstOffer(preload_min_score=0.0, preload_max=1))
    asked = UserMessage(content="refund an order")
    first = await talk.ask([asked])
    await talk.index.register([replace(REFUND, name="refund_an_order", description="Refund an order. refund an order")])
    await talk.index.register([MAIL])
    talk.model.enqueue("Sent.")
    await talk.ask([asked, first.response.message, UserMessage(content="send an e-mail message")])
    assert_prefixes(talk.model.prompts)
    names = [[spec.name for spec in prompt.tools] for prompt in talk.model.prompts]
    assert names == [["search_tools", "refund_order"], ["search_tools", "refund_order", "send_email"]]


async def test_a_preloaded_tool_that_was_deleted_is_not_shown_again() -> None:
    talk = Talk(await catalog([REFUND]), "Done.", "Gone.", offer=FirstOffer(preload_min_score=0.0))
    asked = UserMessage(content="refund an order")
    first = await talk.ask([asked])
    await talk.index.delete([REFUND.key])
    await talk.ask([asked, first.response.message, UserMessage(content="again")])
    assert [spec.name for spec in talk.model.prompts[1].tools] == ["search_tools"]


async def test_with_a_memory_around_the_loop_all_turns_begin_alike() -> None:
    index = await catalog()
    model = ScriptedChatModel(*SEARCHED, "You are welcome.")
    search = ToolSearchToolCallingAdvisor(index, first_offer=NAMING)
    client = ChatClient(model, advisors=[MessageChatMemoryAdvisor(InMemoryChatMemory()), search])
    me = ToolContext(conversation_id="42")
    await client.call("Refund my order", context=me)
    await index.register([replace(BUCKETS, namespace="later")])
    await client.call("Thank you", context=me)
    assert_prefixes(model.prompts)


async def test_nothing_is_noted_where_the_offer_shows_nothing_that_could_change() -> None:
    talk = Talk(await catalog(), "One.", offer=FirstOffer())
    await talk.ask([UserMessage(content="Hello")], ToolContext(conversation_id="42"))
    assert talk.notebook.find((SearchScope(), "", "id:42")) is None


def test_a_notebook_drops_the_conversations_that_were_used_longest_ago() -> None:
    notebook = ConversationNotebook(max_conversations=2)
    first, second, third = ((SearchScope(), "", name) for name in ("1", "2", "3"))
    for key in (first, second):
        notebook.keep([key], ConversationNotes(namespaces=(key[2],)))
    assert notebook.find(first) is not None
    notebook.keep([third], ConversationNotes())
    assert notebook.find(second) is None
    assert notebook.find(first) == ConversationNotes(namespaces=("1",))
