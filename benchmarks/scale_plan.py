"""What a million tools, ten thousand agents and five thousand searches a second take: measured costs, then simulated.

    python -m benchmarks.scale_plan --costs benchmarks/results/scale-costs-DATE.json --write   # plan, JSON and page
    python -m benchmarks.scale_plan --check                                                    # does the page agree?

Every figure of docs/scale.md stands between marks, is written there by `--write`, and comes from the JSON beside it.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.scale_measured import MeasuredCatalog, Record, View
from benchmarks.scale_page import agrees, text_tables, written
from benchmarks.scale_simulation import Background, Failure, Outcome, Pause, Setup, simulate
from indexer.settings import QdrantSettings
from indexer.snapshot import snapshot_changes

POLL_SECONDS: Final = QdrantSettings().poll_seconds
RESULTS: Final = Path(__file__).parent / "results"
PAGE: Final = Path(__file__).parents[1] / "docs" / "scale.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is to be served."""

    tools: int = 1_000_000
    agents: int = 10_000
    searches_per_second: float = 5_000.0
    changes_per_second: float = 20.0
    """Tools registered, changed or deleted."""
    answer_seconds: float = 0.1
    """In which 99 of 100 searches are answered, or in four times what one search alone takes, if that is more."""
    most_load: float = 0.7
    """Share of the time that a process may be busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the catalog is spread over gateways."""

    name: str
    groups: int
    """Each holds a part of the tenants, in a collection of its own."""
    view: View
    """Tools that one search sees: those of a tenant."""


LAYOUTS: Final = (
    Layout(name="all tools in every gateway, tenants of 10,000", groups=1, view=View(10_000)),
    Layout(name="all tools in every gateway, one tenant", groups=1, view=View(1_000_000)),
    Layout(name="all tools in every gateway, one tenant, recall .99", groups=1, view=View(1_000_000, 0.99)),
    Layout(name="ten groups, tenants of 10,000", groups=10, view=View(10_000)),
    Layout(name="ten groups, tenants of 100,000", groups=10, view=View(100_000)),
    Layout(name="ten groups, tenants of 100,000, recall .99", groups=10, view=View(100_000, 0.99)),
)
WORKERS_PER_GATEWAY: Final = 2
"""Processes on a node: what was measured side by side."""
_COLLECTION_SECONDS: Final = 60.0
_DOWN_SECONDS: Final = 60.0
"""How long a node is away before its process starts again."""
_NOTICED_SECONDS: Final = 2.0
_STORE_NODES: Final = 3
_STORE_REPLICAS: Final = 2
_STORE_SHARDS: Final = 6
_IDLE_ENOUGH: Final = 0.35
"""A process that is busy for less of its time is not waited for."""
_SYSTEM_BYTES: Final = 1e9
"""What a node needs for itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan, print and keep; with `--check`, 1 if the page does not hold what the kept plan says."""
    asked = _parser().parse_args(arguments)
    if asked.check:
        path = newest("scale-plan")
        missing = agrees(PAGE.read_text(encoding="utf-8"), json.loads(path.read_text(encoding="utf-8")))
        sys.stdout.write(f"{PAGE.name} and {path.name}: {missing or 'agree'}\n")
        return 1 if missing else 0
    costs_path: Path = asked.costs or newest("scale-costs")
    plan = planned(json.loads(costs_path.read_text(encoding="utf-8")), Demand(), seconds=asked.seconds)
    sys.stdout.write(text_tables(plan) + "\n")
    if asked.write:
        text = json.dumps({**plan, "costs": costs_path.name}, indent=1, ensure_ascii=False) + "\n"
        (RESULTS / costs_path.name.replace("scale-costs", "scale-plan")).write_text(text, encoding="utf-8")
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), json.loads(text)), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costs", type=Path, help="what scale_costs has measured; the newest under results/")
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated time of each run")
    parser.add_argument("--write", action="store_true", help="keep the plan and write its figures into the page")
    parser.add_argument("--check", action="store_true", help="only compare the page with the kept plan")
    return parser


