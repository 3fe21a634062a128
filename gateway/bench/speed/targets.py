"""What the product must reach, and whether a run did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway.bench.speed import dense_rows as dense
from gateway.bench.speed import text_rows as text
from gateway.bench.speed.growth import LINEAR

Record = Mapping[str, Any]
Bound = Literal["at least", "at most"]

RECALL: Final = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on how many times faster than another we are, on our own time, or on a figure."""

    row: str
    """Key of a race, or of a figure."""
    against: str = ""
    """A contender: the bound is on its time over ours. Empty: on our milliseconds, or on the figure."""
    own: str = dense.OWN
    """Which of ours."""
    bound: Bound = "at least"
    value: float = 0.0
    recall: float = 0.0
    """What share of right answers ours must have as well."""
    aim: bool = False
    """To be hoped for, not required."""


TARGETS: Final = (
    Target(row="dense-100k-384", against=dense.NAIVE, value=2.3, recall=1.0),
    Target(row="dense-100k-384", against=dense.FAISS_FLAT, value=1.4, recall=1.0),
    Target(row="dense-100k-384", against=dense.USEARCH, value=2.0, recall=1.0),
    Target(row="dense-100k-384", against=dense.LIMIT, value=1 / 1.15, recall=1.0),
    Target(row="dense-1m-384", against=dense.FAISS_FLAT, value=2.5, recall=1.0),
    Target(row="dense-1m-384", own=dense.BITS, against=dense.FAISS_FLAT, value=5.0, recall=RECALL),
    Target(row="dense-100k-384", own=dense.BITS, against=dense.FAISS_FLAT, value=4.0, recall=RECALL),
    Target(row="batch-100k-384", against=dense.FAISS_FLAT, value=5.0, recall=1.0),
    Target(row="filter-1pct-100k-384", against=dense.FULL_SCAN, value=15.0, recall=1.0),
    Target(row="lexical-100k", against=text.RANK_BM25, value=150.0),
    Target(row="lexical-100k", against=text.BM25S, value=1.5),
    Target(row="lexical-100k", against=text.RANK_BM25, value=250.0, aim=True),
    Target(row="lexical-100k", against=text.BM25S, value=2.5, aim=True),
    Target(row="lexical-equal-10k", value=100.0),
    Target(row="search-10k", bound="at most", value=1.0),
    Target(row="search-100k", bound="at most", value=6.0),
    Target(row="search-1k", against=text.QDRANT_LOCAL, value=30.0),
    Target(row="search-10k", against=text.QDRANT_LOCAL, value=90.0),
    Target(row="search-100k", against=text.QDRANT_LOCAL, value=120.0),
    Target(row="search-1k", against=text.EDGE, value=1.0),
    Target(row="search-10k", against=text.EDGE, value=1.0),
    Target(row="search-100k", against=text.EDGE, value=1.0),
    Target(row="search-100k", against=text.EDGE_HNSW, value=1 / 1.5, aim=True),
    Target(row="http-closed-10k", value=800.0),
    Target(row="http-open-p99-10k", bound="at most", value=40.0),
    Target(row="stream-overhead", bound="at most", value=3.0),
    Target(row="write-100k", bound="at most", value=1.0),
    Target(row="load-100k", value=5000.0),
    Target(row="start-100k", bound="at most", value=2.5),
    Target(row="memory-100k", bound="at most", value=4096.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A target and what a run says of it."""

    target: Target
    said: str
    """The target in words."""
    value: float | None
    """None where the run did not measure it."""
    met: bool | None

    def record(self) -> dict[str, Any]:
        return {"target": self.said, "value": self.value, "met": self.met, "aim": self.target.aim}


def verdicts(races: Sequence[Record], figures: Sequence[Record], growth: Sequence[Record] = ()) -> list[Verdict]:
    """Each target, with the run's value where it has one; and each cost that grows, against linear."""
    by_key = {str(one["key"]): one for one in (*races, *figures)}
    return [*(_verdict(target, by_key.get(target.row)) for target in TARGETS), *_of_growth(growth)]


def _verdict(target: Target, row: Record | None) -> Verdict:
    said = _in_words(target, row)
    value = _value(target, row) if row is not None else None
    if value is None:
        return Verdict(target=target, said=said, value=None, met=None)
    holds = value >= target.value if target.bound == "at least" else value <= target.value
    return Verdict(target=target, said=said, value=value, met=holds and _right(target, row))


def _value(target: Target, row: Record | None) -> float | None:
    if row is None or "results" not in row:
        return None if row is None else float(row["value"])
    found = {result["name"]: result for result in row["results"]}
    own, rival = found.get(target.own), found.get(target.against)
    if own is None or (target.against and rival is None):
        return None
    return float(own["ms"][0]) if rival is None else float(rival["ratio"][0]) / float(own["ratio"][0])


def _right(target: Target, row: Record | None) -> bool:
    if not target.recall or row is None:
        return True
    own = next(result for result in row["results"] if result["name"] == target.own)
    # Two rows whose products differ in the last bit of a float32 may change places at the end of ten.
    return own["check"] is not None and float(own["check"][1]) >= target.recall - 1e-3


def _in_words(target: Target, row: Record | None) -> str:
    aim = "aim: " if target.aim else ""
    if target.against:
        recall = f", recall {target.recall:g}" if target.recall else ""
        return f"{aim}{target.row}: {target.own} >= {target.value:.2f} x {target.against}{recall}"
    sign = ">=" if target.bound == "at least" else "<="
    unit = "ms" if row is None or "results" in row else row["unit"]
    return f"{aim}{target.row} {sign} {target.value:,g} {unit}"


def _of_growth(growth: Sequence[Record]) -> Iterator[Verdict]:
    for one in growth:
        target = Target(row=str(one["cost"]), bound="at most", value=LINEAR)
        value = float(one["exponent"])
        said = f"growth of {one['cost']}: exponent <= {LINEAR}"
        yield Verdict(target=target, said=said, value=value, met=value <= LINEAR)
