"""The sweep: every conversation, over catalogs of growing size, under every delivery."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from gateway.bench.progress import Progress
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.conversations import Conversation
from gateway.bench.tokens.delivery import Delivery, DeliveryMaker
from gateway.bench.tokens.distractors import HardDistractors
from gateway.bench.tokens.own_deliveries import AllTools, CallThrough
from gateway.bench.tokens.playing import AppendSettings, MeasuredRequest, Play, Stage, play_append, play_simulated
from gateway.bench.tokens.prefix_cache import CACHE_RULES, CacheUse, RequestBlocks, RuleName
from gateway.bench.tokens.remembering import RememberingIndex
from gateway.bench.tokens.scripted_policy import ScriptRules

SIZES: Final = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
APPEND: Final = "append"
HASH_ORDER: Final = "append, hash order"
ALL_TOOLS: Final = AllTools.name
CALL_THROUGH: Final = CallThrough.name
PASSTHROUGH: Final = "append, passthrough"
OWN: Final = frozenset({ALL_TOOLS, APPEND, HASH_ORDER, CALL_THROUGH, PASSTHROUGH})
"""What is no baseline."""
_PASSTHROUGH_SIZES: Final = 100
"""Beyond this many tools no catalog of use is below the budget."""
_CUMULATED: Final = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """What is run."""

    sizes: tuple[int, ...] = SIZES
    seeds: tuple[int, ...] = (1, 2, 3)
    k: int = 5
    """Tools a search."""
    rules: ScriptRules = field(default_factory=ScriptRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One conversation over one catalog size, under one delivery and one seed."""

    prompt_tokens: int
    completion_tokens: int
    requests: int
    searches: int
    right: bool
    """Every needed tool was in sight, and called, in the turn that needed it."""
    wrong_calls: int
    complete: float
    """Share of the turns with needs whose needed tools are all among the k that one search a need puts first."""
    cache: dict[RuleName, CacheUse]
    catalog_tokens: int
    """What all tools of the view cost in one prompt."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation under one seed: what a row of the results stands for."""

    conversation: Conversation
    seed: int
    cumulated: npt.NDArray[np.int64]
    """(m,) tokens of the first 1, 2, 3 ... tools of its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All outcomes: of each (delivery, size) one for each case, in their order."""

    sizes: tuple[int, ...]
    deliveries: tuple[str, ...]
    sources: dict[str, str]
    cases: tuple[Case, ...]
    outcomes: dict[tuple[str, int], list[Outcome]]
    all_tools_requests: dict[int, list[list[RequestBlocks]]]
    """The blocks of all-tools requests at the smallest size, by size: for the break-even at cached prices."""


def sizes_for(wanted: Sequence[int], tools: int) -> tuple[int, ...]:
    """The wanted sizes that the catalog has, and the whole of a catalog that lies between two of them."""
    kept = [size for size in sorted(set(wanted)) if size <= tools]
    if tools and any(size > tools for size in wanted) and tools not in kept:
        kept.append(tools)
    return tuple(kept)


async def run_sweep(
    catalog: BenchCatalog,
    conversations: Sequence[Conversation],
    baselines: Sequence[DeliveryMaker],
    settings: SweepSettings,
    progress: Progress | None = None,
) -> Sweep:
    """Play everything. Same arguments, same outcomes."""
    sizes = sizes_for(settings.sizes, len(catalog.tools))
    index = RememberingIndex(catalog.index)
    simulated: list[Delivery] = [AllTools(catalog), CallThrough(catalog, index), *(make(catalog) for make in baselines)]
    distractors = HardDistractors(catalog)
    cases: list[Case] = []
    outcomes: defaultdict[tuple[str, int], list[Outcome]] = defaultdict(list)
    first_blocks: defaultdict[int, list[list[RequestBlocks]]] = defaultdict(list)
    total = len(conversations) * len(settings.seeds)
    for conversation, seed in ((one, seed) for seed in settings.seeds for one in conversations):
        stage = Stage(catalog, conversation, seed=seed, rules=settings.rules)
        order = distractors.around(conversation, seed)
        cases.append(Case(conversation, seed, np.cumsum(catalog.tokens[order[:_CUMULATED]])))
        for size in sizes:
            runner = _ViewRunner(stage, stage.view(order, size), index, settings)
            for name, outcome, play in [one async for one in runner.outcomes(simulated)]:
                outcomes[name, size].append(outcome)
                if name == ALL_TOOLS and size == sizes[0]:
                    first_blocks[size].append([one.blocks for one in play.requests])
        index.forget()
        catalog.meter.forget_conversation()
        if progress is not None:
            progress("playing", len(cases), total)
    return Sweep(
        sizes=sizes,
        deliveries=(ALL_TOOLS, APPEND, HASH_ORDER, CALL_THROUGH, *(one.name for one in simulated[2:])),
        sources={
            APPEND: "the product: ToolSearchToolCallingAdvisor over its index, found tools at the end of the list",
            HASH_ORDER: "simulated: the same requests, their tools in another order each time, as from a hash set",
            **{one.name: one.source for one in simulated},
        },
        cases=tuple(cases),
        outcomes=dict(outcomes),
        all_tools_requests=dict(first_blocks),
    )


