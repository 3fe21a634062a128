"""What every request passes before any route sees it: whose it is, where it comes from, and what it is called."""

import hmac
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from gateway.api.errors import ProblemError, answer_to, render
from indexer import DEFAULT_TENANT

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})
REQUEST_ID_HEADER: Final = "x-toolscout-request-id"

# Told apart, not kept secret: asking the system for each one would take as long as a small search.
_request_ids: Final = random.Random()
_OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/docs", "/openapi.json"})
"""Answered without a key: they hold nothing of the catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is asking; the one place where a request gets its tenant."""

    tenant: str = DEFAULT_TENANT
    principal: str = ""
    is_operator: bool = False
    """Holds the token written under the home, and so could run commands on this machine anyway."""


_ANYONE: Final = Caller()
_KEY_HOLDER: Final = Caller(principal="key")
_OPERATOR: Final = Caller(principal="operator", is_operator=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Whom to let in."""

    api_key: str | None = None
    operator_token: str | None = None
    hosts: frozenset[str] | None = None
    """Names under which the server may be addressed; None: any. A loopback server answers to loopback names only,
    for a browser may be led to it under a name that someone else's DNS points here."""


class RequestGuard:
    """ASGI middleware: request id, Host and Origin, bearer key; leaves the caller in the scope."""

    def __init__(
        self,
        app: "ASGIApp",
        settings: GuardSettings,
        direct: "Mapping[tuple[str, str], Endpoint] | None" = None,
    ) -> None:
        """`direct`: routes of the application, by method and path, whose endpoints are called from here.

        The way through FastAPI's router and dependencies takes a fifth of a search's time.
        """
        self._app = app
        self._settings = settings
        self._direct = direct or {}
        self._known_host: str | None = None
        """The last Host header that passed: most requests bring the same one."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = f"{_request_ids.getrandbits(128):032x}"
        scope["toolscout.request_id"] = request_id

        started = False

        async def send_with_id(message: "Message") -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], (REQUEST_ID_HEADER.encode(), request_id.encode())]
            await send(message)

        try:
            scope["toolscout.caller"] = self._admit(scope)
        except ProblemError as problem:
            await render(problem, scope["path"], request_id)(scope, receive, send_with_id)
            return
        endpoint = self._direct.get((scope["method"], scope["path"]))
        try:
            if endpoint is None:
                await self._app(scope, receive, send_with_id)
            else:
                response = await endpoint(Request(scope, receive))
                await response(scope, receive, send_with_id)
        except ClientDisconnect:  # in the middle of its own body: nobody reads the answer, and nothing has failed
            await Response(status_code=499)(scope, receive, send_with_id)
        except Exception as error:  # the last handler before the server: every failure gets an answer and a log line
            if started:
                raise
            await answer_to(error, scope["path"], request_id)(scope, receive, send_with_id)

    def _admit(self, scope: "Scope") -> Caller:
        """Raises: ProblemError for a request that must not come in."""
        host, origin, authorization = _admission_headers(scope["headers"])
        if host != self._known_host:
            self._check_host(host)
            self._known_host = host
        self._check_origin(origin, host)
        given = _bearer(authorization)
        if self._settings.operator_token and _equal(given, self._settings.operator_token):
            return _OPERATOR
        if self._settings.api_key is None:
            return _ANYONE
        if _equal(given, self._settings.api_key):
            return _KEY_HOLDER
        if scope["path"] not in _OPEN_PATHS:
            raise ProblemError(
                401,
                "unauthorized",
                "this gateway asks for its key: send the header 'Authorization: Bearer KEY'",
                headers={"www-authenticate": "Bearer"},
            )
        return _ANYONE

    def _check_host(self, host: str) -> None:
        if self._settings.hosts is not None and _host_name(host) not in self._settings.hosts:
            raise ProblemError(
                421,
                "wrong-host",
                "this gateway listens on this machine only and is not addressed by that name; use http://127.0.0.1",
            )

    def _check_origin(self, origin: str, host: str) -> None:
        """A browser names the page that sends a request: pages from elsewhere may not use the gateway."""
        if not origin:
            return
        place = origin.partition("://")[2]
        if place == host or (self._settings.hosts is not None and _host_name(place) in self._settings.hosts):
            return
        raise ProblemError(403, "foreign-origin", "web pages of another origin may not call this gateway")


def _admission_headers(headers: "Iterable[tuple[bytes, bytes]]") -> tuple[str, str, str]:
    """Host, Origin and Authorization, each empty where it is missing; the first one counts."""
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        given.setdefault(name.lower(), value)
    host, origin, authorization = (given.get(name, b"") for name in (b"host", b"origin", b"authorization"))
    return host.decode("latin-1"), origin.decode("latin-1"), authorization.decode("latin-1")


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))


def _host_name(host: str) -> str:
    """The name in a Host header: without port, brackets and closing dot, in lower case."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return name.rstrip(".").lower()
