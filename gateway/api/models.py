"""The models that the gateway answers with, as OpenAI's API lists them."""

from fastapi import APIRouter

from gateway.api.answers import JsonAnswer
from gateway.api.dependencies import ServicesOf

router = APIRouter(tags=["chat"])


@router.get("/v1/models", summary="Models")
async def models(services: ServicesOf) -> JsonAnswer:
    """The configured upstream model, or the scripted one that stands in without an upstream."""
    settings = services.settings
    name = (settings.upstream_model or "default") if settings.upstream_url else "scripted"
    model = {"id": name, "object": "model", "created": 0, "owned_by": "toolscout"}
    return JsonAnswer({"object": "list", "data": [model]})
