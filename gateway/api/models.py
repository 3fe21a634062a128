"""The models that the gateway answers with, as OpenAI's API lists them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter

from gateway.api.answers import JsonAnswer
from gateway.api.dependencies import ServicesOf
from gateway.api.errors import ProblemError
from gateway.api.schemas import path_parameters
from gateway.errors import ModelError
from gateway.models.base import ModelLister
from gateway.services import Services
from indexer.errors import cut

logger = logging.getLogger(__name__)

router = APIRouter(tags=["chat"])


@router.get("/v1/models", summary="Models")
async def models(services: ServicesOf) -> JsonAnswer:
    """The upstream's own list, with the configured model in it; that one alone where the upstream has no list.

    Without an upstream, the scripted model that stands in.
    """
    return JsonAnswer({"object": "list", "data": await _models(services)})


@router.get(
    "/v1/models/{model:path}",
    summary="One model",
    openapi_extra=path_parameters(model="Its id, with any slashes in it."),
)
async def one_model(model: str, services: ServicesOf) -> JsonAnswer:
    """Its entry of the list."""
    found = next((one for one in await _models(services) if one.get("id") == model), None)
    if found is None:
        raise ProblemError(
            404,
            "model-not-found",
            f"the model {cut(model, 200)!r} does not exist here; GET /v1/models lists those that do",
            errors=[{"field": "model"}],
        )
    return JsonAnswer(found)


async def _models(services: Services) -> Sequence[Mapping[str, Any]]:
    settings = services.settings
    if settings.upstream_url is None:
        return [_entry("scripted")]
    listed = await _upstream_models(services)
    if not listed:
        return [_entry(settings.upstream_model or "default")]
    if settings.upstream_model and all(one.get("id") != settings.upstream_model for one in listed):
        return [_entry(settings.upstream_model), *listed]
    return listed


async def _upstream_models(services: Services) -> Sequence[Mapping[str, Any]]:
    model = services.model
    if not isinstance(model, ModelLister):
        return []
    try:
        return await model.models()
    except ModelError as error:
        logger.warning("the upstream's models are not listed: %s", error)
        return []


def _entry(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "toolscout"}
