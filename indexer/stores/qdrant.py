"""Qdrant as a server or a cluster, through `qdrant_client`."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, final
from uuid import UUID

from indexer.errors import DimensionMismatchError, StoreError, StoreMissingError
from indexer.stores.base import StoredTool
from indexer.stores.ledger import LEDGER_ID, Ledger, Span, ledger_of
from indexer.stores.payload import DENSE, STATUSES, require_dimensions, tool_of
from indexer.stores.qdrant_calls import Pauses, QdrantCalls
from indexer.stores.qdrant_collection import (
    CollectionHandle,
    CollectionOptions,
    find_collection,
    highest_revision,
    open_collection,
    put_ledger,
)
from indexer.stores.qdrant_points import requests_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.models import Filter, PointStruct, ReadConsistency, Record

_Result = TypeVar("_Result")

_IMPATIENT_TIMEOUT_SECONDS: Final = 5
"""How long a reading that will soon be repeated waits for its answer."""


@final
class QdrantToolStore:
    """A `SharedToolStore` in one collection of a Qdrant server or cluster.

    Nothing is sent before it is used; the collection, its alias and its ledger are made then. An `upsert` is atomic
    up to 8 MiB of points; larger ones go in parts, in order of their place in the argument.
    """

    kind = "qdrant"

    def __init__(
        self,
        client: "QdrantClient",
        collection: str,
        dimensions: int,
        *,
        options: CollectionOptions | None = None,
        pauses: Pauses | None = None,
    ) -> None:
        """Use what `collection` names, an alias or a collection, over `client`, which the store closes with itself."""
        self._client = client
        self._name = collection
        self._dimensions = dimensions
        self._options = options or CollectionOptions()
        self._calls = QdrantCalls(collection, pauses)
        self._at_once = QdrantCalls(collection, Pauses(patience_seconds=0.0))
        self._handle: CollectionHandle | None = None
        self._closed = False

    # Where the catalog lies.

    def handle(self, calls: QdrantCalls | None = None) -> CollectionHandle:
        """The collection, found or made. Raises: StoreUnavailableError, StoreError."""
        self._check_open()
        if self._handle is None:
            calls = calls or self._calls
            self._handle = open_collection(self._client, calls, self._name, self._dimensions, self._options)
        return self._handle

    def refresh(self) -> None:
        self._check_open()
        if self._handle is None or find_collection(self._client, self._at_once, self._name) != self._handle.name:
            self._handle = None

    def _call(self, call: "Callable[[QdrantClient, str], _Result]") -> _Result:
        """Run a call on the collection, again where that may help."""
        return self._at(lambda name, calls: calls(lambda: call(self._client, name)), self._calls)

    def _at(self, work: Callable[[str, QdrantCalls], _Result], calls: QdrantCalls) -> _Result:
        """Do something with the collection; one that has gone is looked for once more behind the alias."""
        try:
            return work(self.handle(calls).name, calls)
        except StoreMissingError:
            self._handle = None
            return work(self.handle(calls).name, calls)

    def _require_width(self) -> None:
        """Raises: DimensionMismatchError where the collection holds vectors of another width."""
        handle = self.handle()
        if handle.dimensions != self._dimensions:
            raise DimensionMismatchError(
                expected=handle.dimensions,
                got=self._dimensions,
                where=f"Qdrant collection {handle.name!r} (`toolscout migrate` moves the catalog to another "
                "encoder, TOOLSCOUT_COLLECTION names another collection)",
            )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store over the Qdrant collection {self._name!r} is closed.")

    # Writing.

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        self._upsert(tools, None)

    def upsert_newer(self, tools: Sequence[StoredTool], *, before: int) -> None:
        from qdrant_client.http import models

        older = models.FieldCondition(key="revision", range=models.Range(lt=before))
        self._upsert(tools, models.Filter(must=[older]))

    def _upsert(self, tools: Sequence[StoredTool], condition: "Filter | None") -> None:
        if not tools:
            return
        self._require_width()
        for tool in tools:
            require_dimensions(tool, self._dimensions, where=f"Qdrant collection {self._name!r}")
        for points in requests_of(tools, self._dimensions, has_words=self.handle().has_words):
            self._send(points, condition)

    def _send(self, points: "list[PointStruct]", condition: "Filter | None") -> None:
        self._call(lambda client, name: client.upsert(name, points, wait=True, update_filter=condition))

    def purge(self, *, through: int) -> None:
        from qdrant_client.http import models

        selector = models.FilterSelector(filter=_dead(through))
        self._call(lambda client, name: client.delete(name, selector, wait=True))

    # The ledger.

    def ledger(self, *, patient: bool = True) -> Ledger:
        timeout = None if patient else _IMPATIENT_TIMEOUT_SECONDS

        def read(name: str, calls: QdrantCalls) -> "list[Record]":
            return calls(
                lambda: self._client.retrieve(
                    name, [str(LEDGER_ID)], with_payload=True, consistency=self._consistency, timeout=timeout
                )
            )

        records = self._at(read, self._calls if patient else self._at_once)
        if not records:
            raise StoreError(
                f"The ledger of the Qdrant collection {self._name!r} is gone. Restart the gateways; if it stays so, "
                "the collection was restored without it: register its tools again."
            )
        return ledger_of(records[0].payload)

    def swap_ledger(self, seen: Ledger, wanted: Ledger) -> Ledger:
        from qdrant_client.http import models

        stands = models.FieldCondition(key="version", match=models.MatchValue(value=seen.version))
        condition = models.Filter(must=[stands])
        self._at(lambda name, calls: put_ledger(self._client, calls, name, wanted, condition), self._calls)
        return self.ledger()

    @property
    def _consistency(self) -> "ReadConsistency | None":
        """From how many replicas is read. One that was cut off from the others must not answer for them all.

        With two replicas one could not fail any more; with one there is nothing to compare.
        """
        from qdrant_client.http import models

        return models.ReadConsistencyType.QUORUM if self._options.replicas > 2 else None

    # Reading.

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        if not point_ids:
            return {}
        ids = [str(point_id) for point_id in point_ids]
        records = self._call(lambda client, name: client.retrieve(name, ids, with_payload=True))
        return {UUID(str(record.id)): tool_of(record.payload, None) for record in records}

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        from qdrant_client.http import models

        later = models.FieldCondition(key="revision", range=models.Range(gt=after_revision))
        return self._in_order(models.Filter(must=[later]), batch_size, vectors=True)

    def scan_spans(self, spans: Sequence[Span], *, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        from qdrant_client.http import models

        within = [
            models.FieldCondition(key="revision", range=models.Range(gte=span.first, lte=span.last)) for span in spans
        ]
        if not within:
            return iter(())
        return self._in_order(models.Filter(should=list(within)), batch_size, vectors=True)

    def tombstones(self, *, through: int, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        return self._in_order(_dead(through), batch_size, vectors=False)

    def _in_order(self, condition: "Filter", limit: int, *, vectors: bool) -> Iterator[list[StoredTool]]:
        """Tools in order of revision, page by page; of equal revisions, which older versions wrote, none is lost."""
        from qdrant_client.http import models

        if vectors:
            self._require_width()
        after = 0
        seen: set[UUID] = set()  # of the tools at exactly this revision
        while True:
            later = models.FieldCondition(key="revision", range=models.Range(gte=after))
            page = self._ordered_page(models.Filter(must=[condition, later]), limit + len(seen), vectors=vectors)
            tools = [tool for tool in page if tool.point_id not in seen]
            if not tools:
                return
            yield tools
            if len(page) < limit + len(seen):
                return
            seen = {tool.point_id for tool in page if tool.revision == page[-1].revision}
            after = page[-1].revision

    def _ordered_page(self, condition: "Filter", limit: int, *, vectors: bool) -> list[StoredTool]:
        from qdrant_client.http import models

        ascending = models.OrderBy(key="revision", direction=models.Direction.ASC)
        records, _ = self._call(
            lambda client, name: client.scroll(
                name,
                scroll_filter=condition,
                order_by=ascending,
                limit=limit,
                with_payload=True,
                with_vectors=[DENSE] if vectors else False,
                consistency=self._consistency,
            )
        )
        return [tool_of(record.payload, record.vector) for record in records]

    def scan_all(self, *, batch_size: int = 1024, vectors: bool = True) -> Iterator[list[StoredTool]]:
        from qdrant_client.http import models

        if vectors:
            self._require_width()
        tools = models.Filter(must=[models.FieldCondition(key="status", match=models.MatchAny(any=list(STATUSES)))])
        offset: Any = None
        while True:
            start = offset
            records, offset = self._call(
                lambda client, name: client.scroll(
                    name,
                    scroll_filter=tools,
                    offset=start,  # noqa: B023  called before the loop goes on
                    limit=batch_size,
                    with_payload=True,
                    with_vectors=[DENSE] if vectors else False,
                    consistency=self._consistency,
                )
            )
            if records:
                yield [tool_of(record.payload, record.vector) for record in records]
            if offset is None:
                return

    def last_revision(self) -> int:
        return self._at(lambda name, calls: highest_revision(self._client, calls, name), self._calls)

    def count(self) -> int:
        from qdrant_client.http import models

        active = models.FieldCondition(key="status", match=models.MatchValue(value="active"))
        condition = models.Filter(must=[active])
        return self._call(lambda client, name: client.count(name, count_filter=condition, exact=True)).count

    def flush(self) -> None:
        """The server syncs its write-ahead log by itself; there is nothing to ask for."""

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.close()


def _dead(through: int) -> "Filter":
    from qdrant_client.http import models

    return models.Filter(
        must=[
            models.FieldCondition(key="status", match=models.MatchValue(value="deleted")),
            models.FieldCondition(key="revision", range=models.Range(lte=through)),
        ]
    )
