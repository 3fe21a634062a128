"""Searches that wait together are answered together, each as if it had been alone."""

import threading
from collections.abc import Callable, Sequence
from typing import cast

import anyio
import anyio.from_thread
import pytest

from indexer.answering import INLINE_BATCH, SearchLane
from indexer.document import document_of
from indexer.embedders.factory import make_embedder
from indexer.embedders.remembering import RememberingEmbedder
from indexer.engine import embed_tools
from indexer.finding import find_together, find_tools
from indexer.replica import Replica
from indexer.replica_state import ReplicaState
from indexer.search import SearchScope, ToolSearchRequest, ToolSearchResponse
from indexer.stores.base import StoredTool
from tests.indexer.catalogs import SHOP

ASKED = (
    ToolSearchRequest(queries=("refund an order",)),
    ToolSearchRequest(queries=("what is the weather", "send an email")),
    ToolSearchRequest(queries=("Refund the order. Then send an email to the customer. Check the weather in Seoul.",)),
    ToolSearchRequest(queries=("refund an order",), scope=SearchScope(namespaces=frozenset({"mail"}))),
    ToolSearchRequest(queries=("select:refund_order", "convert money")),
    ToolSearchRequest(queries=("",)),
)


class Recorder:
    """Answers with the names of what was asked, and notes who was asked together."""

    def __init__(self, *, fail_on: str = "") -> None:
        self.batches: list[list[str]] = []
        self._fail_on = fail_on

    def __call__(self, state: ReplicaState, requests: Sequence[ToolSearchRequest]) -> list[ToolSearchResponse]:
        queries = [request.queries[0] for request in requests]
        self.batches.append(queries)
        if self._fail_on in queries:
            raise ValueError("no")
        return [ToolSearchResponse(results=(), catalog_revision=0, namespaces=request.queries) for request in requests]


def lane_of(answer: Recorder, *, inline: Callable[[], bool] = lambda: True) -> tuple[SearchLane, ReplicaState]:
    return SearchLane(answer, may_hold_loop=inline), Replica(4).state


def named(name: str) -> ToolSearchRequest:
    return ToolSearchRequest(queries=(name,))


@pytest.mark.parametrize("inline", [True, False])
async def test_many_that_ask_at_once_are_answered_in_few_batches_each_with_its_own(inline: bool) -> None:
    answer = Recorder()
    lane, state = lane_of(answer, inline=lambda: inline)
    found: dict[str, tuple[str, ...]] = {}

    async def ask(name: str) -> None:
        found[name] = (await lane.search(state, named(name))).namespaces

    async with anyio.create_task_group() as group:
        for number in range(3 * INLINE_BATCH):
            group.start_soon(ask, str(number))

    assert found == {str(number): (str(number),) for number in range(3 * INLINE_BATCH)}
    assert len(answer.batches) <= 4
    assert max(map(len, answer.batches)) >= INLINE_BATCH


async def test_requests_of_different_states_are_not_answered_together() -> None:
    answer = Recorder()
    lane, state = lane_of(answer)
    other = Replica(4).state
    async with anyio.create_task_group() as group:
        for name, asked in (("a", state), ("b", other), ("c", state)):
            group.start_soon(lane.search, asked, named(name))

    assert sorted(map(sorted, answer.batches)) == [["a", "c"], ["b"]]


async def test_a_search_that_fails_does_not_fail_those_beside_it() -> None:
    lane, state = lane_of(Recorder(fail_on="bad"))
    outcomes: list[str] = []

    async def ask(name: str) -> None:
        try:
            await lane.search(state, named(name))
            outcomes.append(name)
        except ValueError:
            outcomes.append(f"{name} failed")

    async with anyio.create_task_group() as group:
        for name in ("good", "bad", "fine"):
            group.start_soon(ask, name)

    assert sorted(outcomes) == ["bad failed", "fine", "good"]


