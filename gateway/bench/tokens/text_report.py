"""The record as Markdown: for a terminal, a README, or a pull request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gateway.bench.tokens.sweep import ALL_TOOLS, APPEND, OWN

Record = Mapping[str, Any]

_KEPT: Final = 0.8

COLUMNS: Final = (
    "tools", "delivery", "prompt tokens", "saved", "95 % interval", "saved at cached prices", "complete at k",
    "all in sight", "requests a turn", "added seconds a turn",
)  # fmt: skip


def render_text(record: Record) -> str:
    """The answer, the tables and how it was measured."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield record["answer"]
    yield ""
    group = headline_group(record)
    if group is not None:
        priced = group["rows"][0]["cost"][0]["model"]
        window = record["settings"]["context_window"]
        yield (
            f"Conversations of {group['group']}: {group['conversations']}, k = {record['settings']['k']}; prices of "
            f"{priced}. `*`: longer than a context of {window:,} tokens, or than the list of 128 tools that OpenAI "
            "takes. `†`: in more than a fifth of the conversations a needed tool was out of sight, and work left "
            "undone is no saving."
        )
        yield ""
        yield from glance(record, group)
        yield ""
        yield from table(record, group)
        yield ""
        yield from cache_table(group)
        yield ""
        yield from _break_even(record)
    yield from notes(record)


def headline_group(record: Record) -> Record | None:
    """The conversations of 3 turns if there are any, or all."""
    groups: Sequence[Record] = record["groups"]
    return next((one for one in groups if one.get("turns") == 3), groups[0] if groups else None)


def glance(record: Record, group: Record) -> Iterator[str]:
    """One line a size: the product beside all tools, and beside the best of the others at finding."""
    yield (
        "| tools | all tools, tokens | tool search, tokens | saved (95 % interval) | at cached prices | "
        "all in sight | best other | requests a turn |"
    )
    yield "|" + "---:|" * 8
    for size in dict.fromkeys(row["tools"] for row in group["rows"]):
        rows = {row["delivery"]: row for row in group["rows"] if row["tools"] == size}
        own, plain = rows[APPEND], rows[ALL_TOOLS]
        saved, low, high = own["saved"]
        others = [row["all_visible_when_needed"][0] for name, row in rows.items() if name not in OWN]
        yield (
            f"| {size:,} | {plain['prompt_tokens'][0]:,.0f}{'' if fits(record, plain) else '*'} | "
            f"{own['prompt_tokens'][0]:,.0f} | {saved:.1%}{'' if keeps(own) else '†'} ({low:.1%} to {high:.1%}) | "
            f"{own['cost'][0]['weighted_saved'][0]:.1%} | {own['all_visible_when_needed'][0]:.0%} | "
            f"{f'{max(others):.0%}' if others else ''} | {own['requests_per_turn']:.2f} |"
        )


def table(record: Record, group: Record) -> Iterator[str]:
    """One line a size and delivery."""
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|---:|---|" + "---:|" * (len(COLUMNS) - 2)
    for row in group["rows"]:
        yield "| " + " | ".join(cells(record, row)) + " |"


def cells(record: Record, row: Record) -> tuple[str, ...]:
    """The cells of a row, for `COLUMNS`."""
    saved, low, high = row["saved"]
    plain = row["delivery"] == ALL_TOOLS
    return (
        f"{row['tools']:,}",
        row["delivery"],
        f"{row['prompt_tokens'][0]:,.0f}{'*' if plain and not fits(record, row) else ''}",
        "" if plain else f"{saved:.2%}{'' if keeps(row) else '†'}",
        "" if plain else f"{low:.2%} to {high:.2%}",
        "" if plain else f"{row['cost'][0]['weighted_saved'][0]:.2%}",
        "" if plain or row["completeness_at_k"][0] < 0 else f"{row['completeness_at_k'][0]:.0%}",
        f"{row['all_visible_when_needed'][0]:.0%}",
        f"{row['requests_per_turn']:.2f}",
        f"{row['added_seconds_per_turn']:+.2f}",
    )


def keeps(row: Record) -> bool:
    """Whether its saving is one: what leaves work undone sends less because of that."""
    return bool(row["all_visible_when_needed"][0] >= _KEPT)


def fits(record: Record, row: Record) -> bool:
    """Whether a request with all these tools could be sent at all."""
    settings = record["settings"]
    tokens = row["tools"] * record["catalog"]["mean_tokens_per_tool"]
    return bool(row["tools"] <= settings["longest_tool_list"] and tokens <= settings["context_window"])


