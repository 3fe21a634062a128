"""A run of the benchmark, from its options to its record."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from gateway.bench.speed.artefacts import remove_leftovers, source_fingerprint, words_fingerprint
from gateway.bench.speed.bench import FULL, QUICK, Bench, RaceRow
from gateway.bench.speed.data import SEED
from gateway.bench.speed.dense_rows import dense_rows
from gateway.bench.speed.figures import figure_rows
from gateway.bench.speed.growth import growth_table
from gateway.bench.speed.http_figures import http_rows
from gateway.bench.speed.lanes import LaneError
from gateway.bench.speed.machine import busy_warning, installed_versions, load_average, this_machine
from gateway.bench.speed.preparing import prepare
from gateway.bench.speed.race import Outcome, Result
from gateway.bench.speed.targets import verdicts
from gateway.bench.speed.text_rows import text_rows

Record = dict[str, Any]
_Made = TypeVar("_Made")

SCHEMA: Final = 1


def run_speed(bench: Bench, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Record:
    """Measure every row that was asked for; a row that fails is named with its reason, and the others go on."""
    machine, load = this_machine(), load_average()
    remove_leftovers(bench.data.folder, {source_fingerprint(), words_fingerprint(bench.data.folder)})
    started, began = now(), time.perf_counter()
    measured = _Measured()
    try:
        _measure(bench, measured)
    except KeyboardInterrupt:
        # Half an hour of figures is worth more than none.
        measured.failed["interrupted"] = "what comes after the rows above was not measured"
    races, figures, growth = measured.races, measured.figures, measured.growth
    pace = QUICK if bench.options.quick else FULL
    return {
        "schema": SCHEMA,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - began, 1),
        "quick": bench.options.quick,
        "peers": bench.options.peers,
        "machine": machine.record(),
        "versions": installed_versions(),
        "load": {"start": load, "end": load_average()},
        "warnings": _warnings(load, machine.cores, machine.last_cache_mib),
        "seed": SEED,
        "pace": {"rounds": pace.rounds, "turn_seconds": pace.turn_seconds, "lane_seconds": pace.lane_seconds},
        "data": {
            "tools": bench.data.tools,
            "encoder": bench.data.encoder,
            "wide": bench.data.description["wide"],
            "requests": len(bench.data.requests),
            "requests_drawn": bench.data.description["requests_drawn"],
            "packages": bench.data.description["packages"],
        },
        "races": races,
        "figures": figures,
        "growth": growth,
        "failed": measured.failed,
        "targets": [verdict.record() for verdict in verdicts(races, figures, growth)],
    }


@dataclass(slots=True)
class _Measured:
    """What a run has so far."""

    races: list[Record] = field(default_factory=list[Record])
    figures: list[Record] = field(default_factory=list[Record])
    growth: list[Record] = field(default_factory=list[Record])
    failed: dict[str, str] = field(default_factory=dict[str, str])


def _measure(bench: Bench, measured: _Measured) -> None:
    failed = measured.failed
    if bench.options.quick:
        prepare(bench)
    for key, make in _wanted(bench, (*figure_rows(), *http_rows())):
        figures = _guarded(key, failed, lambda make=make: make(bench))
        measured.figures.extend(figure.record() for figure in figures or ())
    for key, make in _wanted(bench, (*dense_rows(), *text_rows())):
        race = _guarded(key, failed, lambda make=make: _race(bench, make(bench)))
        if race is not None:
            measured.races.append(race)
    if not bench.options.quick and bench.options.wants("growth"):
        table = _guarded("growth", failed, lambda: growth_table(bench, million=bench.options.million))
        measured.growth.extend(one.record() for one in table or ())


def row_keys() -> list[str]:
    """Of every row, as `Options.only` selects them."""
    return [key for key, _, _ in (*figure_rows(), *http_rows(), *dense_rows(), *text_rows())] + ["growth"]


def _wanted(bench: Bench, rows: Iterable[tuple[str, bool, _Made]]) -> list[tuple[str, _Made]]:
    return [
        (key, make)
        for key, quick, make in rows
        if (quick or bench.options.only or not bench.options.quick) and bench.options.wants(key)
    ]


def _guarded(key: str, failed: dict[str, str], call: Callable[[], _Made]) -> _Made | None:
    try:
        return call()
    except LaneError as error:
        failed[key] = str(error)
        return None


def _race(bench: Bench, row: RaceRow) -> Record:
    outcome: Outcome = bench.race(row)
    return {
        "key": row.key,
        "title": row.title,
        "results": [_result(result) for result in outcome.results],
        "skipped": outcome.skipped,
    }


def _result(result: Result) -> Record:
    return {
        "name": result.name,
        "ms": _numbers(*result.milliseconds.record()),
        "p99_ms": None if result.p99_milliseconds is None else _numbers(result.p99_milliseconds)[0],
        "ratio": _numbers(*result.ratio.record()),
        "check": None if result.check is None else [result.check[0], round(result.check[1], 4)],
        "checked": result.checked,
        "calls": result.calls,
        "notes": dict(result.notes),
    }


def _numbers(*values: float) -> list[float]:
    """To five significant digits."""
    return [float(f"{value:.5g}") for value in values]


def _warnings(load: float, cores: int, last_cache_mib: float) -> Sequence[str]:
    found = [busy_warning(load, cores)]
    if last_cache_mib >= 100:
        found.append(
            f"The last cache holds {last_cache_mib:.0f} MiB, shared: scans of 100,000 rows are partly read from it."
        )
    return [one for one in found if one]
