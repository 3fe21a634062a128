"""The page that shows the HTTP interface and lets it be tried: all of it comes from here, none from other hosts."""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@router.get("/docs")
async def docs() -> HTMLResponse:
    """Every route with its examples, read from `/openapi.json` by the page itself."""
    page = files("gateway.api").joinpath("docs.html").read_text(encoding="utf-8")
    return HTMLResponse(page, headers={"content-security-policy": _POLICY})
