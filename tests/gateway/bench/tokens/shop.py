"""A small catalog with near neighbours, and conversations over it."""

from collections.abc import Sequence

from gateway.bench.tokens.catalog import BenchCatalog, build_catalog
from gateway.bench.tokens.conversations import Conversation, Need, Turn
from gateway.bench.tokens.meter import RequestMeter
from indexer import RejectedTool, ToolDefinition
from indexer.embedders.hashing import HashingEmbedder

_PARTS = ("order", "invoice", "customer", "parcel", "product", "coupon", "review", "supplier")
_VERBS = {"create": "Create", "delete": "Delete", "list": "List", "refund": "Refund", "update": "Change"}


def _schema(*names: str) -> dict[str, object]:
    properties = {name: {"type": "string", "description": f"The {name} it is about."} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


def shop_tools() -> list[ToolDefinition]:
    """40 tools in 8 namespaces."""
    return [
        ToolDefinition(
            name=f"{verb}_{part}",
            namespace=part,
            description=f"{said} the {part} of a shop. Use it when the user asks to {verb} one {part}.",
            input_schema=_schema(f"{part}_id"),
        )
        for part in _PARTS
        for verb, said in _VERBS.items()
    ]


def single() -> Conversation:
    turn = Turn(
        user="Give the money for A-1 back.", needs=(Need("order/refund_order", ("refund an order",)),), answer="Done."
    )
    return Conversation(id="one", lang="en", kind="single", turns=(turn,))


def three_turns() -> Conversation:
    needs = (Need("parcel/create_parcel", ("create a parcel",)), Need("invoice/list_invoice", ("list invoice",)))
    turns = (
        Turn(user="Refund order A-1.", needs=(Need("order/refund_order", ("refund an order",)),), answer="Refunded."),
        Turn(user="Send a parcel and show the invoices.", needs=needs, answer="Sent."),
        Turn(user="Thank you!", needs=(), answer="You are welcome."),
    )
    return Conversation(id="three", lang="en", kind="multi", turns=turns)


async def shop_catalog(tools: Sequence[ToolDefinition | RejectedTool] | None = None) -> BenchCatalog:
    return await build_catalog(shop_tools() if tools is None else tools, HashingEmbedder(), RequestMeter())
