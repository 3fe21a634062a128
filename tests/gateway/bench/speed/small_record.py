"""The record of a run of one race, one figure and one growing cost."""

from typing import Any

from gateway.bench.speed.dense_rows import BITS
from gateway.bench.speed.growth import grown
from gateway.bench.speed.targets import verdicts


def _result(name: str, ms: float, ratio: float) -> dict[str, Any]:
    return {
        "name": name,
        "ms": [ms, 0.9 * ms, 1.1 * ms],
        "p99_ms": 2 * ms,
        "ratio": [ratio, ratio, ratio],
        "check": ["recall@10", 1.0],
        "checked": 64,
        "calls": 70,
        "notes": {"version": "lib 1.0"} if name == "faiss flat" else {},
    }


def small_record(faiss: float = 1.5, bits: float = 0.4) -> dict[str, Any]:
    race = {
        "key": "dense-100k-384",
        "title": "10 nearest of 100,000 x 384",
        "results": [
            _result("toolscout", 4.0, 1.0),
            _result("faiss flat", 6.0, faiss),
            _result(BITS, 1.6, bits),
        ],
        "skipped": {"usearch exact": "not installed: pip install usearch"},
    }
    figure = {
        "key": "load-100k",
        "title": "bulk registration",
        "value": 5200.0,
        "unit": "tools/s",
        "low": None,
        "high": None,
        "check": "100,000 of 100,000 tools taken",
    }
    growth = [grown("whole search", "ms", {1000: 1.0, 10_000: 20.0}, "it reads memory").record()]
    return {
        "schema": 1,
        "started": "2026-11-30T10:00:00+00:00",
        "seconds": 50.0,
        "machine": {"cpu": "A CPU", "cores": 2, "governor": "performance", "memory_gib": 24.0, "python": "3.11.7"},
        "versions": {"toolscout": "0.1.0"},
        "load": {"start": 0.1, "end": 1.0},
        "warnings": ["The machine was busy."],
        "seed": 1,
        "pace": {"rounds": 9, "turn_seconds": 0.2, "lane_seconds": 20.0},
        "data": {
            "tools": 40,
            "encoder": "hashing",
            "wide": "",
            "requests": 1,
            "requests_drawn": False,
            "packages": {"botocore": "1"},
        },
        "races": [race],
        "figures": [figure],
        "growth": growth,
        "failed": {"http-10k": "`toolscout serve` ended with code 1"},
        "targets": [verdict.record() for verdict in verdicts([race], [figure], growth)],
    }
