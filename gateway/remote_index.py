"""The catalog of a running gateway as a `ToolIndex`, for what needs one beside the process that owns it."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, TypeVar, cast

import anyio.to_thread

from gateway.errors import RegistryError
from gateway.remote import PAGE, RemoteGateway
from indexer import (
    IndexStats,
    RegistrationReport,
    RejectedTool,
    SearchScope,
    StoredTool,
    ToolDefinition,
    ToolKey,
    ToolReference,
    ToolSearchRequest,
    ToolSearchResponse,
    definition_from_record,
)

_MAX_QUERY: Final = 2000
"""Characters of a query that the search route takes; what a need is about stands at its beginning."""
_ALIAS: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

T = TypeVar("T")


class RemoteToolIndex:
    """Reads over HTTP; the scope's tenant, trust and allow-list are the gateway's to decide, by who is asking.

    Raises: RemoteError where the gateway does not answer or refuses.
    """

    def __init__(self, gateway: RemoteGateway) -> None:
        self._gateway = gateway

    async def register(
        self, entries: Iterable[ToolDefinition | RejectedTool], *, progress: Callable[[int], None] | None = None
    ) -> RegistrationReport:
        """Not offered. Raises: RegistryError."""
        raise RegistryError("register tools with the gateway that owns the catalog: POST /v1/tools/bulk")

    async def delete(self, keys: Iterable[ToolKey]) -> int:
        """Delete tools; how many there were."""
        return sum([await _threaded(self._gateway.delete_tool, key.namespace, key.name) for key in keys])

    async def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        """As the gateway answers it; tools that the caller has found already are put last here.

        `worth_share` is measured against the best of all, not of the new ones.
        """
        queries = [query.strip()[:_MAX_QUERY] for query in request.queries if query.strip()]
        if not queries:
            return ToolSearchResponse(results=(), catalog_revision=0, empty_reason="no_match")
        body: dict[str, Any] = {
            "queries": queries,
            "worth_share": request.worth_share,
            "min_confidence": request.min_confidence,
            "collapse_duplicates": request.collapse_duplicates,
        }
        # Some of what comes back may be known already, so ask for that much more.
        body["max_results"] = min(request.max_results + len(request.already_found), 100)
        if request.scope.namespaces is not None:
            if not request.scope.namespaces:
                return ToolSearchResponse(results=(), catalog_revision=0, empty_reason="nothing_in_scope")
            body["namespaces"] = sorted(request.scope.namespaces)
        if request.scope.tags:
            body["tags"] = sorted(request.scope.tags)
        answer = await _threaded(self._gateway.post, "/v1/search", body)
        found = [await self._reference(result) for result in answer["results"]]
        found.sort(key=lambda reference: reference.definition.key in request.already_found)
        results = tuple(found[: request.max_results])
        empty = cast("dict[str, Any]", answer["empty"] or {})
        if results and all(reference.definition.key in request.already_found for reference in results):
            empty["reason"] = "all_already_found"
        return ToolSearchResponse(
            results=results,
            catalog_revision=answer["catalog_revision"],
            degraded=answer["degraded"],
            stale=answer["stale"],
            stale_seconds=answer.get("stale_seconds", 0.0),
            calibrating=answer.get("calibrating", False),
            reranking=answer.get("reranking", "off"),
            empty_reason=empty.get("reason", ""),
            namespaces=tuple(empty.get("namespaces", ())),
            took_ms=answer["took_ms"],
        )

    async def get(self, key: ToolKey) -> StoredTool | None:
        """A tool that is active or quarantined."""
        record = await _threaded(self._gateway.tool, key.namespace, key.name)
        return None if record is None else _stored(record)

    async def resolve(self, names: Iterable[str], scope: SearchScope) -> dict[str, ToolDefinition]:
        """The tools behind model-facing aliases, found as exact names, five a search."""
        remaining = iter(dict.fromkeys(name for name in names if _ALIAS.match(name)))  # no other text is one
        resolved: dict[str, ToolDefinition] = {}
        while batch := tuple(islice(remaining, 5)):
            answer = await self.search(ToolSearchRequest(queries=batch, max_results=100, scope=scope))
            resolved |= {one.alias: one.definition for one in answer.results if one.alias in batch}
        return resolved

    async def list_tools(
        self, scope: SearchScope, *, offset: int = 0, limit: int = 100, quarantined: bool = False
    ) -> Sequence[StoredTool]:
        """Tools in order of namespace and name, fetched page by page."""
        return await self._listed(scope, offset, limit, quarantined=quarantined)

    async def namespaces(self, scope: SearchScope) -> dict[str, int]:
        """Namespaces in scope and how many active tools each holds."""
        answer = await _threaded(self._gateway.get, "/v1/namespaces")
        counts = cast("dict[str, int]", answer["namespaces"])
        return {name: count for name, count in counts.items() if scope.namespaces is None or name in scope.namespaces}

    async def pinned(self, scope: SearchScope) -> Sequence[ToolDefinition]:
        """Tools that every request shows."""
        listed = await self._listed(scope, 0, PAGE, pinned=True)
        return [stored.definition for stored in listed if stored.definition.pinned]

    async def stats(self) -> IndexStats:
        return IndexStats(**await _threaded(self._gateway.get, "/v1/stats"))

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def _listed(self, scope: SearchScope, offset: int, limit: int, **kind: bool) -> list[StoredTool]:
        namespaces = sorted(scope.namespaces or ())
        records = await _threaded(self._gateway.tools, namespaces, sorted(scope.tags), offset, limit, **kind)
        return [_stored(record) for record in records]

    async def _reference(self, result: dict[str, Any]) -> ToolReference:
        """A result with its whole definition: a search answers with what a model needs, which is less."""
        stored = await self.get(ToolKey("", result["namespace"], result["name"]))
        definition = stored.definition if stored is not None else definition_from_record(result)
        return ToolReference(
            definition=definition,
            alias=result["alias"],
            score=result["score"],
            reasons=tuple(result["reasons"]),
            query=result["query"],
            also_in=tuple(result.get("also_in", ())),
            also_as=tuple(result.get("also_as", ())),
        )


def _stored(record: dict[str, Any]) -> StoredTool:
    return StoredTool(
        definition=definition_from_record(record),
        content_hash=record["content_hash"],
        revision=record["revision"],
        status=record["status"],
        reason=record["reason"],
    )


async def _threaded(call: Callable[..., T], *arguments: object, **options: object) -> T:
    return await anyio.to_thread.run_sync(lambda: call(*arguments, **options))
