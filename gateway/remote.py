"""A running gateway as the commands see it: its HTTP interface, over the standard library.

The commands must answer at once, and importing an HTTP client library takes longer than asking a local server.
"""

import http.client
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, urlencode, urlsplit

from gateway.errors import GatewayError

Record: TypeAlias = dict[str, Any]

PAGE: Final = 1000
"""Tools listed in one request: what a gateway answers with at most."""
_TIMEOUT_SECONDS: Final = 60.0
_BULK_TIMEOUT_SECONDS: Final = 600.0


class RemoteError(GatewayError):
    """A running gateway refused a request, or did not answer it."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class RemoteGateway:
    """Speaks to one gateway; a connection for each request. Every method raises RemoteError."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        self.url = url
        self._token = token

    def get(self, path: str, **query: object) -> Record:
        """What a GET answers."""
        pairs = [(name, one) for name, value in query.items() for one in _values(value)]
        return self._json("GET", f"{path}?{urlencode(pairs)}" if pairs else path)

    def post(self, path: str, body: Mapping[str, Any]) -> Record:
        """What a POST of a JSON body answers."""
        return self._json("POST", path, json.dumps(body).encode(), "application/json")

    def post_lines(self, path: str, lines: Iterable[bytes]) -> Record:
        """What a POST of lines of JSON answers."""
        body = b"".join(line + b"\n" for line in lines)
        return self._json("POST", path, body, "application/x-ndjson", timeout=_BULK_TIMEOUT_SECONDS)

    def tool(self, namespace: str, name: str) -> Record | None:
        """Everything about one tool; None where there is none of that name."""
        return self._of_tool("GET", namespace, name)

    def delete_tool(self, namespace: str, name: str) -> bool:
        """Delete one tool; whether there was one of that name."""
        return self._of_tool("DELETE", namespace, name) is not None

    def tools(
        self,
        namespaces: Sequence[str],
        tags: Sequence[str],
        offset: int,
        limit: int,
        *,
        quarantined: bool = False,
        pinned: bool = False,
    ) -> list[Record]:
        """Tools in order of namespace and name, fetched page by page; of some kind only, if one is asked for."""
        kinds = {"quarantined": quarantined, "pinned": pinned}
        asked = {kind: "true" for kind, is_asked in kinds.items() if is_asked}
        found: list[Record] = []
        while len(found) < limit:
            size = min(PAGE, limit - len(found))
            page = self.get(
                "/v1/tools",
                namespace=list(namespaces),
                tag=list(tags),
                offset=offset + len(found),
                limit=size,
                **asked,
            )["tools"]
            found += page
            if len(page) < size:
                break
        return found

    def stream_events(self, path: str, body: Mapping[str, Any]) -> Iterator[Record]:
        """The JSON events of a server-sent stream, up to its `[DONE]`."""
        connection, response = self._send("POST", path, json.dumps(body).encode(), "application/json", 600.0)
        try:
            for line in response:
                data = line.decode("utf-8", "replace").strip().removeprefix("data:").strip()
                if not line.startswith(b"data:") or data == "[DONE]":
                    continue
                yield cast("Record", json.loads(data))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RemoteError(f"the stream of the gateway at {self.url} broke: {error}; ask again") from error
        finally:
            connection.close()

    def _of_tool(self, method: str, namespace: str, name: str) -> Record | None:
        # Escaped: the name of a tool may hold a slash.
        path = f"/v1/tools/{quote(namespace, safe='')}/{quote(name, safe='')}"
        try:
            return self._json(method, path)
        except RemoteError as error:
            if error.status == 404:
                return None
            raise

    def _json(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "",
        *,
        timeout: float = _TIMEOUT_SECONDS,
    ) -> Record:
        connection, response = self._send(method, path, body, content_type, timeout)
        try:
            content = response.read()
            return cast("Record", json.loads(content)) if content else {}
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RemoteError(f"{method} {self.url}{path} gave no readable answer: {error}; ask again") from error
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        address = urlsplit(self.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=timeout)
        headers = {"Accept": "application/json"}
        if content_type:
            headers["Content-Type"] = content_type
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            if response.status < 400:
                return connection, response
            problem = response.read(65536)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise RemoteError(
                f"the gateway at {self.url} cannot be reached: {error}; is it still running? (`toolscout doctor`)"
            ) from error
        connection.close()
        raise RemoteError(
            f"the gateway at {self.url} answered {response.status} to {method} {path.partition('?')[0]}: "
            f"{_problem_text(problem)}",
            status=response.status,
        )


def _values(value: object) -> list[object]:
    if value is None or value == "":
        return []
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _problem_text(body: bytes) -> str:
    """The words of a problem document, or of an OpenAI error, or the body as it is."""
    try:
        problem: Any = json.loads(body)
    except ValueError:
        return body[:300].decode("utf-8", "replace").strip() or "no reason given"
    if isinstance(problem, dict):
        fields = cast("Record", problem)
        error = fields.get("error")
        if isinstance(error, dict):
            return str(cast("Record", error).get("message", problem))
        return str(fields.get("detail") or fields.get("title") or fields)
    return str(problem)
