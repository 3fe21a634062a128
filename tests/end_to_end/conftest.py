"""The real OpenAI client before a running gateway before a scripted upstream, each over HTTP."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest
from openai import AsyncOpenAI

from gateway.app import build_app
from gateway.chat.exchange import Usage
from gateway.models.scripted import ScriptedChatModel
from gateway.models.scripted_server import ScriptedServer
from gateway.services import Services
from gateway.settings import GatewaySettings
from indexer import ToolDefinition, ToolExecutor
from tests.gateway.serving import served, services_of

REFUND = ToolDefinition(
    name="refund_order",
    namespace="shop",
    description="Refund a paid order.",
    input_schema={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
)
"""Belongs to the caller."""
LIST_BUCKETS = ToolDefinition(
    name="ListBuckets",
    namespace="aws-s3",
    description="List the S3 buckets of the account.",
    output_schema={"type": "object", "properties": {"Owner": {"type": "string"}}},
    executor=ToolExecutor(kind="simulated"),
)
"""Runs in the gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A script, what the upstream has received, and a client of the gateway between the two."""

    script: ScriptedChatModel
    upstream: ScriptedServer
    services: Services
    client: AsyncOpenAI
    url: str


@pytest.fixture
async def stage() -> AsyncGenerator[Stage]:
    script = ScriptedChatModel(
        count_usage=lambda prompt, message: Usage(
            prompt_tokens=100, completion_tokens=10, details={"prompt_tokens_details": {"cached_tokens": 40}}
        )
    )
    upstream = ScriptedServer(script)
    async with served(upstream) as upstream_url:
        settings = GatewaySettings(
            upstream_url=f"{upstream_url}/v1", upstream_key="upstream-key", api_key="gateway-key"
        )
        async with (
            services_of(REFUND, LIST_BUCKETS, settings=settings) as services,
            served(build_app(services), lifespan=True) as url,
            AsyncOpenAI(base_url=f"{url}/v1", api_key="gateway-key", max_retries=0) as client,
        ):
            yield Stage(script=script, upstream=upstream, services=services, client=client, url=url)
