"""Spring AI's `ToolSearchToolCallingAdvisor` with its vector index.

Behaviour, as read in spring-projects/spring-ai (`ToolSearchToolCallingAdvisor.java`, `VectorToolIndex.java`, main of
2026-08-21) and in its reference manual, "Tool Search Tool":

- `toolSearchTool(query)` answers with a JSON list of names only; the definitions are in the tool list of the next
  round. Names from all earlier searches of the conversation count.
- The vector index embeds the description alone and drops what is below a cosine of 0.2.
- Selected callbacks are kept in a hash set, so the order of the tool list differs from round to round.
- A paragraph about the search tool is added to the system text; here it stands in the tool's description instead,
  which costs the same.

The encoder is the product's own: what is compared is what is embedded, not by what.
"""

import json
import random
from collections.abc import Sequence
from typing import Final

from benchmarks.baselines.tool_text import nearest_descriptions
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryRun, Manner, SearchDialect, one_call
from gateway.chat.messages import Message, ToolCall, ToolResponseMessage, text_of
from gateway.chat.prompt import ToolSpec

_MINIMUM_COSINE: Final = 0.2

SEARCH_TOOL: Final = ToolSpec(
    name="toolSearchTool",
    description=(
        "Finds tools by what they do. Only a few tools are listed at first: look for one here whenever you need a "
        "capability that is not listed, describing it in a sentence. The answer holds tool names; those tools can be "
        "called from the next message on."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the tool should do, in plain words."},
            "maxResults": {"type": "integer", "description": "How many tools to return, 1 to 10; 5 by default."},
            "categoryFilter": {"type": "string", "description": "Only tools of this category."},
        },
        "required": ["query"],
    },
)


class SpringAi:
    """The delivery."""

    name = "Spring AI"
    source = "spring-projects/spring-ai ToolSearchToolCallingAdvisor, VectorToolIndex (2026-08-21)"
    manner = Manner(search=SearchDialect(SEARCH_TOOL.name, one_call("query")))

    def __init__(self, catalog: BenchCatalog) -> None:
        self.catalog = catalog

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return _SpringRun(self, view, k, random.Random(seed))

    def ranked(self, query: str, view: CatalogView, k: int) -> list[int]:
        """Rows with the nearest descriptions, best first."""
        return nearest_descriptions(self.catalog, query, view, k, minimum_cosine=_MINIMUM_COSINE)


class _SpringRun:
    def __init__(self, delivery: SpringAi, view: CatalogView, k: int, order: random.Random) -> None:
        self._delivery = delivery
        self._view = view
        self._k = k
        self._order = order

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        catalog = self._delivery.catalog
        names = [name for message in messages for name in _found(message)]
        tools = [SEARCH_TOOL, *(catalog.specs[catalog.row_of_alias[name]] for name in dict.fromkeys(names))]
        self._order.shuffle(tools)
        return tuple(tools)

    async def answer_search(self, call: ToolCall) -> str:
        found = self._delivery.ranked(json.loads(call.arguments)["query"], self._view, self._k)
        return json.dumps([self._delivery.catalog.specs[row].name for row in found])

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return self._delivery.ranked(query, self._view, k)


def _found(message: Message) -> list[str]:
    if not isinstance(message, ToolResponseMessage):
        return []
    answers = (text_of(one.content) for one in message.responses if one.name == SEARCH_TOOL.name)
    return [name for answer in answers for name in json.loads(answer)]