def cache_table(group: Record) -> Iterator[str]:
    """How the prompt tokens of the product and of all tools are billed, by model."""
    yield "| tools | delivery | model | uncached | written to cache | read from cache | price-weighted | saved |"
    yield "|---:|---|---|---:|---:|---:|---:|---:|"
    for row in group["rows"]:
        if row["delivery"] not in (ALL_TOOLS, APPEND, "append, hash order", "call-through"):
            continue
        for cost in row["cost"]:
            yield (
                f"| {row['tools']:,} | {row['delivery']} | {cost['model']} | {cost['uncached']:,.0f} | "
                f"{cost['cache_written']:,.0f} | {cost['cached_read']:,.0f} | "
                f"{cost['weighted_prompt_tokens'][0]:,.0f} | {cost['weighted_saved'][0]:.2%} |"
            )


def _break_even(record: Record) -> Iterator[str]:
    yield "Tool search pays from these catalogs on (95 % intervals):"
    yield ""
    for one in record["break_even"]:
        tools, tokens = one["tools"], one["catalog_tokens"]
        yield (
            f"- by {one['by']}: {tools[0]:,.0f} tools ({tools[1]:,.0f} to {tools[2]:,.0f}), "
            f"{tokens[0]:,.0f} tokens of definitions ({tokens[1]:,.0f} to {tokens[2]:,.0f})"
        )
    passed = record["passthrough"]
    yield ""
    yield (
        f"With a passthrough budget of {passed['budget_tokens']:,} tokens, the {passed['catalogs_below_budget']} "
        f"catalogs below it cost at most {passed['worst_ratio_to_all_tools']:.2%} of sending all tools."
    )
    yield ""


def notes(record: Record) -> Iterator[str]:
    """How it was measured."""
    catalog, said, settings = record["catalog"], record["conversations"], record["settings"]
    yield f"- Counted: {record['counted']}."
    yield f"- Model: {record['model']}"
    yield (
        f"- Catalog: {catalog['tools']:,} tools in {catalog['namespaces']:,} namespaces from "
        f"{', '.join(catalog['sources']) or 'the program'}; {catalog['mean_tokens_per_tool']:,.0f} tokens a tool, the "
        f"largest {catalog['largest_tool_tokens']:,}; {catalog['refused']:,} entries could not be used."
    )
    for one in catalog["first_refused"][:5]:
        yield f"  - {one['place']}: {one['reason']}"
    if catalog["larger_than_context"]:
        yield f"- {catalog['larger_than_context']} tools are larger than a whole context by themselves."
    yield (
        f"- Conversations: {said['played']} played, {said['left_out']} left out"
        f"{' because ' + said['left_out_why'] if said['left_out_why'] else ''}; seeds {settings['seeds']}."
    )
    if said["drawn_from_descriptions"]:
        yield (
            "- The conversations were drawn from the catalog's own descriptions, whose words every search finds: "
            "completeness is flattered. Write your own and name them with --conversations."
        )
    yield (
        "- Each catalog is a part of the whole: the needed tools, then the hardest distractors (same namespace, same "
        "verb, near descriptions). It is searched as a view of one index, whose word statistics are the whole's."
    )
    for note in settings["cache_rules"].values():
        yield f"- Cache: {note}."
    for price in settings["prices"]:
        yield (
            f"- Price: {price['model']} {price['input']:g} in, {price['cached_read']:g} read, "
            f"{price['cache_write']:g} written, {price['output']:g} out ($ a million; {price['as_of']}; "
            f"{price['source']})."
        )
    yield (
        f"- Added seconds: a model of {settings['seconds_per_request']:g} s a request, "
        f"{settings['seconds_per_search']:g} s a search and {settings['output_tokens_per_second']:g} output tokens a "
        "second; reading long prompts is left out."
    )
    for one in record["deliveries"]:
        yield f"- {one['name']}: {one['source']}."
    if settings["baselines_note"]:
        yield f"- {settings['baselines_note']}"
    if record["live"]:
        yield from _live(record["live"])


def _live(live: Record) -> Iterator[str]:
    yield ""
    yield f"Run on {live['model']}, {live['tools']:,} tools:"
    yield ""
    yield "| conversation | requests | counted | reported by the provider | all in sight |"
    yield "|---|---:|---:|---:|---|"
    for one in live["conversations"]:
        reported = "" if one["reported"] is None else f"{one['reported']:,}"
        yield f"| {one['id']} | {one['requests']} | {one['counted']:,} | {reported} | {one['right']} |"
