"""Whether the gateway lives, and whether it can answer."""

import os
from typing import Final

from fastapi import APIRouter, Request

from gateway.api.answers import JsonAnswer
from gateway.api.dependencies import CallerOf, ServicesOf
from gateway.home import SERVICE_NAME

router = APIRouter(tags=["health"])

_PROBLEM: Final = "the catalog cannot be followed; ask with the gateway's key for the reason, or read its log"
"""To those without the key: the reason may name the store's address or path."""


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the process alive?")
async def healthz(request: Request) -> JsonAnswer:
    """Answers as long as the process does; asks nothing of the catalog.

    `pid` is of the process that was started; `worker` of the one that answered, where there are several.
    """
    return JsonAnswer({"status": "ok", "service": SERVICE_NAME, "pid": request.app.state.pid, "worker": os.getpid()})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Can it answer searches?")
async def readyz(services: ServicesOf, caller: CallerOf) -> JsonAnswer:
    """Answers once the catalog is open, with how far it has come.

    A gateway whose store is away is ready, too: it searches what it knows, and says here that it is stale, and why to
    those who have its key.
    """
    stats = await services.index.stats()
    told_why = services.settings.api_key is None or bool(caller.principal)
    return JsonAnswer(
        {
            "status": "ready",
            "tools": stats.tools,
            "catalog_revision": stats.catalog_revision,
            "stale": stats.stale,
            "silence_seconds": stats.silence_seconds,
            "problem": stats.problem if told_why or not stats.problem else _PROBLEM,
        }
    )
