"""What the two server-side search tools of Anthropic have in common.

Behaviour, from platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool: tools are marked
`defer_loading` and stand in no prompt until they are found; a search looks at names, descriptions, argument names and
argument descriptions; the definitions of the 3 to 5 tools it finds are put where its result stands, at the end of the
conversation, so the list at the head of the prompt does not change; found tools are called by their own names.
"""

import json
from collections.abc import Callable, Sequence

from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.chat.messages import Message, ToolCall
from gateway.chat.prompt import ToolSpec
from gateway.errors import GatewayError


class InlineSearchRun:
    """One conversation: a constant tool list, and definitions inside search results."""

    def __init__(
        self,
        catalog: BenchCatalog,
        view: CatalogView,
        tool: ToolSpec,
        rank: Callable[[str, CatalogView, int], list[int]],
        k: int,
    ) -> None:
        self._catalog = catalog
        self._view = view
        self._tools = (tool,)
        self._rank = rank
        self._k = k

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        return self._tools

    async def answer_search(self, call: ToolCall) -> str:
        asked = next(iter(json.loads(call.arguments).values()), None)
        if not isinstance(asked, str):
            raise GatewayError(f"{call.name} was called without a query")
        found = self._rank(asked, self._view, self._k)
        return "\n".join(self._catalog.definition_text(row) for row in found) or "No tools found."

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return self._rank(query, self._view, k)
