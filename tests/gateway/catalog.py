"""A real, small catalog in memory for the tests of the loop."""

from collections.abc import Iterable

from indexer import ToolDefinition, ToolIndex
from indexer.embedders.hashing import HashingEmbedder
from indexer.stores.memory import MemoryToolStore
from indexer.validation import judge
from indexer.vector_index import VectorToolIndex
from indexer.writing import CatalogWriter


def text_parameters(*names: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }


REFUND = ToolDefinition(
    name="refund_order",
    description="Refund a customer's order. Use it when money has to go back.",
    input_schema=text_parameters("order_id"),
)
WEATHER = ToolDefinition(
    name="get_weather",
    description="Weather forecast for a city.",
    input_schema=text_parameters("city"),
)
MAIL = ToolDefinition(
    name="send_email", description="Send an e-mail message to a person.", input_schema=text_parameters("to", "body")
)
BUCKETS = ToolDefinition(
    name="list_buckets", namespace="storage", description="List storage buckets.", input_schema=text_parameters()
)
ALL = (REFUND, WEATHER, MAIL, BUCKETS)


async def catalog(definitions: Iterable[ToolDefinition] = ALL) -> ToolIndex:
    """An index over a memory store with the hashing encoder."""
    embedder = HashingEmbedder()
    store = MemoryToolStore(embedder.dimensions)
    index = VectorToolIndex(CatalogWriter(store, embedder, judge, store_id="memory"), embedder, store_kind="memory")
    report = await index.register(definitions)
    assert not report.quarantined and not report.refused
    return index
