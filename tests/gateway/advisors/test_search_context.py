"""What the loop tells a search beside the model's queries."""

from typing import Any

import pytest
from typing_extensions import override

from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.messages import UserMessage
from gateway.chat.prompt import Prompt
from gateway.client import ChatClient
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.settings import GatewaySettings
from indexer import ForwardingToolIndex, ToolIndex, ToolSearchRequest, ToolSearchResponse
from tests.gateway.advisors.test_tool_search import Runner
from tests.gateway.catalog import catalog


class Listening(ForwardingToolIndex):
    """Keeps what it was asked."""

    def __init__(self, index: ToolIndex) -> None:
        super().__init__(index)
        self.asked: list[ToolSearchRequest] = []

    @override
    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        self.asked.append(request)
        return await super().search(request)


def search(query: str) -> Any:
    return wish("search_tools", queries=[query])


async def asked_in_a_run(**settings: Any) -> list[ToolSearchRequest]:
    index = Listening(await catalog())
    model = ScriptedChatModel(
        search("refund an order"), wish("refund_order", order_id="7"), search("storage buckets"), "done"
    )
    advisor = ToolSearchToolCallingAdvisor(index, Runner(), max_results=1, **settings)
    client = ChatClient(model, advisors=[advisor])
    earlier = (UserMessage(content="What is the weather?"), UserMessage(content="Give Lena her money back. " * 100))
    await client.call(Prompt(messages=earlier))
    return index.asked


async def test_a_search_is_told_what_the_user_said_last_and_whose_tools_were_called() -> None:
    first, second = await asked_in_a_run()

    assert first.context.startswith("Give Lena her money back.")
    assert len(first.context) == 1_000
    assert first.used_namespaces == frozenset()
    assert second.used_namespaces == frozenset({"default"})


async def test_an_operator_may_keep_what_the_user_said_from_searches() -> None:
    assert [request.context for request in await asked_in_a_run(search_context=False)] == ["", ""]
    assert not GatewaySettings.from_environment({"TOOLSCOUT_SEARCH_CONTEXT": "0"}).loop.search_context


@pytest.mark.parametrize("environment", [{}, {"TOOLSCOUT_SEARCH_CONTEXT": "1"}])
def test_searches_are_told_unless_it_is_switched_off(environment: dict[str, str]) -> None:
    assert GatewaySettings.from_environment(environment).loop.search_context
