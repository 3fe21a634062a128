"""A second look at the results, and what happens when it fails."""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from indexer.index import ToolIndex
from indexer.reranking import KeepOrder, Reranker, RerankingToolIndex
from indexer.search import ToolReference, ToolSearchRequest
from tests.indexer.catalogs import SHOP, make_index

ORDERS = ToolSearchRequest(queries=("an order of a customer",), max_results=2)


class Backwards:
    """The last of the search is the best; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def rerank(self, query: str, candidates: Sequence[ToolReference]) -> Sequence[float]:
        self.asked.append((query, len(candidates)))
        return list(range(len(candidates)))


class Stuck:
    """Never answers, and notes that it was cancelled."""

    cancelled = False

    async def rerank(self, query: str, candidates: Sequence[ToolReference]) -> Sequence[float]:
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled = True
        return []


class Broken:
    """Raises, or answers with what is no score."""

    def __init__(self, answer: Sequence[float] | None = None) -> None:
        self._answer = answer

    async def rerank(self, query: str, candidates: Sequence[ToolReference]) -> Sequence[float]:
        if self._answer is None:
            raise RuntimeError("out of order")
        return self._answer


async def reranked(reranker: Reranker, timeout_seconds: float = 5) -> tuple[ToolIndex, RerankingToolIndex]:
    index = make_index()
    wrapped = RerankingToolIndex(index, reranker, timeout_seconds=timeout_seconds)
    await wrapped.register(SHOP)
    return index, wrapped


def names(results: Sequence[ToolReference]) -> list[str]:
    return [one.definition.name for one in results]


async def test_without_a_reranker_the_answer_says_that_it_is_off() -> None:
    index = make_index()
    await index.register(SHOP)
    assert (await index.search(ORDERS)).reranking == "off"


async def test_the_reranker_sees_more_than_was_asked_for_and_sets_the_order() -> None:
    backwards = Backwards()
    index, wrapped = await reranked(backwards)
    every = await index.search(replace(ORDERS, max_results=20))
    response = await wrapped.search(ORDERS)
    assert response.reranking == "done"
    assert names(response.results) == names(every.results)[::-1][:2]
    assert backwards.asked == [(ORDERS.queries[0], len(every.results))]


async def test_a_reranker_that_keeps_the_order_changes_nothing() -> None:
    index, wrapped = await reranked(KeepOrder())
    assert (await wrapped.search(ORDERS)).results == (await index.search(ORDERS)).results


async def test_each_need_is_reranked_by_itself_and_the_places_are_shared() -> None:
    backwards = Backwards()
    _, wrapped = await reranked(backwards)
    response = await wrapped.search(replace(ORDERS, queries=("cancel an order", "weather of a city")))
    assert {query for query, _ in backwards.asked} == {"cancel an order", "weather of a city"}
    assert {one.query for one in response.results} == {"cancel an order", "weather of a city"}


async def test_exact_names_stay_first_and_known_tools_come_last() -> None:
    _, wrapped = await reranked(Backwards())
    response = await wrapped.search(replace(ORDERS, queries=("cancel_order",), max_results=5))
    assert names(response.results)[0] == "cancel_order"
    known = frozenset({SHOP[0].key})
    response = await wrapped.search(replace(ORDERS, max_results=5, already_found=known))
    assert names(response.results)[-1] == "refund_order"
    everything = frozenset(one.key for one in SHOP)
    response = await wrapped.search(replace(ORDERS, already_found=everything))
    assert response.empty_reason == "all_already_found"


async def test_a_reranker_that_takes_too_long_is_cancelled_and_the_answer_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stuck = Stuck()
    index, wrapped = await reranked(stuck, timeout_seconds=0.01)
    with anyio.fail_after(5):
        response = await wrapped.search(ORDERS)
    assert response.reranking == "timeout"
    assert response.results == (await index.search(ORDERS)).results
    assert stuck.cancelled
    assert "more than 0.01 s" in caplog.text


@pytest.mark.parametrize("reranker", [Broken(), Broken([1.0]), Broken([math.nan] * 5)])
async def test_a_reranker_that_fails_costs_its_gain_and_not_the_answer(
    reranker: Reranker, caplog: pytest.LogCaptureFixture
) -> None:
    index, wrapped = await reranked(reranker)
    with caplog.at_level(logging.ERROR):
        response = await wrapped.search(replace(ORDERS, worth_share=1.0))
    assert response.reranking == "failed"
    assert response.results == (await index.search(replace(ORDERS, worth_share=1.0))).results
    assert "the reranker failed" in caplog.text


async def test_a_cancelled_search_ends_at_once() -> None:
    _, wrapped = await reranked(Stuck())
    with anyio.fail_after(5), anyio.move_on_after(0.01) as scope:
        await wrapped.search(ORDERS)
    assert scope.cancelled_caught


async def test_an_empty_answer_is_the_one_of_the_search() -> None:
    backwards = Backwards()
    index, wrapped = await reranked(backwards)
    nothing = replace(ORDERS, queries=("select:nowhere",))
    response = await wrapped.search(nothing)
    assert replace(response, took_ms=0) == replace(await index.search(nothing), took_ms=0)
    assert backwards.asked == []


async def test_everything_else_goes_to_the_index_within() -> None:
    index, wrapped = await reranked(KeepOrder())
    scope = ORDERS.scope
    assert await wrapped.get(SHOP[0].key) == await index.get(SHOP[0].key)
    assert await wrapped.resolve(["shop__refund_order"], scope) == await index.resolve(["shop__refund_order"], scope)
    assert await wrapped.list_tools(scope) == await index.list_tools(scope)
    assert await wrapped.namespaces(scope) == await index.namespaces(scope)
    assert await wrapped.pinned(scope) == await index.pinned(scope)
    assert await wrapped.stats() == await index.stats()
    assert await wrapped.delete([SHOP[0].key]) == 1
    await wrapped.aclose()
