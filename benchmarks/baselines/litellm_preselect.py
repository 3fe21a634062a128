"""A filter before the model, as LiteLLM's semantic tool filter does it.

Behaviour, as read in litellm 1.110 (`proxy/mcp_server/semantic_tool_filter.py`): the last user message is compared
with the descriptions of all tools; the nearest are sent, if their similarity reaches 0.3; where none does, or the
filter fails, all tools are sent. There is no search tool. The number of tools is the benchmark's `k`, not LiteLLM's
default of 10, so that all systems are compared at the same one. The encoder is the product's own.
"""

from collections.abc import Sequence
from typing import Final

from benchmarks.baselines.tool_text import nearest_descriptions
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryRun, Manner
from gateway.chat.messages import Message, ToolCall, UserMessage, text_of
from gateway.chat.prompt import ToolSpec

_MINIMUM_COSINE: Final = 0.3


class LiteLlmPreselect:
    """The delivery."""

    name = "LiteLLM-style pre-select"
    source = "litellm 1.110 proxy/mcp_server/semantic_tool_filter.py"
    manner = Manner()

    def __init__(self, catalog: BenchCatalog) -> None:
        self.catalog = catalog

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return _PreselectRun(self, view, k)

    def ranked(self, text: str, view: CatalogView, k: int) -> list[int]:
        """Rows with the nearest descriptions, best first; none below the threshold."""
        return nearest_descriptions(self.catalog, text, view, k, minimum_cosine=_MINIMUM_COSINE)


class _PreselectRun:
    def __init__(self, delivery: LiteLlmPreselect, view: CatalogView, k: int) -> None:
        self._delivery = delivery
        self._view = view
        self._k = k

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        said = next((text_of(one.content) for one in reversed(messages) if isinstance(one, UserMessage)), "")
        found = self._delivery.ranked(said, self._view, self._k)
        specs = self._delivery.catalog.specs
        return tuple(specs[row] for row in found) if found else self._view.specs

    async def answer_search(self, call: ToolCall) -> str:
        raise AssertionError("there is nothing to search with")

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return self._delivery.ranked(user, self._view, k)
