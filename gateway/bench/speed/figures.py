"""Figures that no contender shares: writes, loads, starts, memory."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway.bench.speed.artefacts import lexical_file
from gateway.bench.speed.bench import Bench
from gateway.bench.speed.dense_rows import short
from gateway.bench.speed.text_rows import catalog_settings, fill_home, search_settings

_LARGE: Final = 100_000
_SMALL: Final = 10_000
_STARTS: Final = 3
_QUICK_CHANGES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number."""

    key: str
    title: str
    value: float
    unit: str
    low: float | None = None
    """Quartiles, where it is a median."""
    high: float | None = None
    check: str = ""
    """What was checked beside it."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])

    def record(self) -> dict[str, Any]:
        return asdict(self)


FigureMaker = Callable[[Bench], list[Figure]]


def figure_rows() -> Iterator[tuple[str, bool, FigureMaker]]:
    """(key, whether it belongs to a quick run, how it is measured)."""
    yield "load-100k", False, lambda bench: load_figures(bench, _LARGE)
    yield "load-short-10k", False, lambda bench: short_load_figures(bench, _SMALL)
    yield "start-100k", False, lambda bench: start_figures(bench, _LARGE)
    yield "write-10k", True, lambda bench: write_figures(bench, 10_000)
    yield "write-100k", False, lambda bench: write_figures(bench, _LARGE)
    yield "lexical-equal-10k", False, lambda bench: equal_figures(bench, 10_000)
    yield "lexical-add-100k", True, lambda bench: adding_figures(bench, _LARGE)


def load_figures(bench: Bench, rows: int) -> list[Figure]:
    """A bulk registration into the embedded store; encoding is not in it."""
    record = fill_home(bench, catalog_settings(bench, rows))
    return [
        Figure(
            key=f"load-{short(rows)}",
            title=f"bulk registration of {rows:,} tools, beyond encoding",
            value=record["tools_per_second"],
            unit="tools/s",
            check=f"{record['tools']:,} of {rows:,} tools taken",
            details=record,
        )
    ]


def short_load_figures(bench: Bench, rows: int) -> list[Figure]:
    """The same of the same real tools, cut to the size of those that MCP servers publish."""
    given = catalog_settings(bench, rows)
    home = Path(f"{given['home']}.short")
    try:
        record = bench.measure("catalogs:fill", {**given, "home": str(home), "short": True})
    finally:
        shutil.rmtree(home, ignore_errors=True)
    tokens = bench.measure("catalogs:short_tokens", given)["tokens"]
    return [
        Figure(
            key=f"load-short-{short(rows)}",
            title=f"bulk registration of {rows:,} tools, real ones cut to {tokens:.0f} tokens each, beyond encoding",
            value=record["tools_per_second"],
            unit="tools/s",
            check=f"{record['tools']:,} of {rows:,} tools taken",
            details={**record, "tokens": tokens},
        )
    ]


def start_figures(bench: Bench, rows: int) -> list[Figure]:
    """A fresh process opens a catalog and answers, several times; memory is of the last one."""
    given = search_settings(bench, rows)
    records = sorted(
        (bench.measure("catalogs:start", given) for _ in range(_STARTS)), key=lambda one: one["first_answer_seconds"]
    )
    middle, name = records[len(records) // 2], short(rows)
    parts: dict[str, int] = middle["parts_bytes"]
    beyond = {part: size / rows for part, size in parts.items() if part != "definitions"}
    resident = (middle["memory_bytes"] - parts["definitions"]) / rows
    return [
        Figure(
            key=f"start-{name}",
            title=f"cold start with {rows:,} tools, to the first answer, in a fresh process",
            value=middle["first_answer_seconds"],
            unit="s",
            low=records[0]["first_answer_seconds"],
            high=records[-1]["first_answer_seconds"],
            check=f"{middle['tools']:,} tools, {middle['found']} results",
            details=middle,
        ),
        Figure(
            key=f"memory-{name}",
            title=f"memory a tool beyond its definition's text, {rows:,} tools",
            value=sum(beyond.values()),
            unit="bytes",
            check=f"as the process sees it (files it maps, interpreter's own objects): {resident:,.0f} bytes a tool",
            details={"parts_bytes_a_tool": beyond, "resident_bytes_a_tool": resident},
        ),
    ]


def write_figures(bench: Bench, rows: int) -> list[Figure]:
    """Single registrations into a catalog that is being searched."""
    fewer = {"writes": _QUICK_CHANGES} if bench.options.quick else {}
    given, name = {**search_settings(bench, rows), **fewer}, short(rows)
    record = bench.measure("catalogs:writes", given)
    seen = f"{record['seen']:.0%} found by the next search"
    return [
        _median(f"write-{name}", f"one registration until it is visible, {rows:,} tools", record["visible_ms"], seen),
        _median(
            f"search-after-write-{name}", f"the search right after one, {rows:,} tools", record["search_after_ms"], ""
        ),
    ]


def equal_figures(bench: Bench, rows: int) -> list[Figure]:
    """Words after many single changes against an index built afresh."""
    given = {**bench.text_settings(), "rows": rows}
    record = bench.measure("lexical:equal_after_changes", given)
    return [
        Figure(
            key=f"lexical-equal-{short(rows)}",
            title=f"requests with the ids and scores of a fresh index, after {rows // 5:,} single changes",
            value=100 * record["equal"],
            unit="%",
            check=f"{record['requests']} requests",
        )
    ]


def adding_figures(bench: Bench, rows: int) -> list[Figure]:
    """One more tool in the lexical index."""
    fewer = {"changes": _QUICK_CHANGES} if bench.options.quick else {}
    index, name = str(lexical_file(bench.data, rows, bench.heard)), short(rows)
    record = bench.measure("lexical:adding", {**bench.text_settings(), "rows": rows, "index": index, **fewer})
    return [
        _median(f"lexical-add-{name}", f"one tool more in the words of {rows:,}", record["visible_ms"], ""),
        _median(f"lexical-after-add-{name}", "the first search in words after that", record["first_search_ms"], ""),
    ]


def _median(key: str, title: str, milliseconds: list[float], check: str) -> Figure:
    median, low, high = milliseconds
    return Figure(key=key, title=title, value=median, unit="ms", low=low, high=high, check=check)
