"""The whole benchmark: from settings to one record, from which every output is made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.bench.progress import Progress
from gateway.bench.tokens.catalog import BenchCatalog
from gateway.bench.tokens.conversations import Conversation, within
from gateway.bench.tokens.delivery import DeliveryMaker
from gateway.bench.tokens.prefix_cache import CACHE_RULES
from gateway.bench.tokens.prices import PRICES, ModelPrice
from gateway.bench.tokens.summary import LatencyModel, Summary
from gateway.bench.tokens.sweep import (
    ALL_TOOLS,
    APPEND,
    PASSTHROUGH,
    Case,
    Outcome,
    Sweep,
    SweepSettings,
    run_passthrough,
    run_sweep,
)

Record = dict[str, Any]

SCRIPTED_NOTE: Final = (
    "No real model took part: a scripted one sees only the request, searches with queries that stand in the "
    "conversation file, calls what it sees, slips in a stated share of the turns, and gives up after its budget."
)
LONGEST_LIST: Final = 128
"""Tools that OpenAI's interface takes in one request."""
_HEADLINE_SIZE: Final = 1_000
_HEADLINE_TURNS: Final = 3
_SHOWN_REFUSALS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSettings:
    """What is run and how it is priced."""

    sweep: SweepSettings = field(default_factory=SweepSettings)
    prices: tuple[ModelPrice, ...] = PRICES
    latency: LatencyModel = field(default_factory=LatencyModel)
    context_window: int = 1_000_000
    """Tokens; what a prompt of all tools is held against."""
    sources: tuple[str, ...] = ()
    """As the operator named them, for the report."""
    drawn: bool = False
    """The conversations were drawn from the catalog's own descriptions."""
    counting: str = "OpenAI models: exact vocabulary"
    """For which models the counts are exact, or that they are an estimate."""
    baselines_note: str = ""
    """Why there are no baselines, if so."""


async def run_benchmark(
    catalog: BenchCatalog,
    conversations: Sequence[Conversation],
    baselines: Sequence[DeliveryMaker],
    settings: BenchmarkSettings,
    progress: Progress | None = None,
) -> Record:
    """Play, sum up, and find the break-even. Same arguments, same record."""
    played = within(conversations, catalog.rows)
    record: Record = {
        "answer": "Nothing was measured: no conversation has all its tools in this catalog.",
        "settings": _settings_record(settings),
        "counted": f"{catalog.meter.note} ({settings.counting})",
        "model": SCRIPTED_NOTE,
        "catalog": _catalog_record(catalog, settings),
        "conversations": _conversations_record(conversations, played, settings),
        "deliveries": [],
        "groups": [],
        "break_even": [],
        "passthrough": None,
        "live": None,
    }
    if not played:
        return record
    sweep = await run_sweep(catalog, played, baselines, settings.sweep, progress)
    everything = Summary(sweep, settings.prices, settings.latency, lambda _: True)
    even = [everything.break_even(None), *(everything.break_even(price) for price in settings.prices)]
    record["break_even"] = [one for one in even if one is not None]
    budget = int(record["break_even"][0]["catalog_tokens"][1])
    outcomes = dict(sweep.outcomes)
    passed = await run_passthrough(catalog, sweep, settings.sweep, budget)
    outcomes |= {(PASSTHROUGH, size): found for size, found in passed.items()}
    record["passthrough"] = _passthrough_record(sweep, passed, budget)
    record["deliveries"] = [{"name": name, "source": sweep.sources[name]} for name in sweep.deliveries]
    record["groups"] = [
        {"group": name, **narrow, "conversations": summary.conversations, "rows": summary.rows(outcomes)}
        for name, narrow, summary in _groups(sweep, settings)
    ]
    record["answer"] = answer_of(record)
    return record


def _groups(sweep: Sweep, settings: BenchmarkSettings) -> list[tuple[str, Record, Summary]]:
    lengths = sorted({len(case.conversation.turns) for case in sweep.cases})
    languages = sorted({case.conversation.lang for case in sweep.cases})
    kinds = sorted({case.conversation.kind for case in sweep.cases})

    def summary(wanted: Callable[[Case], bool]) -> Summary:
        return Summary(sweep, settings.prices, settings.latency, wanted)

    groups = [("all", Record(), summary(lambda _: True))]
    groups += [
        (
            f"{count} turn{'s' * (count > 1)}",
            {"turns": count},
            summary(lambda case, n=count: len(case.conversation.turns) == n),
        )
        for count in lengths
    ]
    groups += [
        (f"in {lang}", {"lang": lang}, summary(lambda case, name=lang: case.conversation.lang == name))
        for lang in languages
    ]
    groups += [
        (f"{kind} tool", {"kind": kind}, summary(lambda case, name=kind: case.conversation.kind == name))
        for kind in kinds
    ]
    return groups


