"""From outcomes to figures with intervals; pure.

Cases of one conversation under several seeds are not independent, so intervals come from drawing conversations, each
with the mean of its seeds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gateway.bench.tokens.prefix_cache import CACHE_RULES, Block, CacheUse, RequestBlocks
from gateway.bench.tokens.prices import ModelPrice
from gateway.bench.tokens.sweep import ALL_TOOLS, APPEND, PASSTHROUGH, Case, Outcome, Sweep

Values = npt.NDArray[np.float64]
"""(conversations,) one value each."""

_RESAMPLES: Final = 1_000
_SEED: Final = 7
_HALVINGS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyModel:
    """What a request adds to a task, where nothing was measured. The time to read a longer prompt is left out, which
    favours long prompts.
    """

    seconds_per_request: float = 0.8
    seconds_per_search: float = 0.01
    """Of the product at 30,000 tools it is about half of that; the same for all."""
    output_tokens_per_second: float = 80.0

    def seconds(self, outcome: Outcome) -> float:
        writing = outcome.completion_tokens / self.output_tokens_per_second
        return outcome.requests * self.seconds_per_request + outcome.searches * self.seconds_per_search + writing


class Estimate(NamedTuple):
    """A mean or a ratio, with its 95 % interval."""

    value: float
    low: float
    high: float

    def record(self, digits: int) -> list[float]:
        return [_rounded(self.value, digits), _rounded(self.low, digits), _rounded(self.high, digits)]


class Summary:
    """Figures of one group of cases: conversations of so many turns, or in one language, or all."""

    def __init__(
        self, sweep: Sweep, prices: Sequence[ModelPrice], latency: LatencyModel, wanted: Callable[[Case], bool]
    ) -> None:
        self._sweep = sweep
        self._prices = prices
        self._latency = latency
        places: dict[str, list[int]] = {}
        for place, case in enumerate(sweep.cases):
            if wanted(case):
                places.setdefault(case.conversation.id, []).append(place)
        self._places = list(places.values())
        self.conversations = len(self._places)

    def rows(self, outcomes: dict[tuple[str, int], list[Outcome]]) -> list[dict[str, Any]]:
        """A record for each (size, delivery)."""
        found = [
            self._row(name, size, outcomes[name, size], outcomes[ALL_TOOLS, size])
            for size in self._sweep.sizes
            for name in (*self._sweep.deliveries, PASSTHROUGH)
            if (name, size) in outcomes
        ]
        return found

    def _row(self, name: str, size: int, own: Sequence[Outcome], plain: Sequence[Outcome]) -> dict[str, Any]:
        turns = self._mean(lambda place: float(len(self._sweep.cases[place].conversation.turns)))
        seconds = self._mean(lambda place: self._latency.seconds(own[place]))
        plain_seconds = self._mean(lambda place: self._latency.seconds(plain[place]))
        requests = self._mean(lambda place: own[place].requests)
        prompt, all_prompt = (self._mean(lambda place, kind=kind: kind[place].prompt_tokens) for kind in (own, plain))
        return {
            "delivery": name,
            "tools": size,
            "prompt_tokens": mean_of(prompt).record(1),
            "saved": saved(prompt, all_prompt).record(5),
            "completion_tokens": round(float(self._mean(lambda place: own[place].completion_tokens).mean()), 1),
            "cost": [self._cost(price, own, plain) for price in self._prices],
            "completeness_at_k": mean_of(self._mean(lambda place: own[place].complete)).record(4),
            "all_visible_when_needed": mean_of(self._mean(lambda place: float(own[place].right))).record(4),
            "wrong_calls": round(float(self._mean(lambda place: own[place].wrong_calls).mean()), 3),
            "requests_per_turn": round(float(requests.sum() / turns.sum()), 3),
            "searches_per_turn": round(float(self._mean(lambda place: own[place].searches).sum() / turns.sum()), 3),
            "added_seconds_per_turn": round(float((seconds - plain_seconds).sum() / turns.sum()), 3),
        }

    def _cost(self, price: ModelPrice, own: Sequence[Outcome], plain: Sequence[Outcome]) -> dict[str, Any]:
        def prompt(outcome: Outcome) -> float:
            return price.weighted(outcome.cache[price.rule])

        def whole(outcome: Outcome) -> float:
            return price.weighted(outcome.cache[price.rule], outcome.completion_tokens)

        mine, others = (self._mean(lambda place, kind=kind: prompt(kind[place])) for kind in (own, plain))
        mine_whole, others_whole = (self._mean(lambda place, kind=kind: whole(kind[place])) for kind in (own, plain))
        uses = [self._mean(lambda place, part=part: own[place].cache[price.rule][part]) for part in range(3)]
        read, written, rest = (round(float(use.mean()), 1) for use in uses)
        return {
            "model": price.model,
            "cached_read": read,
            "cache_written": written,
            "uncached": rest,
            "weighted_prompt_tokens": mean_of(mine).record(1),
            "weighted_saved": saved(mine, others).record(5),
            "weighted_with_output": mean_of(mine_whole).record(1),
            "weighted_with_output_saved": saved(mine_whole, others_whole).record(5),
        }

    def _mean(self, value: Callable[[int], float]) -> Values:
        """(conversations,) of each its mean over seeds."""
        return np.array([sum(map(value, places)) / len(places) for places in self._places], dtype=np.float64)

    def break_even(self, price: ModelPrice | None) -> dict[str, Any] | None:
        """Below which catalog tool search costs more than all tools: in tools and in tokens; in tokens sent, or at a
        price. None without cases.
        """
        if not self._places:
            return None
        tokens = self._mean(lambda place: self._even(place, price)[0])
        tools = self._mean(lambda place: self._even(place, price)[1])
        return {
            "by": "tokens sent" if price is None else f"price of {price.model}",
            "catalog_tokens": mean_of(tokens).record(0),
            "tools": mean_of(tools).record(1),
        }

    def _even(self, place: int, price: ModelPrice | None) -> tuple[float, float]:
        sweep = self._sweep
        searched = next((size for size in sweep.sizes if size >= 100), sweep.sizes[-1])
        first = sweep.sizes[0]
        own, plain = sweep.outcomes[APPEND, searched][place], sweep.outcomes[ALL_TOOLS, first][place]
        if price is None:
            base = plain.prompt_tokens - plain.requests * plain.catalog_tokens
            tokens = max(0.0, (own.prompt_tokens - base) / plain.requests)
        else:
            target = price.weighted(own.cache[price.rule], own.completion_tokens)
            tokens = _even_at(target, sweep.all_tools_requests[first][place], price, plain.completion_tokens)
        cumulated = sweep.cases[place].cumulated
        count = float(np.searchsorted(cumulated, tokens, side="right"))
        if count == len(cumulated):  # beyond what was laid out: at the mean of what was
            count = tokens * len(cumulated) / float(cumulated[-1])
        return tokens, count


def _even_at(target: float, requests: Sequence[RequestBlocks], price: ModelPrice, completion_tokens: int) -> float:
    """The catalog tokens at which all tools cost as much as `target`, by halving: more tokens never cost less."""
    rule = CACHE_RULES[price.rule]

    def cost(catalog_tokens: int) -> float:
        whole = [
            RequestBlocks(system=one.system, tools=(Block("catalog", catalog_tokens),), messages=one.messages)
            for one in requests
        ]
        return price.weighted(sum(rule.replay(whole), CacheUse(0, 0, 0)), completion_tokens)

    low, high = 0, 1_000_000
    for _ in range(_HALVINGS):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= target else (low, middle)
    return float(low)


def mean_of(values: Values) -> Estimate:
    """The mean of (n,) values."""
    return ratio_of(values, np.ones(len(values)))


def saved(own: Values, plain: Values) -> Estimate:
    """The share that is saved of the whole: 1 - the ratio of the sums."""
    value, low, high = ratio_of(own, plain)
    return Estimate(1 - value, 1 - high, 1 - low)


def ratio_of(numerators: Values, denominators: Values) -> Estimate:
    """The ratio of two sums over the same (n,) conversations; the interval by drawing them 1,000 times."""
    count = len(numerators)
    if not count or not denominators.sum():
        return Estimate(math.nan, math.nan, math.nan)
    drawn = _draws(count)
    ratios = np.sort((drawn @ numerators) / np.maximum(drawn @ denominators, 1e-12))
    low, high = ratios[_RESAMPLES * 25 // 1000], ratios[_RESAMPLES * 975 // 1000 - 1]
    return Estimate(float(numerators.sum() / denominators.sum()), float(low), float(high))


@cache
def _draws(count: int) -> Values:
    """(1,000, count) how often each of `count` conversations is drawn."""
    random = np.random.default_rng(_SEED)
    return random.multinomial(count, np.full(count, 1 / count), size=_RESAMPLES).astype(np.float64)


def _rounded(value: float, digits: int) -> float:
    """Rounded; what is no number (no cases) as -1, which JSON can hold."""
    return round(value, digits) if math.isfinite(value) else -1.0
