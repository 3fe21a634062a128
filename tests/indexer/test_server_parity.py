"""A catalog searched on its server beside the same one in a replica: the same tools, scores and reasons."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from indexer.definition import ToolDefinition
from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.index import ToolIndex
from indexer.search import SearchScope, ToolReference, ToolSearchRequest
from indexer.settings import IndexerSettings
from tests.indexer.catalogs import tool
from tests.indexer.on_server import on_server, opened, settings_for
from tests.qdrant_stub.server import running_stub

_DEEDS = {"create": "Creates", "delete": "Deletes for good", "list": "Lists all of", "update": "Changes"}
_THINGS = {
    "invoice": "an invoice with its customer, its date and what is to be paid",
    "ticket": "a ticket of the help desk",
    "mailbox": "a mailbox",
    "branch": "a branch of a repository, its head and who may push to it",
    "recipe": "a recipe of a meal",
    "bucket": "a bucket in the object storage, with its region, its owner and its permissions",
}
_PROVIDERS = ("acme", "globex", "initech")
CATALOG = [
    tool(
        f"{deed}_{thing}",
        f"{does} {what}.",
        namespace=provider,
        tags=(thing,),
        trust="trusted" if provider == "acme" else "community",
        input_schema={
            "type": "object",
            "properties": {
                f"{thing}_id": {"type": "string", "description": f"Which {thing}."},
                **({"limit": {"type": "integer", "description": "How many at most."}} if deed == "list" else {}),
                **({f"{provider}_account": {"type": "string"}} if deed != "list" else {}),
            },
        },
    )
    for provider in _PROVIDERS
    for thing, what in _THINGS.items()
    for deed, does in _DEEDS.items()
]
ACME = SearchScope(namespaces=frozenset({"acme"}))
NARROW = SearchScope(tools=frozenset(definition.key for definition in CATALOG[:12]))
WIDE = SearchScope(namespaces=frozenset({"acme", "globex"}))
TRUSTED = SearchScope(trust=frozenset({"trusted"}))
SAID = "The customer of Globex paid twice; find out what was written and mend it."
LONG = "Make a new branch in the repository. Then open a ticket at the help desk! Finally remove the old recipe."
REQUESTS = [
    *(ToolSearchRequest(queries=(f"{deed} my {thing}",)) for deed in _DEEDS for thing in _THINGS),
    ToolSearchRequest(queries=("버킷 목록 보여줘",)),
    ToolSearchRequest(queries=("버킷을 지워 줘", "make an invoice"), max_results=6),
    ToolSearchRequest(queries=(LONG,), max_results=8),
    ToolSearchRequest(queries=("water the plants on the balcony",)),
    ToolSearchRequest(queries=("water the plants on the balcony",), min_confidence=0.5),
    ToolSearchRequest(queries=("what is to be paid",), context=SAID),
    ToolSearchRequest(queries=("what is to be paid",), context=SAID, used_namespaces=frozenset({"initech"})),
    ToolSearchRequest(queries=("remove a mailbox",), used_namespaces=frozenset({"globex"})),
    ToolSearchRequest(queries=("remove a mailbox",), collapse_duplicates=False, max_results=10),
    ToolSearchRequest(queries=("remove a mailbox",), already_found=frozenset({CATALOG[9].key})),
    ToolSearchRequest(queries=("who may push",), worth_share=0.6, max_results=10),
    ToolSearchRequest(queries=("delete_bucket, or the list of invoices",)),
    ToolSearchRequest(queries=("select:list_ticket",)),
    *(ToolSearchRequest(queries=("show every ticket",), scope=scope) for scope in (ACME, NARROW, WIDE, TRUSTED)),
]


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[IndexerSettings]:
    with running_stub() as (_, server):
        yield settings_for(server, tmp_path)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return make_embedder("static")


@pytest.fixture
async def both(settings: IndexerSettings, embedder: Embedder) -> AsyncGenerator[tuple[ToolIndex, ToolIndex]]:
    """The replica, and the server alone, of one collection; both measured."""
    async with opened(settings, budget_mb=None, embedder=embedder) as (replica, _):
        await replica.register(CATALOG)
        async with on_server(settings, embedder=embedder) as (server, _):
            await server.measured()
            yield replica, server


def without_score(found: ToolReference) -> tuple[object, ...]:
    return found.alias, found.reasons, found.query, found.also_in, found.also_as


async def test_what_the_replica_finds_the_server_finds_in_the_same_order_with_the_same_scores(
    both: tuple[ToolIndex, ToolIndex],
) -> None:
    replica, server = both
    for request in REQUESTS:
        expected, found = await replica.search(request), await server.search(request)
        assert list(map(without_score, found.results)) == list(map(without_score, expected.results)), request
        assert [one.score for one in found.results] == pytest.approx([one.score for one in expected.results], abs=1e-3)
        assert (found.empty_reason, found.calibrating, found.catalog_revision) == (expected.empty_reason, False, 72)


async def test_requests_that_nothing_serves_are_weak_and_those_that_something_serves_are_not(
    both: tuple[ToolIndex, ToolIndex],
) -> None:
    _, server = both

    async def best(query: str) -> ToolReference:
        return (await server.search(ToolSearchRequest(queries=(query,)))).results[0]

    served = [await best(query) for query in ("list the buckets of the object storage", "create an invoice")]
    foreign = [await best(query) for query in ("iron the shirts for tomorrow", "sing me a song about the sea")]
    assert not any("weak match" in found.reasons for found in served)
    assert all("weak match" in found.reasons for found in foreign)
    assert min(found.score for found in served) > 0.5 > max(found.score for found in foreign)


MAILS = [
    *(
        ToolDefinition(namespace=name, name="SendEmail", description="Sends an e-mail message.")
        for name in ("ses", "pinpoint", "gmail")
    ),
    tool("refunds_insert", "Gives a customer money back.", namespace="shop"),
    tool("forecast_get", "Weather forecast for a city.", namespace="weather"),
]


async def test_what_the_user_said_and_what_was_used_decide_among_equals(
    settings: IndexerSettings, embedder: Embedder
) -> None:
    async with on_server(settings, embedder=embedder) as (server, _):
        await server.register(MAILS)
        await server.measured()

        async def best(**told: object) -> str:
            request = ToolSearchRequest(queries=("send an e-mail message",), **told)  # pyright: ignore[reportArgumentType]
            return str((await server.search(request)).results[0].definition.key)

        assert await best(context="Write to lena@example.com from my Gmail that we are late.") == "gmail/SendEmail"
        for used in ("ses", "pinpoint", "gmail"):
            assert await best(used_namespaces=frozenset({used})) == f"{used}/SendEmail"
