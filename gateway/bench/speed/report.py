"""A run's record as tables for people: the same rows for a terminal and for markdown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.bench.markdown import markdown_table

Record = Mapping[str, Any]

_MET: Final = {True: "met", False: "MISSED", None: "not measured"}
_WHOLE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled table, or lines of text where it has no columns."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: frozenset[str] = frozenset()
    """Columns of numbers."""
    lines: tuple[str, ...] = ()


def sections(record: Record) -> Iterator[Section]:
    """Everything that a run says, targets first."""
    yield Section(title="Search speed", lines=(*_preface(record), *record["warnings"]))
    yield _targets(record)
    for race in record["races"]:
        yield _race(race)
    if record["figures"]:
        yield _figures(record["figures"])
    if record.get("growth"):
        yield _growth(record["growth"])
    if record["failed"]:
        yield Section(title="Failed", lines=tuple(f"{key}: {why}" for key, why in record["failed"].items()))


def render_markdown(record: Record) -> str:
    """All sections as markdown."""
    parts: list[str] = []
    for number, section in enumerate(sections(record)):
        parts.append(f"{'#' if number == 0 else '##'} {section.title}")
        if section.columns:
            rule = ["---:" if name in section.right else "---" for name in section.columns]
            parts.append(markdown_table(section.columns, section.rows, rule=rule))
        parts.extend(section.lines)
    return "\n\n".join(parts) + "\n"


def _number(value: float) -> str:
    """Three significant digits, never as a power of ten."""
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:.3g}"


def _preface(record: Record) -> Iterator[str]:
    machine, data, pace = record["machine"], record["data"], record["pace"]
    governor = f", {machine['governor']} governor" if machine["governor"] else ""
    yield (
        f"{record['started']}, {record['seconds']:.0f} s. {machine['cpu']}, {machine['cores']} cores{governor}, "
        f"{machine['memory_gib']} GiB, Python {machine['python']}; load {record['load']['start']} before, "
        f"{record['load']['end']} after."
    )
    yield ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + "."
    drawn = "drawn from descriptions" if data["requests_drawn"] else "written by hand"
    yield (
        f"{data['tools']:,} real tools ({', '.join(f'{name} {found}' for name, found in data['packages'].items())}), "
        f"encoder {data['encoder']}, {data['requests']} requests {drawn}, seed {record['seed']}; larger catalogs are "
        f"grown from them. 384 dimensions: {data['wide'] or 'ours, and a rotation of ours of name and description'}."
    )
    yield (
        f"Contenders take turns of about {pace['turn_seconds']} s, {pace['rounds']} rounds, one thread each. Times are "
        "medians over turns with quartiles; a ratio is the median of the ratios of each round, above 1 where ours is "
        "faster."
    )


def _targets(record: Record) -> Section:
    rows = tuple(
        (target["target"], "" if target["value"] is None else _number(target["value"]), _MET[target["met"]])
        for target in record["targets"]
        if target["met"] is not None
    )
    left = sum(target["met"] is None for target in record["targets"])
    return Section(
        title="Targets",
        columns=("target", "measured", ""),
        rows=rows,
        right=frozenset(("measured",)),
        lines=(f"{left} targets were not measured in this run.",) if left else (),
    )


def _race(race: Record) -> Section:
    rows = tuple(_contender(result, first=place == 0) for place, result in enumerate(race["results"]))
    return Section(
        title=f"{race['title']} ({race['key']})",
        columns=("contender", "time", "times ours", "right", "p99", "calls"),
        rows=rows,
        right=frozenset(("time", "times ours", "p99", "calls")),
        lines=tuple(f"Skipped: {name}, {why}." for name, why in race["skipped"].items()),
    )


def _contender(result: Record, *, first: bool) -> tuple[str, ...]:
    median, low, high = result["ms"]
    ratio, ratio_low, ratio_high = result["ratio"]
    version = result["notes"].get("version", "")
    name = f"{result['name']} ({version})" if version else str(result["name"])
    check = f"{result['check'][0]}: {result['check'][1]:.3f} of {result['checked']}" if result["check"] else ""
    return (
        name,
        f"{_number(median)} ms [{_number(low)}, {_number(high)}]",
        "" if first else f"{_number(ratio)} [{_number(ratio_low)}, {_number(ratio_high)}]",
        check,
        "" if result["p99_ms"] is None else f"{_number(result['p99_ms'])} ms",
        f"{result['calls']:,}",
    )


def _figures(figures: Sequence[Record]) -> Section:
    rows = tuple(
        (
            one["title"],
            f"{_number(one['value'])} {one['unit']}",
            "" if one["low"] is None else f"[{_number(one['low'])}, {_number(one['high'])}]",
            one["check"],
        )
        for one in figures
    )
    columns = ("figure", "value", "spread", "beside it")
    return Section(title="Figures", columns=columns, rows=rows, right=frozenset(("value", "spread")))


def _growth(growth: Sequence[Record]) -> Section:
    sizes = [str(size) for size in growth[0]["sizes"]]
    rows = tuple(
        (
            one["cost"],
            *(f"{_number(value)} {one['unit']}" for value in one["costs"]),
            f"{one['exponent']:.2f}",
            " ".join(f"{step:.2f}" for step in one["steps"]),
            one["said"],
        )
        for one in growth
    )
    return Section(
        title="Growth of cost",
        columns=("cost", *(f"{int(size):,}" for size in sizes), "exponent", "step by step", ""),
        rows=rows,
        right=frozenset((*(f"{int(size):,}" for size in sizes), "exponent", "step by step")),
        lines=("Exponent of a line through the logarithms: 1 is linear; above 1.1 is marked.",),
    )
