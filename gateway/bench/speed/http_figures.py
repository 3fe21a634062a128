"""Figures over HTTP on loopback: the server in one process, whoever asks it in another."""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.bench.speed.bench import Bench
from gateway.bench.speed.dense_rows import short
from gateway.bench.speed.figures import Figure, FigureMaker
from gateway.bench.speed.grown import DEPTH
from gateway.bench.speed.processes import child_environment
from gateway.bench.speed.serving import served
from gateway.bench.speed.text_rows import search_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlan:
    """How much is asked of the server."""

    rows: int = 10_000
    connections: int = 64
    rate: float = 300.0
    """Searches a second, where they come at a fixed rate."""
    seconds: float = 10.0
    calls: int = 300
    """Streamed answers."""


_PLAN: Final = HttpPlan()


def http_rows() -> Iterator[tuple[str, bool, FigureMaker]]:
    """(key, whether it belongs to a quick run, how it is measured)."""
    name = short(_PLAN.rows)
    yield f"http-{name}", False, search_figures
    yield f"http-writes-{name}", False, writing_figures
    yield "stream-overhead", False, stream_figures


def search_figures(bench: Bench, plan: HttpPlan = _PLAN) -> list[Figure]:
    """Searches as fast as they are answered, and at a fixed rate."""
    given, name = search_settings(bench, plan.rows), short(plan.rows)
    with served(Path(given["home"])) as server:
        load = {**_load(given, plan), "host": server.host, "port": server.port}
        computed = server.cpu_seconds()
        free = bench.measure("load:closed", load)
        computed = (server.cpu_seconds() - computed) / max(free["all_answered"], 1)
        fixed = bench.measure("load:opened", {**load, "rate": plan.rate})
    return [
        Figure(
            key=f"http-closed-{name}",
            title=f"searches over HTTP, {plan.connections} connections, {plan.rows:,} tools",
            value=free["per_second"],
            unit="/s",
            check=f"{_check(bench, free)}, {computed * 1e3:.2f} ms of the server's CPU each",
            details={**_without_answers(free), "server_cpu_ms": computed * 1e3},
        ),
        *_latencies(bench, fixed, f"http-open-{{}}-{name}", f"over HTTP at {plan.rate:.0f}/s, {plan.rows:,} tools"),
    ]


def writing_figures(bench: Bench, plan: HttpPlan = _PLAN) -> list[Figure]:
    """The same fixed rate while another client registers tools without a pause, flushes and snapshots included."""
    given, name = search_settings(bench, plan.rows), short(plan.rows)
    with served(Path(given["home"])) as server:
        load = {**_load(given, plan), "host": server.host, "port": server.port, "rate": plan.rate}
        record = bench.measure("load_and_writes:searches_during_writes", {**load, "rows": plan.rows})
    written = record["written_per_second"]
    said = f"over HTTP at {plan.rate:.0f}/s while {written:.0f} tools/s are written, {plan.rows:,} tools"
    return [
        *_latencies(bench, record["searches"], f"http-writes-{{}}-{name}", said),
        Figure(
            key=f"http-writes-health-{name}",
            title="longest wait for /healthz meanwhile, which asks nothing of the catalog (p99)",
            value=record["health_ms"]["p99"],
            unit="ms",
            check=f"longest of all: {record['health_ms']['p100']:.0f} ms",
            details={name: value for name, value in record.items() if name != "searches"},
        ),
    ]


def stream_figures(bench: Bench, plan: HttpPlan = _PLAN) -> list[Figure]:
    """What the gateway adds to the time to the first token."""
    given = search_settings(bench, plan.rows)
    with _upstream() as port:
        environment = {"TOOLSCOUT_UPSTREAM_URL": f"http://127.0.0.1:{port}/v1"}
        with served(Path(given["home"]), environment) as server:
            direct = ["127.0.0.1", port, "/v1/chat/completions"]
            through = [server.host, server.port, "/v1/chat/completions"]
            asked = {"direct": direct, "through": through, "calls": plan.calls}
            record = bench.measure("streaming:first_tokens", asked)
    median, low, high = record["added_ms"]
    return [
        Figure(
            key="stream-overhead",
            title=f"added to the time to the first streamed token, {plan.rows:,} tools",
            value=median,
            unit="ms",
            low=low,
            high=high,
            check=f"direct {record['direct_ms']:.2f} ms, through the gateway {record['through_ms']:.2f} ms",
            details=record,
        )
    ]


@contextmanager
def _upstream() -> Generator[int]:
    """The port of a model endpoint in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.bench.speed.upstream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment(),
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def _load(given: Mapping[str, Any], plan: HttpPlan) -> dict[str, Any]:
    return {
        "data": given["data"],
        "path": "/v1/search",
        "bodies": [json.dumps({"query": text, "max_results": DEPTH}) for text in given["requests"]],
        "connections": plan.connections,
        "seconds": plan.seconds,
    }


def _latencies(bench: Bench, record: Mapping[str, Any], key: str, said: str) -> Iterator[Figure]:
    for share in ("p50", "p99"):
        yield Figure(
            key=key.format(share),
            title=f"{share} of searches {said}",
            value=record["ms"][share],
            unit="ms",
            check=_check(bench, record),
            details=_without_answers(record),
        )


def _check(bench: Bench, record: Mapping[str, Any]) -> str:
    """How many answers failed, and how often the needed tool was in them."""
    answers: Mapping[str, Sequence[str]] = record["found"]
    requests = bench.data.requests
    right = [str(bench.data.tool(requests[int(number)].row).key) in found for number, found in answers.items()]
    return f"{record['failed']} failed, needed tool in 10: {sum(right) / max(len(right), 1):.3f}"


def _without_answers(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "found"}