async def run_passthrough(
    catalog: BenchCatalog, sweep: Sweep, settings: SweepSettings, budget_tokens: int
) -> dict[int, list[Outcome]]:
    """The product once more over the small catalogs, told to send whole what costs no more than the budget."""
    distractors = HardDistractors(catalog)
    outcomes: dict[int, list[Outcome]] = {size: [] for size in sweep.sizes if size <= _PASSTHROUGH_SIZES}
    append = AppendSettings(k=settings.k, passthrough_tokens=budget_tokens)
    for number, case in enumerate(sweep.cases):
        stage = Stage(catalog, case.conversation, seed=case.seed, rules=settings.rules)
        order = distractors.around(case.conversation, case.seed)
        for size, found in outcomes.items():
            view = stage.view(order, size)
            play = await play_append(stage, catalog.index, view, append)
            searched = view.tool_tokens > budget_tokens
            complete = sweep.outcomes[APPEND, size][number].complete if searched else 1.0
            found.append(_outcome(stage, view, play, play.requests, complete=complete))
        catalog.meter.forget_conversation()
    return outcomes


class _ViewRunner:
    """Plays one conversation over one view, under each delivery."""

    def __init__(self, stage: Stage, view: CatalogView, index: RememberingIndex, settings: SweepSettings) -> None:
        self._stage = stage
        self._view = view
        self._index = index
        self._settings = settings

    async def outcomes(self, simulated: Sequence[Delivery]) -> AsyncIterator[tuple[str, Outcome, Play]]:
        for delivery in simulated:
            play = await play_simulated(self._stage, delivery, self._view, k=self._settings.k)
            complete = await self._completeness(delivery)
            if delivery.name == CALL_THROUGH:
                # The product's two deliveries search alike: what the one finds the other finds.
                async for one in self._append(complete):
                    yield one
            yield delivery.name, _outcome(self._stage, self._view, play, play.requests, complete=complete), play

    async def _append(self, complete: float) -> AsyncIterator[tuple[str, Outcome, Play]]:
        play = await play_append(self._stage, self._index, self._view, AppendSettings(k=self._settings.k))
        yield APPEND, _outcome(self._stage, self._view, play, play.requests, complete=complete), play
        drawn = random.Random(f"{self._stage.conversation.id}/{self._stage.seed}/{self._view.size}/hash")
        shuffled = list(_in_hash_order(play.requests, drawn))
        yield HASH_ORDER, _outcome(self._stage, self._view, play, shuffled, complete=complete), play

    async def _completeness(self, delivery: Delivery) -> float:
        run = delivery.open(self._view, k=self._settings.k, seed=self._stage.seed)
        rows = self._stage.catalog.rows
        turns = [turn for turn in self._stage.conversation.turns if turn.needs]
        complete = 0
        for turn in turns:
            ranked = [
                await run.rank(turn.user, need.queries[0], self._settings.k) for need in dict.fromkeys(turn.needs)
            ]
            complete += all(rows[need.tool] in found for need, found in zip(turn.needs, ranked, strict=True))
        return complete / len(turns) if turns else 1.0


def _in_hash_order(requests: Sequence[MeasuredRequest], drawn: random.Random) -> Iterator[MeasuredRequest]:
    for request in requests:
        head, tools = request.blocks.tools[:1], list(request.blocks.tools[1:])
        drawn.shuffle(tools)
        blocks = RequestBlocks(system=request.blocks.system, tools=(*head, *tools), messages=request.blocks.messages)
        yield MeasuredRequest(
            blocks=blocks,
            prompt_tokens=request.prompt_tokens,
            completion_tokens=request.completion_tokens,
            tools=request.tools,
        )


def _outcome(
    stage: Stage, view: CatalogView, play: Play, requests: Sequence[MeasuredRequest], *, complete: float
) -> Outcome:
    blocks = [one.blocks for one in requests]
    return Outcome(
        prompt_tokens=play.prompt_tokens,
        completion_tokens=play.completion_tokens,
        requests=len(play.requests),
        searches=play.searches,
        right=play.right(stage.conversation, stage.names),
        wrong_calls=play.wrong_calls(stage.conversation, stage.names),
        complete=complete,
        cache={name: sum(rule.replay(blocks), CacheUse(0, 0, 0)) for name, rule in CACHE_RULES.items()},
        catalog_tokens=view.tool_tokens,
    )
