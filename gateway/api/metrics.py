"""What the tool loop has done, for a Prometheus server to fetch."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from gateway.api.dependencies import ServicesOf

router = APIRouter(tags=["health"])


@router.get("/metrics", summary="Counters of the tool loop", response_class=PlainTextResponse)
async def metrics(services: ServicesOf) -> PlainTextResponse:
    """Model calls, tool calls by tool, and tokens, since the start, in Prometheus' text format.

    It names tools, so it asks for the gateway's key like any other route.
    """
    return PlainTextResponse(services.counts.prometheus_text(), media_type="text/plain; version=0.0.4; charset=utf-8")
