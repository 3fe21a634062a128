"""How costs grow from a thousand tools to a million: measured at each size, summed up by an exponent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from gateway.bench.speed.artefacts import lexical_file
from gateway.bench.speed.bench import Bench
from gateway.bench.speed.dense import queries_of
from gateway.bench.speed.lanes import Contender, Settings
from gateway.bench.speed.lexical import own as own_lexical
from gateway.bench.speed.own_passes import planned
from gateway.bench.speed.search import own as own_search
from gateway.bench.speed.statistics import growth_exponent, spread, step_exponents
from gateway.bench.speed.text_rows import filled, search_settings

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
LINEAR: Final = 1.1
"""An exponent up to here counts as linear: fits of four sizes miss by as much."""
_DIMENSIONS: Final = 256
_REPEATS: Final = 5
_LARGEST_QUICK_FILL: Final = 100_000
_OUT_OF_CACHE: Final = "larger catalogs are read from memory, smaller ones from cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One cost at several sizes."""

    cost: str
    unit: str
    sizes: Sequence[int]
    costs: Sequence[float]
    exponent: float
    steps: Sequence[float]
    """Between each size and the next."""
    said: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)


def grown(cost: str, unit: str, by_size: Mapping[int, float], why: str = "") -> Growth:
    """Sum a cost up; `why` is said where a step is steeper than linear. Raises: ValueError for fewer than two sizes."""
    sizes, costs = list(by_size), list(by_size.values())
    exponent, steps = growth_exponent(sizes, costs), step_exponents(sizes, costs)
    said = "ABOVE LINEAR" if exponent > LINEAR else ""
    if max(steps) > LINEAR and why:
        said = f"{said}: {why}" if said else why
    return Growth(cost=cost, unit=unit, sizes=sizes, costs=costs, exponent=exponent, steps=steps, said=said)


def growth_table(bench: Bench, *, million: bool) -> list[Growth]:
    """Every cost; whole catalogs of a million tools only if asked for. Raises: LaneError."""
    whole = SIZES if million else tuple(rows for rows in SIZES if rows <= _LARGEST_QUICK_FILL)
    return [*_parts(bench), *_whole(bench, whole)]


def _parts(bench: Bench) -> Iterator[Growth]:
    dense: dict[int, Mapping[str, Any]] = {}
    words: dict[int, Mapping[str, Any]] = {}
    for number, rows in enumerate(SIZES):
        files = bench.files(_DIMENSIONS, rows)
        given = {**bench.text_settings(), "rows": rows, "vectors": str(files.vectors), "queries": str(files.queries)}
        dense[rows] = bench.measure("growth:dense", given)
        index = str(lexical_file(bench.data, rows, bench.heard))
        words[rows] = bench.measure("growth:words", {**given, "index": index})
        bench.heard("costs of growth", number + 1, len(SIZES))
    yield grown("10 nearest rows", "ms", _of(dense, "ms"), _OUT_OF_CACHE)
    yield grown("vectors", "bytes", _of(dense, "bytes"))
    yield grown("words of a request", "ms", _of(words, "ms"))
    yield grown("postings", "bytes", _of(words, "bytes"))


def _whole(bench: Bench, sizes: Sequence[int]) -> Iterator[Growth]:
    searches: dict[int, Mapping[str, Any]] = {}
    starts: dict[int, Mapping[str, Any]] = {}
    writes: dict[int, Mapping[str, Any]] = {}
    loads: dict[int, Mapping[str, Any]] = {}
    for number, rows in enumerate(sizes):
        given = search_settings(bench, rows)
        loads[rows] = filled(bench, given)
        searches[rows] = bench.measure("growth:whole_search", given)
        starts[rows] = bench.measure("catalogs:start", given)
        writes[rows] = bench.measure("catalogs:writes", given)
        bench.heard("costs of whole catalogs", number + 1, len(sizes))
    yield grown("whole search", "ms", _of(searches, "ms"), _OUT_OF_CACHE)
    yield grown("one registration", "ms", {rows: one["visible_ms"][0] for rows, one in writes.items()})
    yield grown("search after a registration", "ms", {rows: one["search_after_ms"][0] for rows, one in writes.items()})
    yield grown("registering all, beyond encoding", "s", _of(loads, "seconds"))
    yield grown("start", "s", _of(starts, "open_seconds"))
    yield grown("replica", "bytes", {rows: float(sum(one["parts_bytes"].values())) for rows, one in starts.items()})


def _of(records: Mapping[int, Mapping[str, Any]], name: str) -> dict[int, float]:
    return {rows: float(record[name]) for rows, record in records.items()}


# Measured in a process of its own.


def dense(settings: Settings) -> Mapping[str, Any]:
    """Milliseconds of our search, and the bytes of the rows."""
    rows, dimensions = int(settings["rows"]), queries_of(settings).shape[1]
    return {"ms": _median_ms(planned(settings), len(queries_of(settings))), "bytes": rows * (dimensions + 1) * 4}


def words(settings: Settings) -> Mapping[str, Any]:
    """Milliseconds of our lexical index, and its bytes on disk, which are those in memory."""
    with np.load(settings["index"]) as arrays:
        size = sum(array.nbytes for array in arrays.values())
    return {"ms": _median_ms(own_lexical(settings), len(settings["requests"])), "bytes": size}


def whole_search(settings: Settings) -> Mapping[str, Any]:
    """Milliseconds of the whole search."""
    return {"ms": _median_ms(own_search(settings), len(settings["requests"]))}


def _median_ms(contender: Contender, queries: int) -> float:
    """The lowest median of several turns: others on the machine only ever add."""
    numbers = list(range(min(queries, 64)))
    contender.turn(numbers[:4])
    best = min(spread(contender.turn(numbers).seconds).median for _ in range(_REPEATS))
    contender.close()
    return best * 1e3
