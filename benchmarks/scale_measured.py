"""What `benchmarks.scale_costs` has measured, as the numbers that a plan asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from benchmarks.scale_simulation import Draw, drawn_from

Record: TypeAlias = Mapping[str, Any]
Sample: TypeAlias = Sequence[float]
"""Milliseconds."""


class View(NamedTuple):
    """What a search looks through, and the share of the ten best that it must find."""

    rows: int
    recall: float = 1.0


@dataclass(frozen=True)
class MeasuredCatalog:
    """One catalog size of a costs file, as a process sees it beside another one on its node."""

    catalog: Record
    costs: Record

    @property
    def rows(self) -> int:
        return int(self.catalog["rows"])

    @property
    def bytes_per_tool(self) -> float:
        return sum(self.catalog["bytes_per_tool"].values())

    @property
    def applied_per_second(self) -> float:
        return float(self.catalog["follower"]["tools_per_second"])

    @property
    def start_seconds(self) -> float:
        return float(self.catalog["snapshot"]["load_seconds"])

    @property
    def save_seconds(self) -> float:
        return float(self.catalog["snapshot"]["save_processor_seconds"])

    @property
    def collection_seconds(self) -> float:
        return float(self.catalog["garbage_collection_seconds"])

    @property
    def http_seconds(self) -> float:
        return self.costs["server"]["processor_milliseconds_per_search"] / 1e3

    @property
    def slower(self) -> float:
        """How many times as long a search takes while the other core searches too."""
        return float(self.costs["contention"].get("slower", 1.0))

    @cached_property
    def views(self) -> dict[View, dict[int, Sample]]:
        """By what a search sees, by batch size: its time with the other core idle."""
        views: dict[View, dict[int, Sample]] = {}
        for search in self.catalog["searches"]:
            view = View(int(search["view_rows"]), float(search["recall"]))
            views.setdefault(view, {})[int(search["batch"])] = search["milliseconds"]
        return views

    def draw(self, view: View) -> Draw:
        """Times of batches over HTTP, with the other core busy."""
        sizes = {batch: [one * self.slower for one in sample] for batch, sample in self.views[view].items()}
        return drawn_from(sizes, self.http_seconds)

    def alone_seconds(self, view: View) -> float:
        """Mean time of one search over HTTP, with the other core busy."""
        return fmean(self.views[view][1]) / 1e3 * self.slower + self.http_seconds

    def capacity(self, view: View) -> tuple[float, int]:
        """The most searches a second that a process can answer, and in batches of how many."""
        sizes = self.views[view]
        return max(
            (batch / (fmean(sample) / 1e3 * self.slower + batch * self.http_seconds), batch)
            for batch, sample in sizes.items()
        )

    def summary(self) -> dict[str, Any]:
        """For the page."""
        return {
            "tools": self.rows,
            "bytes_per_tool": round(self.bytes_per_tool),
            "searches": [
                {
                    "view_rows": view.rows,
                    "recall": view.recall,
                    "milliseconds": {str(batch): round(fmean(sample) / batch, 3) for batch, sample in sizes.items()},
                }
                for view, sizes in self.views.items()
            ],
            "changes_applied_per_second": self.applied_per_second,
            "start_seconds": self.start_seconds,
            "snapshot_gigabytes": round(self.catalog["snapshot"]["bytes"] / 1e9, 2),
            "snapshot_processor_seconds": self.save_seconds,
            "compaction_processor_seconds": self.catalog.get("compaction", {}).get("processor_seconds"),
            "slower_beside_another": self.slower,
            "http_milliseconds": round(self.http_seconds * 1e3, 4),
        }
