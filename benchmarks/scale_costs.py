"""Measures on this machine what `benchmarks.scale_plan` calculates with.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.scale_costs --results benchmarks/results

A million rows take about ten minutes and ten gigabytes of memory; `--rows 10000,100000` takes two minutes. The machine
should be quiet: the file says how busy it was. One thread a search, as each gateway process has one core to itself.
"""

import argparse
import json
import multiprocessing
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.scale_catalog import BASE, GrownCatalog, measured, search_seconds, store_bytes_per_tool
from benchmarks.scale_server import measured_server
from gateway.bench.speed.machine import this_machine
from indexer import Embedder, make_embedder
from indexer.embedders.base import token_encoder_of
from indexer.replica import Replica

DEFAULT_ROWS: Final = (10_000, 100_000, 1_000_000)
_SPUN_ROWS: Final = 100_000
"""Of the catalog that two processes read at the same time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    asked = _parser().parse_args(arguments)
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        _say("set OPENBLAS_NUM_THREADS=1 first: a plan counts cores, and numpy would use several for one search")
        return 2
    load = round(os.getloadavg()[0], 1)
    now = datetime.now(UTC)
    record = {
        "benchmark": "scale_costs",
        "date": now.isoformat(timespec="seconds"),
        "machine": _machine(load),
        **_measure(asked.rows, asked.temporary),
    }
    text = re.sub(r"\[[\d.,\s]+\]", lambda numbers: " ".join(numbers[0].split()), json.dumps(record, indent=1)) + "\n"
    if asked.results is None:
        sys.stdout.write(text)
        return 0
    path: Path = asked.results / f"scale-costs-{now:%Y-%m-%d}.json"
    path.write_text(text, encoding="utf-8")
    _say(f"kept in {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=_rows, default=DEFAULT_ROWS, help="catalog sizes, multiples of 10,000")
    parser.add_argument("--results", type=Path, help="folder for the JSON; without it, it is printed")
    parser.add_argument("--temporary", type=Path, help="folder for snapshots, 5 GB for a million rows")
    return parser


def _rows(text: str) -> tuple[int, ...]:
    sizes = tuple(sorted({int(part.replace("_", "")) for part in text.split(",")}))
    if any(size < BASE or size % BASE for size in sizes):
        raise argparse.ArgumentTypeError(f"write multiples of {BASE}, 10000,100000 say")
    return sizes


def _measure(sizes: Sequence[int], temporary: Path | None) -> dict[str, Any]:
    _say("a gateway over HTTP")
    server = measured_server()
    embedder = make_embedder("static")
    _say("reading and encoding 10,000 real tools")
    grown = GrownCatalog(embedder)
    replica = Replica(embedder.dimensions, token_encoder=token_encoder_of(embedder))
    catalogs: list[dict[str, Any]] = []
    contention: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=temporary) as folder:
        on_disk = store_bytes_per_tool(grown, Path(folder))
        for size in sizes:
            _say(f"growing the catalog to {size:,} tools")
            for tools, documents in grown.chunks(replica.state.live, size):
                replica.apply(tools, documents)
            replica.calibrate(embedder)
            if size >= _SPUN_ROWS and not contention:
                _say("two processes at a time")
                contention = _contention(replica, grown, embedder)
            _say("measuring it")
            # What is measured changes the catalog a little: a thousand tools more.
            catalogs.append(measured(replica, grown, embedder, Path(folder)))
    return {
        "encoder": {"id": embedder.embedder_id, "tools_per_second": round(grown.encoded_per_second, 1)},
        "catalogs": catalogs,
        "contention": contention,
        "store_bytes_per_tool": on_disk,
        "server": server,
    }


def _contention(replica: Replica, grown: GrownCatalog, embedder: Embedder) -> dict[str, Any]:
    """How much longer a search takes while another process searches on another core, medians of turns."""
    context = multiprocessing.get_context("fork")
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(3):
        alone.append(search_seconds(replica.state, grown, embedder))
        other = context.Process(target=_search_for_ever, args=(replica, grown, embedder), daemon=True)
        other.start()
        time.sleep(0.5)
        beside.append(search_seconds(replica.state, grown, embedder))
        other.kill()
        other.join()
    return {
        "rows": replica.state.live,
        "processes": 2,
        "slower": round(statistics.median(beside) / statistics.median(alone), 3),
    }


def _search_for_ever(replica: Replica, grown: GrownCatalog, embedder: Embedder) -> None:
    while True:
        search_seconds(replica.state, grown, embedder)


def _machine(load: float) -> dict[str, Any]:
    return {
        "processor": this_machine().cpu,
        "cores": os.cpu_count(),
        "load": load,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