@pytest.mark.parametrize("inline", [True, False])
async def test_whoever_is_cancelled_the_others_are_answered(inline: bool) -> None:
    for cancelled in range(4):
        lane, state = lane_of(Recorder(), inline=lambda: inline)
        answered: list[int] = []
        scopes = [anyio.CancelScope() for _ in range(4)]

        async def ask(
            number: int, lane: SearchLane, state: ReplicaState, scope: anyio.CancelScope, answered: list[int]
        ) -> None:
            with scope:
                await lane.search(state, named(str(number)))
                answered.append(number)

        async with anyio.create_task_group() as group:
            for number, scope in enumerate(scopes):
                group.start_soon(ask, number, lane, state, scope, answered)
            await anyio.lowlevel.checkpoint()
            scopes[cancelled].cancel()

        assert {0, 1, 2, 3} - set(answered) <= {cancelled}
        with anyio.fail_after(5):
            assert (await lane.search(state, named("again"))).namespaces == ("again",)


async def test_all_are_cancelled_while_they_are_answered_and_the_next_one_is_answered() -> None:
    """In either order: those whom a leader answers for may leave before it does."""
    for order in ((0, 1), (1, 0)):
        begun, go_on = anyio.Event(), threading.Event()

        def answer(
            _: ReplicaState,
            requests: Sequence[ToolSearchRequest],
            begun: anyio.Event = begun,
            go_on: threading.Event = go_on,
        ) -> list[ToolSearchResponse]:
            if requests[0].queries[0] == "0":
                anyio.from_thread.run_sync(begun.set)
                go_on.wait(5)
            return [ToolSearchResponse(results=(), catalog_revision=0, namespaces=one.queries) for one in requests]

        lane, state = SearchLane(answer, may_hold_loop=lambda: False), Replica(4).state
        scopes = [anyio.CancelScope(), anyio.CancelScope()]

        async def ask(
            name: str, scope: anyio.CancelScope, lane: SearchLane = lane, state: ReplicaState = state
        ) -> None:
            with scope:
                await lane.search(state, named(name))

        async with anyio.create_task_group() as group:
            for number, scope in enumerate(scopes):
                group.start_soon(ask, str(number), scope)
            await begun.wait()
            for number in order:
                scopes[number].cancel()

        with anyio.fail_after(5):
            assert (await lane.search(state, named("again"))).namespaces == ("again",)
        go_on.set()


async def test_one_that_is_cancelled_as_its_turn_to_answer_comes_hands_it_on() -> None:
    lane, _ = lane_of(Recorder())
    answered: list[str] = []
    second = anyio.CancelScope()

    async def ask(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            await lane.search(Replica(4).state, named(name))  # none that another could answer with its own
            answered.append(name)
            second.cancel()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for name, scope in (("first", anyio.CancelScope()), ("second", second), ("third", anyio.CancelScope())):
                group.start_soon(ask, name, scope)

    assert answered == ["first", "third"]


def test_together_finds_what_each_alone_finds() -> None:
    embedder = make_embedder("static")
    vectors = embed_tools(embedder, [document_of(one) for one in SHOP])
    replica = Replica(embedder.dimensions)
    replica.apply(
        [
            StoredTool(definition=one, content_hash=one.content_hash, revision=number, vector=vector)
            for number, (one, vector) in enumerate(zip(SHOP, vectors, strict=True), start=1)
        ]
    )
    together = find_together(replica.state, ASKED, embedder)

    for request, answer in zip(ASKED, together, strict=True):
        alone = find_tools(replica.state, request, embedder)
        assert [one.definition.key for one in answer.results] == [one.definition.key for one in alone.results]
        assert [one.score for one in answer.results] == pytest.approx([one.score for one in alone.results], abs=2e-4)
        assert (answer.degraded, answer.empty_reason) == (alone.degraded, alone.empty_reason)


def test_a_query_is_read_once_and_its_vector_is_that_of_the_encoder() -> None:
    inner = make_embedder("static")
    read: list[str] = []

    class Listening:
        embedder_id, dimensions = inner.embedder_id, inner.dimensions
        embed_documents = inner.embed_documents

        def embed_queries(self, texts: Sequence[str]) -> object:
            read.extend(texts)
            return inner.embed_queries(texts)

    remembering = RememberingEmbedder(cast("RememberingEmbedder", Listening()))
    assert not remembering.is_quick
    first = remembering.embed_queries(["refund an order", "weather"])
    second = remembering.embed_queries(["weather", "send mail", "weather"])

    assert read == ["refund an order", "weather", "send mail"]
    assert first[1].tolist() == second[0].tolist() == second[2].tolist() == inner.embed_queries(["weather"])[0].tolist()
    assert second.shape == (3, inner.dimensions)
