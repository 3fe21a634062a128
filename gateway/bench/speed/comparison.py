"""A run against an earlier one: ratios within each run are compared, so that the two may be from different machines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.bench.speed.dense_rows import BITS
from gateway.bench.speed.report import Section

Record = Mapping[str, Any]

TOLERANCE: Final = 0.25
"""How much less of its lead a contender of ours may have before that is called a regression: runs differ by as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The ratio of another's time to ours, then and now."""

    row: str
    against: str
    before: float
    now: float
    tolerance: float

    @property
    def relative(self) -> float:
        """Above 1: ours gained."""
        # Ours as well, but of results that are only likely: a larger share of the exact search's time is a loss.
        return self.before / self.now if self.against == BITS else self.now / self.before

    @property
    def is_regression(self) -> bool:
        return self.relative < 1 - self.tolerance


def compare(record: Record, baseline: Record, tolerance: float = TOLERANCE) -> list[Change]:
    """Every ratio that both runs have."""
    before = dict(_ratios(baseline))
    return [
        Change(row=row, against=name, before=before[row, name], now=ratio, tolerance=tolerance)
        for (row, name), ratio in _ratios(record)
        if (row, name) in before
    ]


def _ratios(record: Record) -> Iterator[tuple[tuple[str, str], float]]:
    for race in record["races"]:
        for result in race["results"][1:]:
            yield (str(race["key"]), str(result["name"])), float(result["ratio"][0])


def comparison_section(changes: list[Change], baseline: Record) -> Section:
    """The changes as a table."""
    rows = tuple(
        (
            change.row,
            change.against,
            f"{change.before:.2f}",
            f"{change.now:.2f}",
            f"{change.relative:.2f}",
            "REGRESSION" if change.is_regression else "",
        )
        for change in changes
    )
    tolerance = changes[0].tolerance if changes else TOLERANCE
    return Section(
        title=f"Against the baseline of {baseline['started']}",
        columns=("row", "times ours", "then", "now", "gain", ""),
        rows=rows,
        right=frozenset(("then", "now", "gain")),
        lines=(
            f"Ours lost more than {tolerance:.0%} where it is marked. Another machine has other ratios "
            f"(baseline: {baseline['machine']['cpu']}).",
        ),
    )
