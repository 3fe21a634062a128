"""What the tool loop has done and how the catalog stands, for a Prometheus server to fetch."""

import os

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from gateway.advisors.metrics import prometheus_labels
from gateway.api.dependencies import ServicesOf
from indexer import IndexStats

router = APIRouter(tags=["health"])


@router.get("/metrics", summary="Counters of the tool loop, gauges of the catalog", response_class=PlainTextResponse)
async def metrics(request: Request, services: ServicesOf) -> PlainTextResponse:
    """Model calls, tool calls by tool, and tokens, since the start; the catalog's size, revision and staleness.

    In Prometheus' text format. It names tools, so it asks for the gateway's key like any other route. Of several
    workers, the one that is asked answers for itself, under the label `worker`: a counter that several gave in turn
    would go up and down.
    """
    worker = os.getpid()
    labels = {} if worker == request.app.state.pid else {"worker": str(worker)}
    text = services.counts.prometheus_text(**labels) + _gauges(await services.index.stats(), prometheus_labels(labels))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _gauges(stats: IndexStats, labels: str) -> str:
    gauges = (
        ("toolscout_catalog_tools", "Tools that a search may find.", stats.tools),
        ("toolscout_catalog_quarantined", "Tools kept in quarantine.", stats.quarantined),
        ("toolscout_catalog_revision", "The last change that this gateway knows of.", stats.catalog_revision),
        ("toolscout_catalog_stale", "1 while the store has not answered for too long.", int(stats.stale)),
        ("toolscout_store_silence_seconds", "Since the store last said what is new.", stats.silence_seconds),
        ("toolscout_memory_bytes", "Memory of the catalog in this process.", sum(stats.parts_bytes.values())),
    )
    return "".join(
        f"# HELP {name} {told}\n# TYPE {name} gauge\n{name}{labels} {value}\n" for name, told, value in gauges
    )
