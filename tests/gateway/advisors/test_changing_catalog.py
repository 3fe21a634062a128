"""A run while the catalog changes: what was found may be gone when it is called."""

from dataclasses import replace

import pytest

from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.chat.exchange import ChatClientRequest
from gateway.chat.messages import ToolResponse, ToolResponseMessage, UserMessage
from gateway.chat.prompt import Prompt
from gateway.client import ChatClient
from gateway.models.scripted import Reply, ScriptedChatModel, wish
from gateway.tools.client_tool import ClientToolFactory, definitions_of
from gateway.tools.function import tool
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
from indexer import ForwardingToolIndex, SearchScope, StoredTool, StoreUnavailableError, ToolIndex, ToolKey
from tests.gateway.catalog import catalog

SHOP = SearchScope(namespaces=frozenset({"shop"}))


class Shop:
    """One tool of a catalog, `refund_order`, and a client's own tool that changes the catalog in mid run."""

    def __init__(self) -> None:
        self.refunded: list[str] = []

        @tool
        def refund_order(order_id: str) -> str:
            """Refund a paid order."""
            self.refunded.append(order_id)
            return f"{order_id} is refunded"

        self.tool = refund_order
        (self.definition,) = definitions_of([refund_order], namespace="shop")

    async def last_answer(self, index: ToolIndex, *script: Reply) -> ToolResponse:
        """What the model is told last, of a run over the namespace `shop`."""

        @tool
        async def change(how: str) -> str:
            if how == "delete":
                await index.delete([self.definition.key])
            elif how == "break":
                await index.register([replace(self.definition, input_schema={"type": 7})])
            elif how == "restore":
                await index.register([self.definition])
            return how

        model = ScriptedChatModel(*script, "done")
        advisor = ToolSearchToolCallingAdvisor(index, ClientToolFactory([self.tool]))
        options = ToolCallingChatOptions(callbacks=(change,), scope=SHOP)
        asked = ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="go"),)), context={TOOL_OPTIONS: options})
        await ChatClient(model, advisors=[advisor]).call(asked)
        results = model.prompts[-1].messages[-1]
        assert isinstance(results, ToolResponseMessage)
        return results.responses[-1]


SEARCH = wish("search_tools", queries=["refund_order"])
REFUND = wish("shop__refund_order", order_id="A-1")


@pytest.mark.parametrize("how", ["delete", "break"])
async def test_a_tool_that_is_gone_when_it_is_called_does_not_run_and_says_so(how: str) -> None:
    shop = Shop()
    index = await catalog([shop.definition])
    answer = await shop.last_answer(index, SEARCH, wish("change", how=how), REFUND)
    assert answer.is_error
    assert "shop__refund_order is gone: it was taken out of the catalog" in str(answer.content)
    assert shop.refunded == []


async def test_a_tool_that_is_back_runs() -> None:
    shop = Shop()
    index = await catalog([shop.definition])
    changes = [wish("change", how=how) for how in ("delete", "restore")]
    answer = await shop.last_answer(index, SEARCH, *changes, REFUND)
    assert (answer.content, shop.refunded) == ("A-1 is refunded", ["A-1"])


async def test_a_pinned_tool_can_be_gone_too() -> None:
    shop = Shop()
    index = await catalog([replace(shop.definition, pinned=True)])
    answer = await shop.last_answer(index, wish("change", how="delete"), REFUND)
    assert answer.is_error
    assert shop.refunded == []


async def test_a_catalog_that_cannot_be_asked_keeps_no_tool_from_running() -> None:
    class Away(ForwardingToolIndex):
        async def get(self, key: ToolKey) -> StoredTool | None:
            raise StoreUnavailableError("Qdrant is away")

    shop = Shop()
    answer = await shop.last_answer(Away(await catalog([shop.definition])), SEARCH, REFUND)
    assert answer.content == "A-1 is refunded"
