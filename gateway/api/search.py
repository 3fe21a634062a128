"""Searching the catalog over HTTP."""

from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway.api.dependencies import caller_of, json_body, scope_of, services_of
from gateway.api.schemas import SearchBody, checked, json_request
from indexer import ToolSearchRequest

router = APIRouter(tags=["search"])

_NAMESPACES_SHOWN: Final = 20


@router.post(
    "/v1/search",
    summary="Find tools by what they do",
    openapi_extra=json_request(
        SearchBody.model_json_schema(),
        {
            "one need": {"query": "refund an order"},
            "several needs in one namespace": {
                "queries": ["list buckets", "delete a bucket"],
                "max_results": 10,
                "namespace": "aws-s3",
            },
        },
    ),
)
async def search(request: Request) -> Response:
    """Ranked tools with scores and reasons; an empty answer explains itself under `empty`."""
    services, caller = services_of(request), caller_of(request)
    wanted = checked(SearchBody, await json_body(request))
    response = await services.index.search(
        ToolSearchRequest(
            queries=wanted.needs,
            max_results=wanted.max_results,
            scope=scope_of(caller, wanted.wanted_namespaces, wanted.tags),
            worth_share=wanted.worth_share,
            min_confidence=wanted.min_confidence,
            collapse_duplicates=wanted.collapse_duplicates,
        )
    )
    if response.empty_reason == "nothing_in_scope":
        # The index keeps to the scope it was given; what the caller narrowed itself may be widened again.
        held = await services.index.namespaces(scope_of(caller))
        response = replace(response, namespaces=tuple(sorted(held, key=lambda name: -held[name])[:_NAMESPACES_SHOWN]))
    return Response(request.app.state.written_tools.answer(response), media_type="application/json")


DIRECT: Final = {("POST", "/v1/search"): search}
"""For the guard to call by itself."""
