"""The catalog of a running gateway: over HTTP it answers as the index behind it does."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from gateway.app import build_app
from gateway.errors import RegistryError
from gateway.remote import RemoteError, RemoteGateway
from gateway.remote_index import RemoteToolIndex
from indexer import SearchScope, ToolDefinition, ToolIndex, ToolSearchRequest, model_alias
from tests.gateway.serving import OPERATOR_TOKEN, served, services_of

TOOLS = [
    ToolDefinition(name="refund_order", namespace="shop", description="Refund an order.", tags=("orders",)),
    ToolDefinition(name="list_orders", namespace="shop", description="List orders.", pinned=True),
    ToolDefinition(name="a/b c", namespace="odd", description="A name with a slash and a space."),
]


@asynccontextmanager
async def both() -> AsyncGenerator[tuple[ToolIndex, RemoteToolIndex]]:
    """An index, and the same one through a gateway."""
    async with services_of(*TOOLS) as services:
        app = build_app(services, operator_token=OPERATOR_TOKEN)
        async with served(app, lifespan=True) as url:
            yield services.index, RemoteToolIndex(RemoteGateway(url, token=OPERATOR_TOKEN))


@pytest.mark.parametrize(
    "request_",
    [
        ToolSearchRequest(queries=("refund an order",)),
        ToolSearchRequest(queries=("refund an order", "list orders"), max_results=2),
        ToolSearchRequest(queries=("refund an order",), worth_share=1.0),
        ToolSearchRequest(queries=("refund an order",), min_confidence=1.0),
        ToolSearchRequest(queries=("refund an order",), collapse_duplicates=False),
        ToolSearchRequest(queries=("orders",), scope=SearchScope(tags=frozenset({"orders"}))),
        ToolSearchRequest(queries=("  ",)),
        ToolSearchRequest(queries=("orders",), scope=SearchScope(namespaces=frozenset({"nowhere"}))),
    ],
)
async def test_searches_are_answered_as_by_the_index(request_: ToolSearchRequest) -> None:
    async with both() as (index, remote):
        here, there = await index.search(request_), await remote.search(request_)
    assert [one.definition for one in there.results] == [one.definition for one in here.results]
    assert [one.alias for one in there.results] == [one.alias for one in here.results]
    assert [one.reasons for one in there.results] == [one.reasons for one in here.results]
    assert [one.score for one in there.results] == pytest.approx([one.score for one in here.results], abs=1e-4)
    assert there.empty_reason == here.empty_reason


async def test_a_query_of_any_length_is_answered() -> None:
    """The route takes 2,000 characters of each; models may write more."""
    long = ToolSearchRequest(queries=("refund an order" + " lorem" * 1000, " ", "list orders"))
    async with both() as (index, remote):
        here, there = await index.search(long), await remote.search(long)
    for found in (here, there):
        assert {one.definition.name for one in found.results} >= {"refund_order", "list_orders"}


async def test_a_view_of_no_namespace_sees_nothing() -> None:
    async with both() as (_, remote):
        scope = SearchScope(namespaces=frozenset())
        found = await remote.search(ToolSearchRequest(queries=("refund",), scope=scope))
    assert found.results == () and found.empty_reason == "nothing_in_scope"


async def test_tools_found_before_come_last() -> None:
    async with both() as (_, remote):
        known = frozenset({TOOLS[0].key})
        found = await remote.search(ToolSearchRequest(queries=("refund an order",), already_found=known))
    assert [one.definition.name for one in found.results][-1] == "refund_order"
    assert found.empty_reason == ""


async def test_an_answer_of_tools_found_before_says_so_as_the_index_does() -> None:
    asked = ToolSearchRequest(queries=("refund an order",), already_found=frozenset(one.key for one in TOOLS))
    async with both() as (index, remote):
        here, there = await index.search(asked), await remote.search(asked)
    assert here.results and there.results
    assert (here.empty_reason, there.empty_reason) == ("all_already_found", "all_already_found")


async def test_aliases_are_resolved_and_unknown_ones_left_out() -> None:
    async with both() as (index, remote):
        names = [*(model_alias(tool.key) for tool in TOOLS), "no_such_tool", " ", "", "x" * 3000, "a/b c", "\ud83d"]
        assert await remote.resolve(names, SearchScope()) == await index.resolve(names, SearchScope())


async def test_listing_reading_and_counting_agree() -> None:
    async with both() as (index, remote):
        scope = SearchScope()
        here = await index.list_tools(scope)
        there = await remote.list_tools(scope)
        assert [(one.definition, one.content_hash, one.revision) for one in there] == [
            (one.definition, one.content_hash, one.revision) for one in here
        ]
        assert [one.name for one in await remote.pinned(scope)] == ["list_orders"]
        assert await remote.namespaces(scope) == await index.namespaces(scope)
        assert await remote.stats() == await index.stats()
        stored = await remote.get(TOOLS[2].key)
        assert stored is not None and stored.definition == TOOLS[2]


async def test_deleting_counts_what_was_there_and_registering_is_the_gateways_own() -> None:
    async with both() as (index, remote):
        assert await remote.delete([TOOLS[2].key, TOOLS[2].key]) == 1
        assert await index.get(TOOLS[2].key) is None
        assert await remote.get(TOOLS[2].key) is None
        with pytest.raises(RegistryError, match="/v1/tools/bulk"):
            await remote.register([])


async def test_a_refusal_tells_its_status_and_reason() -> None:
    async with services_of() as services:
        app = build_app(services, operator_token=OPERATOR_TOKEN)
        async with served(app, lifespan=True) as url:
            remote = RemoteToolIndex(RemoteGateway(url))
            with pytest.raises(RemoteError, match="422") as refused:
                await remote.search(ToolSearchRequest(queries=("refund",), max_results=0))
    assert refused.value.status == 422


async def test_a_gateway_that_is_away_is_named() -> None:
    remote = RemoteToolIndex(RemoteGateway("http://127.0.0.1:9"))
    with pytest.raises(RemoteError, match=r"127\.0\.0\.1:9 cannot be reached"):
        await remote.stats()
