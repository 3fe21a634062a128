"""From errors to HTTP answers: RFC 9457 problem details, and OpenAI's shape on the routes that speak its protocol."""

import logging
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from gateway.api.answers import JsonAnswer
from gateway.errors import (
    ConfigurationError,
    GatewayError,
    InvalidRequestError,
    ModelError,
    ModelHTTPError,
    ModelUnavailableError,
    RegistryError,
    is_after_tools,
)
from indexer import EmbeddingError, IndexerError, InvalidToolError, StoreError, StoreUnavailableError
from indexer.errors import CatalogMovedError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

logger = logging.getLogger(__name__)

_MODEL_ROUTES: Final = ("/v1/chat/", "/v1/models")
_PROBLEM: Final = "application/problem+json"
_KEPT_UPSTREAM_HEADERS: Final = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"}
)
_SHOULD_RETRY: Final = "x-should-retry"
"""OpenAI's and Anthropic's clients repeat failed requests by themselves, unless this says otherwise."""
_RETRY_AFTER_SECONDS: Final = 5
"""Where the store did not say: enough for most restarts of a server."""
_RATE_LIMIT_PREFIXES: Final = ("x-ratelimit-", "ratelimit")


class ProblemError(Exception):
    """A request that cannot be answered as it was meant; carries everything its answer says."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.kind = kind
        """A word for programs, `invalid-json` say: the end of the problem's `type`."""
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        super().__init__(detail)


def problem_of(error: Exception) -> ProblemError:
    """What is answered for an error; where tools have run, clients are told not to send the request again."""
    problem = _problem_of(error)
    if is_after_tools(error):
        problem.headers[_SHOULD_RETRY] = "false"
    return problem


def _problem_of(error: Exception) -> ProblemError:  # noqa: C901  one table reads better than its pieces
    """The one table from errors to statuses. What is not in it is ours, and says nothing about our inside."""
    match error:
        case ProblemError():
            return error
        case InvalidToolError():
            fault = {"tool": error.tool, "field": error.field, "reason": error.reason, "fix": error.fix}
            return ProblemError(422, "invalid-tool", str(error), errors=[fault])
        case InvalidRequestError():
            fault = {"field": error.param, "reason": error.reason}
            return ProblemError(400, "invalid-request", str(error), errors=[fault])
        case RequestValidationError():
            # Each place begins with where it was looked for: `query`, `path`.
            return validation_problem([{**fault, "loc": fault["loc"][1:]} for fault in error.errors()])
        case HTTPException():
            kind, detail = _HTTP_PROBLEMS.get(error.status_code, ("http", str(error.detail)))
            return ProblemError(error.status_code, kind, detail, headers=error.headers)
        case RegistryError():
            return ProblemError(409, "registry", str(error))
        case CatalogMovedError():
            logger.error("answered 503: %s", error)
            return ProblemError(503, "catalog-moved", str(error), headers={"retry-after": "60"})
        case StoreUnavailableError() | EmbeddingError():
            logger.warning("answered 503: %s", error)
            asked = error.retry_after_seconds if isinstance(error, StoreUnavailableError) else None
            return ProblemError(
                503,
                "catalog-unavailable",
                "the catalog cannot do this right now; try again in a few seconds",
                headers={"retry-after": str(ceil(asked or _RETRY_AFTER_SECONDS))},
            )
        case ModelUnavailableError():
            logger.warning("the model's endpoint is unavailable: %s", error)
            return ProblemError(502, "upstream-unavailable", "the model's endpoint cannot be reached; try again later")
        case ModelError():
            return ProblemError(502, "upstream", str(error))
        case ConfigurationError():
            logger.error("answered 500: %s", error)
            return ProblemError(500, "configuration", "the gateway is not set up for this; its log says what to set")
        case StoreError():
            logger.exception("the store failed", exc_info=error)
            return ProblemError(500, "catalog", "the catalog failed; the gateway's log says why")
        case _:
            return ProblemError(500, "internal", "something went wrong in the gateway; its log says what")


def validation_problem(faults: Sequence[Mapping[str, Any]]) -> ProblemError:
    """What pydantic found wrong with a body or a query, each fault with its place."""
    errors = [
        {"field": _place(fault["loc"]), "reason": str(fault["msg"]).removeprefix("Value error, ")} for fault in faults
    ]
    told = "; ".join(f"{error['field']}: {error['reason']}" if error["field"] else error["reason"] for error in errors)
    return ProblemError(422, "invalid-request", told, errors=errors)


def _place(location: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")


_HTTP_PROBLEMS: Final = {
    404: ("no-such-route", "there is no such route; /docs lists those there are"),
    405: ("method-not-allowed", "this route does not take that method; /docs lists those it takes"),
}


def is_model_route(path: str) -> bool:
    """Whether clients of a model API call this path, and so expect its error shape."""
    return path.startswith(_MODEL_ROUTES)


def render(problem: ProblemError, path: str, request_id: str = "") -> Response:
    """The answer for a problem, in the shape that the path's clients read."""
    if is_model_route(path):
        return JsonAnswer(openai_error(problem), problem.status, headers=problem.headers)
    body: dict[str, Any] = {
        "type": f"urn:toolscout:problem:{problem.kind}",
        "title": problem.kind.replace("-", " ").capitalize(),
        "status": problem.status,
        "detail": problem.detail,
        "instance": path,
    }
    if request_id:
        body["request_id"] = request_id
    if problem.errors:
        body["errors"] = [dict(error) for error in problem.errors]
    return JsonAnswer(body, problem.status, headers=problem.headers, media_type=_PROBLEM)


def openai_error(problem: ProblemError) -> dict[str, Any]:
    """The error object of OpenAI's APIs, also sent inside a stream."""
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(
        problem.status, "invalid_request_error" if problem.status < 500 else "server_error"
    )
    param = next((error["field"] for error in problem.errors if error.get("field")), None)
    return {
        "error": {
            "message": problem.detail,
            "type": kind,
            "param": param,
            "code": problem.kind.replace("-", "_"),
        }
    }


def upstream_answer(error: ModelHTTPError) -> Response:
    """A model endpoint's own error, byte for byte, with the headers by which clients decide to retry."""
    headers = {
        name: value
        for name, value in error.headers.items()
        if (name.lower() in _KEPT_UPSTREAM_HEADERS or name.lower().startswith(_RATE_LIMIT_PREFIXES)) and value.isascii()
    }
    if is_after_tools(error):
        headers = {name: value for name, value in headers.items() if name.lower() != _SHOULD_RETRY}
        headers[_SHOULD_RETRY] = "false"
    return Response(error.body, error.status, headers=headers)


def log_unexpected(error: Exception, problem: ProblemError, path: str) -> None:
    """Keep the whole of an error that its answer says nothing about."""
    if problem.kind == "internal":
        logger.error("%s failed", path, exc_info=error)


def answer_to(error: Exception, path: str, request_id: str = "") -> Response:
    """The answer for any error, which is logged where its answer says nothing about it."""
    if isinstance(error, ModelHTTPError):
        return upstream_answer(error)
    problem = problem_of(error)
    log_unexpected(error, problem, path)
    return render(problem, path, request_id)


def install_error_handlers(app: "FastAPI") -> None:
    """Let every error of every route be answered from here."""

    async def answer(request: "Request", error: Exception) -> Response:
        return answer_to(error, request.scope["path"], str(request.scope.get("toolscout.request_id", "")))

    for kind in (ProblemError, HTTPException, RequestValidationError, GatewayError, IndexerError):
        app.add_exception_handler(kind, answer)
