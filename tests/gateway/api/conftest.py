"""A gateway with one tool in its catalog, and a client of it."""

from collections.abc import AsyncGenerator

import httpx
import pytest

from indexer import ToolDefinition
from tests.gateway.serving import http_client, services_of

REFUND = ToolDefinition(
    name="refund_order",
    namespace="shop",
    description="Refund a paid order.",
    tags=("orders",),
    input_schema={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
)


@pytest.fixture
async def client() -> AsyncGenerator[httpx.AsyncClient]:
    async with services_of(REFUND) as services, http_client(services) as client:
        yield client