def newest(kind: str) -> Path:
    """The latest result of a kind. Raises: SystemExit that says how to make one."""
    found = sorted(RESULTS.glob(f"{kind}-*.json"))
    if not found:
        raise SystemExit(f"there is no {RESULTS}/{kind}-DATE.json: run `python -m benchmarks.scale_costs` first")
    return found[-1]


def planned(costs: Record, demand: Demand, *, seconds: float = 60.0) -> dict[str, Any]:
    """The plan for each layout whose catalog was measured."""
    catalogs = {one.rows: one for one in (MeasuredCatalog(catalog, costs) for catalog in costs["catalogs"])}
    layouts = [
        _laid_out(layout, catalogs[rows], demand, seconds)
        for layout in LAYOUTS
        if (rows := demand.tools // layout.groups) in catalogs and layout.view in catalogs[rows].views
    ]
    return {
        "benchmark": "scale_plan",
        "machine": costs["machine"],
        "demand": {
            "tools": demand.tools,
            "agents": demand.agents,
            "searches_per_second": demand.searches_per_second,
            "changes_per_second": demand.changes_per_second,
            "busy_at_most": demand.most_load,
        },
        "measured": [catalog.summary() for catalog in catalogs.values()],
        "layouts": layouts,
        "store": _store(costs, demand),
    }


def _laid_out(layout: Layout, catalog: MeasuredCatalog, demand: Demand, seconds: float) -> dict[str, Any]:
    alone = catalog.alone_seconds(layout.view)
    capacity, batch = catalog.capacity(layout.view)
    rate = demand.searches_per_second / layout.groups
    changes = demand.changes_per_second / layout.groups
    target = max(demand.answer_seconds, 4 * alone)
    between = snapshot_changes(catalog.rows)
    # The snapshot that a process starts from may be as old as one can get.
    missed = between + changes * (_DOWN_SECONDS + catalog.start_seconds)
    back = catalog.start_seconds + missed / catalog.applied_per_second
    setup = Setup(
        searches_per_second=rate,
        workers=0,
        draw=catalog.draw(layout.view),
        max_batch=batch,
        workers_per_gateway=WORKERS_PER_GATEWAY,
        pauses=(
            Pause(every_seconds=POLL_SECONDS, lasts_seconds=changes * POLL_SECONDS / catalog.applied_per_second),
            Pause(every_seconds=_COLLECTION_SECONDS, lasts_seconds=catalog.collection_seconds),
        ),
        # In a thread of a busy process, work takes about twice its processor time.
        background=(Background(every_seconds=between / changes, lasts_seconds=2 * catalog.save_seconds),),
        failure=Failure(at_seconds=seconds / 3, back_after_seconds=back, noticed_after_seconds=_NOTICED_SECONDS),
        seconds=seconds,
    )
    setup, outcome, kept = _enough(setup, _whole_nodes(rate / (capacity * demand.most_load)), target)
    workers, server = setup.workers, catalog.costs["server"]
    connections = demand.agents / layout.groups / workers * server["bytes_per_connection"]
    process = catalog.bytes_per_tool * catalog.rows + connections + server["resident_bytes_without_catalog"]
    return {
        "name": layout.name,
        "groups": layout.groups,
        "tools_in_a_process": catalog.rows,
        "tools_a_search_sees": layout.view.rows,
        "recall": layout.view.recall,
        "alone_milliseconds": round(alone * 1e3, 2),
        "batch": batch,
        "searches_per_second_of_a_process": round(capacity, 1),
        "processes": workers * layout.groups,
        "nodes": workers * layout.groups // WORKERS_PER_GATEWAY,
        "memory_of_a_process_gigabytes": round(process / 1e9, 2),
        "memory_of_a_node_gigabytes": round((WORKERS_PER_GATEWAY * process + _SYSTEM_BYTES) / 1e9, 1),
        "busy": round(outcome.busy_seconds / (workers * (seconds - setup.warm_up_seconds)), 3),
        "headroom": round(workers * capacity / rate, 2),
        "target_milliseconds": round(target * 1e3),
        "kept": kept,
        **_percentiles(outcome, seconds),
        "tried_again": outcome.retries * layout.groups,
        "back_after_seconds": round(back, 1),
        "follower_lag_seconds": _lag(changes, catalog.applied_per_second),
    }


def _percentiles(outcome: Outcome, seconds: float) -> dict[str, float]:
    failed = seconds / 3
    named = {
        "p50_milliseconds": outcome.percentile(0.5, until=failed),
        "p99_milliseconds": outcome.percentile(0.99, until=failed),
        "p999_milliseconds": outcome.percentile(0.999, until=failed),
        "p99_as_a_node_fails_milliseconds": outcome.percentile(0.99, since=failed, until=failed + _NOTICED_SECONDS),
        "p99_without_it_milliseconds": outcome.percentile(0.99, since=failed + _NOTICED_SECONDS),
    }
    return {name: round(value * 1e3, 1) for name, value in named.items()}


def _enough(setup: Setup, workers: int, target: float) -> tuple[Setup, Outcome, bool]:
    """With the fewest processes, node by node, that keep to the target also while one node is gone; whether they do.

    No more are tried where processes that mostly wait miss it still: then it is the searches that take too long.
    """
    workers = max(2 * WORKERS_PER_GATEWAY, workers)
    while True:
        setup = replace(setup, workers=workers)
        outcome = simulate(setup)
        failed = setup.seconds / 3
        worst = max(outcome.percentile(0.99, until=failed), outcome.percentile(0.99, since=failed + _NOTICED_SECONDS))
        kept = worst <= target and outcome.unanswered < setup.searches_per_second * target
        busy = outcome.busy_seconds / (workers * (setup.seconds - setup.warm_up_seconds))
        if kept or busy < _IDLE_ENOUGH:
            return setup, outcome, kept
        workers = _whole_nodes(max(workers + WORKERS_PER_GATEWAY, workers * 1.1))


def _whole_nodes(workers: float) -> int:
    return WORKERS_PER_GATEWAY * math.ceil(workers / WORKERS_PER_GATEWAY)


def _lag(changes: float, applied_per_second: float) -> dict[str, float]:
    """Seconds from a change's acknowledgement to its visibility in another gateway, which asks every half second.

    The time that the store takes to answer is not in it: no server was there to be measured.
    """
    source = random.Random(1)
    lags: list[float] = []
    written, asked = source.expovariate(changes), 0.0
    while len(lags) < 20_000:
        asked += POLL_SECONDS
        batch: list[float] = []
        while written <= asked:
            batch.append(written)
            written += source.expovariate(changes)
        done = asked + len(batch) / applied_per_second
        lags += [done - one for one in batch]
        asked = done
    lags.sort()
    return {"p50": round(lags[len(lags) // 2], 3), "p99": round(lags[int(len(lags) * 0.99)], 3)}


def _store(costs: Record, demand: Demand) -> dict[str, Any]:
    kept = costs["store_bytes_per_tool"] * demand.tools * _STORE_REPLICAS
    return {
        "nodes": _STORE_NODES,
        "shards": _STORE_SHARDS,
        "replicas": _STORE_REPLICAS,
        "bytes_per_tool": costs["store_bytes_per_tool"],
        "gigabytes_of_a_node": round(kept / _STORE_NODES / 1e9, 1),
        "shards_of_a_node": _STORE_SHARDS * _STORE_REPLICAS // _STORE_NODES,
        "nodes_that_may_fail": _STORE_REPLICAS - 1,
    }


if __name__ == "__main__":
    sys.exit(main())
