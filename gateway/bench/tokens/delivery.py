"""The seam between the benchmark and a way of getting tools to a model: the product's own, simulated ones, others'."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.chat.messages import Message, ToolCall
from gateway.chat.prompt import ToolSpec

SYSTEM_TEXT: Final = (
    "You are the assistant of an operations team. Use the tools you have to do what the user asks, and answer in the "
    "user's language. If no tool fits, say so."
)
"""The system text of every conversation, the same for all deliveries."""

Arguments: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchDialect:
    """How a model writes its queries to a search tool."""

    tool: str
    write: Callable[[Sequence[str]], Sequence[Arguments]]
    """The arguments of the calls, one or several in parallel, that ask for these needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a model works under a delivery."""

    search: SearchDialect | None = None
    """None: there is nothing to search with."""
    call_proxy: str = ""
    """The tool through which found tools are called; empty: they are called by their own names."""
    told_is_callable: bool = False
    """A tool that a search result names may be called though the tool list does not hold it."""


class DeliveryRun(Protocol):
    """One conversation under a delivery."""

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        """The tool list of the next model call, in its order."""
        ...

    async def answer_search(self, call: ToolCall) -> str:
        """What the search tool says to a call."""
        ...

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        """The rows that its own way of finding tools puts first for one need, best first."""
        ...


class Delivery(Protocol):
    """A way of getting tools to a model."""

    name: str
    source: str
    """Where its behaviour is written down."""
    manner: Manner

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        """Begin a conversation over a view; `k` tools a search."""
        ...


DeliveryMaker: TypeAlias = Callable[[BenchCatalog], Delivery]
"""Makes a delivery over a catalog, building once whatever it indexes; baselines come as these."""


def query_tool(name: str, description: str, query: str) -> ToolSpec:
    """A search tool that takes one argument, its query; `query` says what that is."""
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {"query": {"type": "string", "description": query}},
            "required": ["query"],
        },
    )


def one_call(field: str) -> Callable[[Sequence[str]], Sequence[Arguments]]:
    """Each need in a parallel call of its own, its query under this argument."""
    return lambda queries: [{field: query} for query in queries]
