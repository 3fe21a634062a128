"""An optional second look at what a search found: `Reranker`, and an index that asks one; off unless it is wrapped."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final, Protocol, final

import anyio
from typing_extensions import override

from indexer.definition import ToolKey
from indexer.forwarding import ForwardingToolIndex
from indexer.index import ToolIndex
from indexer.ranking import share_places
from indexer.search import Reranking, ToolReference, ToolSearchRequest, ToolSearchResponse

_log = logging.getLogger(__name__)

DEFAULT_CANDIDATES: Final = 20
DEFAULT_TIMEOUT_SECONDS: Final = 2.0


class Reranker(Protocol):
    """Scores candidates for a query: a cross-encoder, or a model that is asked."""

    async def rerank(self, query: str, candidates: Sequence[ToolReference]) -> Sequence[float]:
        """One finite score a candidate, higher is better; any scale. May raise: the order then stays as it was."""
        ...


@final
class KeepOrder:
    """A `Reranker` that changes nothing: for tests, and to measure what asking costs."""

    async def rerank(self, query: str, candidates: Sequence[ToolReference]) -> Sequence[float]:
        return [-float(place) for place in range(len(candidates))]


@final
class RerankingToolIndex(ForwardingToolIndex):
    """A `ToolIndex` whose searches are looked at again; everything else goes to the index within.

    Exact names stay first, and tools that the caller has come last. Where the reranker fails or takes longer than
    `timeout_seconds` in all, the answer is the one without it, and says so (`ToolSearchResponse.reranking`). Scores
    and reasons stay those of the search; `worth_share` holds only there, for a reranker's scale is its own.
    """

    def __init__(
        self,
        index: ToolIndex,
        reranker: Reranker,
        *,
        candidates: int = DEFAULT_CANDIDATES,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        """`candidates`: how many of all needs together are looked at, at least as many as a request wants."""
        super().__init__(index)
        self._reranker = reranker
        self._candidates = candidates
        self._timeout_seconds = timeout_seconds

    @override
    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        started = perf_counter()
        plenty = replace(request, max_results=max(request.max_results, self._candidates), worth_share=0.0)
        found = await self._index.search(plenty)
        if request.max_results < 1 or not found.results:
            return await self._index.search(request)
        reranking, results = await self._reordered(request, found.results)
        if reranking == "done":
            known = all(one.definition.key in request.already_found for one in results)
            answer = replace(found, results=results, empty_reason="all_already_found" if known else "")
        else:
            answer = await self._index.search(request)
        took_ms = round((perf_counter() - started) * 1e3, 3)
        return replace(answer, reranking=reranking, took_ms=took_ms)

    async def _reordered(
        self, request: ToolSearchRequest, found: Sequence[ToolReference]
    ) -> tuple[Reranking, tuple[ToolReference, ...]]:
        by_need: dict[str, list[ToolReference]] = {}
        for reference in found:
            by_need.setdefault(reference.query, []).append(reference)
        scores: dict[ToolKey, float] = {}

        async def score(query: str, candidates: Sequence[ToolReference]) -> None:
            given = await self._reranker.rerank(query, candidates)
            if len(given) != len(candidates) or not all(map(math.isfinite, given)):
                raise ValueError(f"the reranker gave {len(given)} scores, not {len(candidates)} finite ones")
            scores.update(zip((one.definition.key for one in candidates), given, strict=True))

        try:
            with anyio.fail_after(self._timeout_seconds):
                async with anyio.create_task_group() as needs:
                    for query, candidates in by_need.items():
                        needs.start_soon(score, query, candidates)
        except TimeoutError:
            _log.warning("the reranker took more than %g s; the order stays as it was", self._timeout_seconds)
            return "timeout", ()
        except Exception:  # noqa: BLE001  whatever a reranker raises must cost its gain, not the answer
            _log.exception("the reranker failed; the order stays as it was")
            return "failed", ()
        return "done", _places(request, by_need.values(), scores)


def _places(
    request: ToolSearchRequest, needs: Iterable[Sequence[ToolReference]], scores: dict[ToolKey, float]
) -> tuple[ToolReference, ...]:
    """The best of each need in turn: exact names first, then by score, of equal ones in the order of the search."""
    ordered = [
        sorted(need, key=lambda one: (one.score < 1.0, 0.0 if one.score == 1.0 else -scores[one.definition.key]))
        for need in needs
    ]
    places = share_places(
        [[one.definition.key for one in need] for need in ordered], request.max_results, request.already_found
    )
    by_key = {one.definition.key: one for need in ordered for one in need}
    return tuple(by_key[key] for key, _ in places)
