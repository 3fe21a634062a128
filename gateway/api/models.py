"""The models that the gateway answers with, as OpenAI's API lists them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter

from gateway.api.answers import JsonAnswer
from gateway.api.dependencies import ServicesOf
from gateway.errors import ModelError
from gateway.models.base import ModelLister
from gateway.services import Services

logger = logging.getLogger(__name__)

router = APIRouter(tags=["chat"])


@router.get("/v1/models", summary="Models")
async def models(services: ServicesOf) -> JsonAnswer:
    """The upstream's own list, with the configured model in it; that one alone where the upstream has no list.

    Without an upstream, the scripted model that stands in.
    """
    return JsonAnswer({"object": "list", "data": await _models(services)})


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
