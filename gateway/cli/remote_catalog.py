"""The catalog of a running gateway, as the commands see it."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gateway.remote import Record, RemoteGateway

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from indexer import RegistrationReport, RejectedTool, ToolDefinition, ToolIndex

T = TypeVar("T")

_BATCH: Final = 500
"""Tools sent to a gateway in one request: each is durable before the next leaves."""
_BATCH_BYTES: Final = 4 * 1024 * 1024


class RemoteCatalog:
    """The catalog of a running gateway, over HTTP. Raises: RemoteError."""

    def __init__(self, gateway: RemoteGateway) -> None:
        self.where = gateway.url
        self.gateway = gateway

    @property
    def index(self) -> "ToolIndex":
        from gateway.remote_index import RemoteToolIndex

        return RemoteToolIndex(self.gateway)

    def run(self, work: "Coroutine[Any, Any, T]") -> T:
        import asyncio

        return asyncio.run(work)

    def search(self, queries: Sequence[str], k: int, namespaces: Sequence[str], tags: Sequence[str]) -> Record:
        body: Record = {"queries": list(queries), "max_results": k}
        if namespaces:
            body["namespaces"] = list(namespaces)
        if tags:
            body["tags"] = list(tags)
        return self.gateway.post("/v1/search", body)

    def tools(
        self, namespaces: Sequence[str], tags: Sequence[str], offset: int, limit: int, *, quarantined: bool
    ) -> list[Record]:
        return self.gateway.tools(namespaces, tags, offset, limit, quarantined=quarantined)

    def tool(self, namespace: str, name: str) -> Record | None:
        return self.gateway.tool(namespace, name)

    def delete(self, namespace: str, name: str) -> bool:
        return self.gateway.delete_tool(namespace, name)

    def stats(self) -> Record:
        return self.gateway.get("/v1/stats")

    def namespaces(self) -> dict[str, int]:
        return self.gateway.get("/v1/namespaces")["namespaces"]

    def register(
        self, entries: "Iterable[ToolDefinition | RejectedTool]", progress: Callable[[int], None]
    ) -> "RegistrationReport":
        """Sent in batches; what a source could not read is reported here and not sent."""
        from indexer import RegistrationReport, RejectedTool, merge_reports

        started = time.monotonic()
        whole = RegistrationReport()
        done = 0
        for batch in _batches(entries):
            refused = tuple(entry for entry in batch if isinstance(entry, RejectedTool))
            lines = [entry.encoded for entry in batch if not isinstance(entry, RejectedTool)]
            answer = self.gateway.post_lines("/v1/tools/bulk", lines) if lines else {}
            whole = merge_reports([whole, _report(answer, refused)])
            done += len(batch)
            progress(done)
        return replace(whole, seconds=time.monotonic() - started)


def _batches(
    entries: "Iterable[ToolDefinition | RejectedTool]",
) -> "Iterator[list[ToolDefinition | RejectedTool]]":
    """Entries in batches bounded in number and size; what came before one that cannot be read is handed out first."""
    from indexer import IndexerError, RejectedTool

    batch: list[ToolDefinition | RejectedTool] = []
    size = 0
    try:
        for entry in entries:
            batch.append(entry)
            size += 0 if isinstance(entry, RejectedTool) else len(entry.encoded)
            if len(batch) == _BATCH or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    except IndexerError:
        yield batch
        raise
    if batch:
        yield batch


def _report(answer: Record, refused: "tuple[RejectedTool, ...]") -> "RegistrationReport":
    from indexer import RegistrationReport, RejectedTool

    return RegistrationReport(
        added=answer.get("added", 0),
        changed=answer.get("changed", 0),
        unchanged=answer.get("unchanged", 0),
        quarantined=tuple(RejectedTool(**entry) for entry in answer.get("quarantined", ())),
        refused=refused + tuple(RejectedTool(**entry) for entry in answer.get("refused", ())),
        unlisted_quarantined=answer.get("unlisted_quarantined", 0),
        unlisted_refused=answer.get("unlisted_refused", 0),
        catalog_revision=answer.get("catalog_revision", 0),
    )
