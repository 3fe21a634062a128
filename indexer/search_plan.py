"""Which way of searching is the fastest for a search: a pure function of sizes, with measured thresholds.

What was measured, and on what: design/speed.md, "Dense search".
"""

from dataclasses import dataclass
from typing import Final, Literal

Method = Literal["exact", "gather", "batch", "certified", "bits"]

GATHER_SHARE: Final = 0.25
"""A view of fewer rows than this share is gathered, not scanned."""
CERTIFIED_ROWS: Final = 8_000
"""From so many rows on, a head with bounds beats the plain scan: at 10,000 by a tenth of a whole search where the cache
still holds all rows, by a quarter where it does not; twice as fast at 50,000, three times at 1,000,000."""
BITS_ROWS: Final = 20_000
"""From so many rows on, bits beat the plain scan; below, nothing approximate is worth it."""
BATCH_QUERIES: Final = 2
"""Queries from which one pass for all beats a scan for each."""
BATCH_BEATS_CERTIFIED: Final = 3
"""Queries from which one pass over whole rows beats a head for each."""
BATCH_BEATS_BITS: Final = 16
"""Queries from which it beats bits for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """How a search reads the vectors."""

    method: Method
    why: str
    """For people: the sizes that decided."""

    def __str__(self) -> str:
        return f"{self.method}: {self.why}"


def plan_search(
    *, rows: int, dimensions: int, selected: float = 1.0, queries: int = 1, recall: float = 1.0
) -> SearchPlan:
    """Choose how `queries` that wait together look through `rows` vectors.

    `selected`: share of the rows that the filter leaves, 0 to 1. `recall`: share of the ten best that the operator
    wants found, at most 1, which means all, always.
    """
    if selected < GATHER_SHARE:
        return SearchPlan(method="gather", why=f"the filter leaves {selected:.1%} of {rows:,} rows")
    size = f"{rows:,} rows of {dimensions} dimensions"
    if recall < 1 and rows >= BITS_ROWS and queries < BATCH_BEATS_BITS:
        return SearchPlan(method="bits", why=f"{size}, and a recall of {recall:g} is enough")
    if rows >= CERTIFIED_ROWS and queries < BATCH_BEATS_CERTIFIED:
        return SearchPlan(method="certified", why=f"{size}: at least {CERTIFIED_ROWS:,}, where bounds pay")
    if queries >= BATCH_QUERIES:
        return SearchPlan(method="batch", why=f"{queries} queries read {size} together")
    return SearchPlan(method="exact", why=f"{size}: fewer than {CERTIFIED_ROWS:,}, one scan is fastest")