def _passthrough_record(sweep: Sweep, passed: dict[int, list[Outcome]], budget: int) -> Record:
    """How catalogs below the budget fare with passthrough, against sending all tools: the worst of them."""
    small = [
        (own, plain)
        for size, found in passed.items()
        for own, plain in zip(found, sweep.outcomes[ALL_TOOLS, size], strict=True)
        if own.catalog_tokens <= budget
    ]
    ratios = [own.prompt_tokens / plain.prompt_tokens for own, plain in small]
    return {
        "budget_tokens": budget,
        "catalogs_below_budget": len(small),
        "worst_ratio_to_all_tools": round(max(ratios, default=1.0), 4),
    }


def answer_of(record: Record) -> str:
    """The answer, in two sentences."""
    group = next((one for one in record["groups"] if one.get("turns") == _HEADLINE_TURNS), record["groups"][0])
    rows = [row for row in group["rows"] if row["delivery"] == APPEND]
    row = next((one for one in rows if one["tools"] == _HEADLINE_SIZE), rows[-1])
    plain = next(one for one in group["rows"] if one["delivery"] == ALL_TOOLS and one["tools"] == row["tools"])
    saved, low, high = row["saved"]
    priced = row["cost"][0]
    cached = f"{_less(priced['weighted_saved'][0])} at the cached prices of {priced['model']}"
    tokens, tools = record["break_even"][0]["catalog_tokens"], record["break_even"][0]["tools"]
    kind = f"a conversation of {group['turns']} turns" if "turns" in group else "a conversation"
    return (
        f"Over {row['tools']:,} tools, {kind} takes {row['prompt_tokens'][0]:,.0f} prompt tokens with tool search "
        f"instead of {plain['prompt_tokens'][0]:,.0f} with all tools, {_less(saved)} (95 % interval of the saving "
        f"{low:.1%} to {high:.1%}), and {cached}; every needed tool was in sight when it was "
        f"needed in {row['all_visible_when_needed'][0]:.0%} of the conversations. "
        f"It pays from about {tools[0]:,.0f} tools on ({tools[1]:,.0f} to {tools[2]:,.0f}; {tokens[0]:,.0f} tokens of "
        f"definitions), and below that the gateway can send all tools as they are."
    )


def _less(saved: float) -> str:
    return f"{saved:.1%} less" if saved >= 0 else f"{-saved:.1%} more"


def _settings_record(settings: BenchmarkSettings) -> Record:
    sweep = settings.sweep
    return {
        "sizes": list(sweep.sizes),
        "seeds": list(sweep.seeds),
        "k": sweep.k,
        "search_budget": sweep.rules.search_budget,
        "slip_share": sweep.rules.slip_share,
        "context_window": settings.context_window,
        "longest_tool_list": LONGEST_LIST,
        "seconds_per_request": settings.latency.seconds_per_request,
        "seconds_per_search": settings.latency.seconds_per_search,
        "output_tokens_per_second": settings.latency.output_tokens_per_second,
        "cache_rules": {name: rule.note for name, rule in CACHE_RULES.items()},
        "prices": [
            {
                "model": price.model,
                "rule": price.rule,
                "input": price.input,
                "cached_read": price.cached_read,
                "cache_write": price.cache_write,
                "output": price.output,
                "as_of": price.as_of,
                "source": price.source,
            }
            for price in settings.prices
        ],
        "baselines_note": settings.baselines_note,
    }


def _catalog_record(catalog: BenchCatalog, settings: BenchmarkSettings) -> Record:
    count = len(catalog.tools)
    largest = int(catalog.tokens.max()) if count else 0
    return {
        "sources": list(settings.sources),
        "tools": count,
        "namespaces": len({tool.namespace for tool in catalog.tools}),
        "tokens": int(catalog.tokens.sum()),
        "mean_tokens_per_tool": round(float(catalog.tokens.mean()), 1) if count else 0.0,
        "largest_tool_tokens": largest,
        "larger_than_context": int((catalog.tokens > settings.context_window).sum()),
        "encoder": catalog.embedder.embedder_id,
        "refused": len(catalog.refused) + catalog.unlisted_refused,
        "first_refused": [
            {"place": one.place, "tool": one.tool, "reason": f"{one.field}: {one.reason}"}
            for one in catalog.refused[:_SHOWN_REFUSALS]
        ],
    }


def _conversations_record(
    given: Sequence[Conversation], played: Sequence[Conversation], settings: BenchmarkSettings
) -> Record:
    lengths = sorted({len(one.turns) for one in played})
    languages = sorted({one.lang for one in played})
    return {
        "played": len(played),
        "left_out": len(given) - len(played),
        "left_out_why": "a tool that they need is not in the catalog" if len(given) > len(played) else "",
        "drawn_from_descriptions": settings.drawn,
        "by_turns": {str(count): sum(len(one.turns) == count for one in played) for count in lengths},
        "by_language": {lang: sum(one.lang == lang for one in played) for lang in languages},
        "multi_tool": sum(one.kind == "multi" for one in played),
    }
