"""What routes are handed: the gateway's parts, who is asking, and the body, read within its bounds."""

import json
from typing import Annotated, Any, Final, TypeAlias, cast
from urllib.parse import unquote

from fastapi import Depends, Request

from gateway.api.errors import ProblemError, is_model_route
from gateway.api.guard import Caller
from gateway.chat.json_text import decode_json
from gateway.services import Services
from indexer import SearchScope, ToolKey

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
MAX_CHAT_BYTES: Final = 32 * 1024 * 1024
"""Of a conversation: pictures stand in it whole."""
_TOOLS_PATH: Final = b"/v1/tools/"


def services_of(request: Request) -> Services:
    """The parts that the application's lifespan opened."""
    return cast("Services", request.app.state.services)


def caller_of(request: Request) -> Caller:
    """Who is asking, as the guard has established."""
    return cast("Caller", request.scope["toolscout.caller"])


# Asynchronous although they wait for nothing: FastAPI calls others in a thread, at a third of a millisecond each.


async def get_services(request: Request) -> Services:
    """`services_of`, for FastAPI to hand over."""
    return services_of(request)


async def get_caller(request: Request) -> Caller:
    """`caller_of`, for FastAPI to hand over."""
    return caller_of(request)


def scope_of(
    caller: Caller, namespaces: "list[str] | None" = None, tags: "list[str] | tuple[str, ...]" = ()
) -> SearchScope:
    """The caller's view of the catalog, narrowed to what the request asks for."""
    return SearchScope(
        tenant=caller.tenant, namespaces=frozenset(namespaces) if namespaces else None, tags=frozenset(tags)
    )


async def read_body(request: Request) -> bytes:
    """The whole body. Raises: ProblemError (413) past 4 MiB, or 32 MiB where a model is to read it."""
    for_model = is_model_route(request.scope["path"])
    limit = MAX_CHAT_BYTES if for_model else MAX_BODY_BYTES
    cure = "send fewer or smaller pictures" if for_model else "send less, or many tools as lines to /v1/tools/bulk"
    check_plain(request)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise ProblemError(413, "body-too-large", f"the body is larger than {limit // 1024**2} MiB; {cure}")
    return bytes(body)


def check_plain(request: Request) -> None:
    """Raises: ProblemError (415) for a body that is compressed."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise ProblemError(
            415, "encoded-body", f"bodies with content-encoding {encoding[:40]!r} are not read; send it as it is"
        )


async def json_body(request: Request) -> object:
    """The body as parsed JSON. Raises: ProblemError that says where it is broken."""
    # What a model is sent is the client's affair; what is kept here must mean one thing.
    return parse_json(await read_body(request), unique_keys=not is_model_route(request.scope["path"]))


def parse_json(body: bytes, *, where: str = "the body", unique_keys: bool = False) -> Any:  # noqa: ANN401  whatever the caller sent
    """Raises: ProblemError (400) naming line and column, or the key that stands twice."""
    if not body.strip():
        raise ProblemError(400, "invalid-json", f"{where} is empty; send a JSON object")
    try:
        return decode_json(body.decode(), strict=True, unique_keys=unique_keys)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ProblemError(
            400, "invalid-json", f"{where} is not valid JSON: {error.msg} at {place}", errors=[{"place": place}]
        ) from None
    except UnicodeDecodeError as error:
        raise ProblemError(
            400, "invalid-json", f"{where} is not UTF-8: byte {error.start} cannot be read; send UTF-8"
        ) from None
    except ValueError as error:
        raise ProblemError(400, "invalid-json", f"{where} cannot be read as JSON: {error}") from None


def as_object(body: object) -> dict[str, Any]:
    """A parsed body as an object. Raises: ProblemError (422)."""
    if not isinstance(body, dict):
        raise ProblemError(422, "invalid-request", "the body must be a JSON object")
    return cast("dict[str, Any]", body)


async def get_tool_key(request: Request) -> ToolKey:
    """The tool that a path names. Read from the raw path: an escaped slash belongs to a name, not to the path."""
    raw = cast("bytes", request.scope.get("raw_path") or request.scope["path"].encode())
    namespace, _, name = raw.partition(b"?")[0].removeprefix(_TOOLS_PATH).partition(b"/")
    return ToolKey(caller_of(request).tenant, unquote(namespace.decode("latin-1")), unquote(name.decode("latin-1")))


ServicesOf: TypeAlias = Annotated[Services, Depends(get_services)]
CallerOf: TypeAlias = Annotated[Caller, Depends(get_caller)]
JsonBody: TypeAlias = Annotated[object, Depends(json_body)]
ToolKeyOf: TypeAlias = Annotated[ToolKey, Depends(get_tool_key)]
