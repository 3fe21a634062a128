"""Qdrant as a server or a cluster, through `qdrant_client`."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, final
from uuid import UUID

from indexer.errors import DimensionMismatchError, StoreError, StoreUnavailableError
from indexer.stores.base import StoredTool
from indexer.stores.payload import DENSE, KEYWORD_FIELDS, payload_of, require_dimensions, tool_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.models import FieldCondition, PayloadSchemaParams, PayloadSchemaType, PointStruct

_Result = TypeVar("_Result")

_REQUEST_BYTES: Final = 8 * 2**20
"""Largest body of one upsert: the server's own default limit is 32 MiB."""
_FLOAT_BYTES: Final = 12
"""A float32 as JSON text, about."""
_DEFAULT_TIMEOUT_SECONDS: Final = 30


def connect(url: str, *, api_key: str | None = None, timeout_seconds: int = _DEFAULT_TIMEOUT_SECONDS) -> "QdrantClient":
    """A client of a Qdrant server; nothing is sent yet."""
    from qdrant_client import QdrantClient

    return QdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False)


@final
class QdrantToolStore:
    """A `ToolStore` in one collection of a Qdrant server or cluster.

    The collection is made on first use. An `upsert` is atomic up to 8 MiB of points; larger ones go in parts, in
    order of their place in the argument.
    """

    kind = "qdrant"

    def __init__(
        self, client: "QdrantClient", collection: str, dimensions: int, *, payload_indexes: bool = True
    ) -> None:
        """Use `collection` over `client` (see `connect`), which the store closes with itself.

        `payload_indexes` is False only for the in-process client, which has none.
        Raises: StoreUnavailableError, DimensionMismatchError, StoreError.
        """
        self._client = client
        self._collection = collection
        self._dimensions = dimensions
        self._closed = False
        if self._call(lambda: client.collection_exists(collection)):
            self._check_width()
        else:
            self._create()
        if payload_indexes:
            self._create_indexes()

    def _create(self) -> None:
        from qdrant_client.http import models

        # Dot product of unit vectors is their cosine, and keeps the stored floats bit for bit as they came.
        vectors = {DENSE: models.VectorParams(size=self._dimensions, distance=models.Distance.DOT)}
        self._call(lambda: self._client.create_collection(self._collection, vectors_config=vectors))

    def _check_width(self) -> None:
        info = self._call(lambda: self._client.get_collection(self._collection))
        vectors = info.config.params.vectors
        params = vectors.get(DENSE) if isinstance(vectors, dict) else None
        if params is None:
            raise StoreError(
                f"The Qdrant collection {self._collection!r} has no vector named {DENSE!r}: another program made it. "
                "Choose another one with TOOLSCOUT_COLLECTION."
            )
        if params.size != self._dimensions:
            raise DimensionMismatchError(
                expected=params.size,
                got=self._dimensions,
                where=f"Qdrant collection {self._collection!r} (TOOLSCOUT_COLLECTION names another)",
            )

    def _create_indexes(self) -> None:
        from qdrant_client.http import models

        schemas: dict[str, models.PayloadSchemaType | models.PayloadSchemaParams] = {
            "revision": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
            "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
            **dict.fromkeys(KEYWORD_FIELDS, models.PayloadSchemaType.KEYWORD),
        }
        for field, schema in schemas.items():
            self._create_index(field, schema)

    def _create_index(self, field: str, schema: "PayloadSchemaType | PayloadSchemaParams") -> None:
        self._call(lambda: self._client.create_payload_index(self._collection, field, field_schema=schema))

    def _call(self, call: Callable[[], _Result]) -> _Result:
        """Run a call of the client; its errors become ours here and nowhere else."""
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

        if self._closed:
            raise StoreError(f"The store over the Qdrant collection {self._collection!r} is closed.")
        try:
            return call()
        except ResponseHandlingException as error:
            raise StoreUnavailableError(
                f"Qdrant cannot be reached: {error.source}. Check TOOLSCOUT_QDRANT_URL and that the server runs."
            ) from error
        except UnexpectedResponse as error:
            status = error.status_code or 0
            if status >= 500 or status == 429:
                raise StoreUnavailableError(f"Qdrant answered {status} {error.reason_phrase}; try again.") from error
            hint = " Check TOOLSCOUT_QDRANT_API_KEY." if status in (401, 403) else ""
            raise StoreError(f"Qdrant refused a request on {self._collection!r}: {error}.{hint}") from error
        except ApiException as error:
            raise StoreError(f"Qdrant failed on {self._collection!r}: {error}.") from error

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        from qdrant_client.http import models

        points: list[PointStruct] = []
        size = 0
        for tool in tools:
            require_dimensions(tool, self._dimensions, where=f"Qdrant collection {self._collection!r}")
        for tool in tools:
            payload = payload_of(tool)
            point_bytes = len(payload["definition"].encode()) + _FLOAT_BYTES * self._dimensions
            if points and size + point_bytes > _REQUEST_BYTES:
                self._send(points)
                points, size = [], 0
            vector: Any = {} if tool.vector is None else {DENSE: tool.vector.tolist()}
            points.append(models.PointStruct(id=str(tool.point_id), vector=vector, payload=payload))
            size += point_bytes
        if points:
            self._send(points)

    def _send(self, points: "list[PointStruct]") -> None:
        self._call(lambda: self._client.upsert(self._collection, points, wait=True))

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        if not point_ids:
            return {}
        ids = [str(point_id) for point_id in point_ids]
        records = self._call(lambda: self._client.retrieve(self._collection, ids, with_payload=True))
        return {UUID(str(record.id)): tool_of(record.payload, None) for record in records}

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        while True:
            tools = self._page(after_revision, batch_size)
            if not tools:
                return
            after_revision = tools[-1].revision
            yield tools

    def _page(self, after_revision: int, limit: int) -> list[StoredTool]:
        from qdrant_client.http import models

        later = models.FieldCondition(key="revision", range=models.Range(gt=after_revision))
        records, _ = self._call(
            lambda: self._client.scroll(
                self._collection,
                scroll_filter=models.Filter(must=[later]),
                order_by=models.OrderBy(key="revision", direction=models.Direction.ASC),
                limit=limit,
                with_payload=True,
                with_vectors=True,
            )
        )
        return [tool_of(record.payload, record.vector) for record in records]

    def last_revision(self) -> int:
        from qdrant_client.http import models

        records, _ = self._call(
            lambda: self._client.scroll(
                self._collection,
                order_by=models.OrderBy(key="revision", direction=models.Direction.DESC),
                limit=1,
                with_payload=["revision"],
            )
        )
        return int((records[0].payload or {})["revision"]) if records else 0

    def count(self) -> int:
        from qdrant_client.http import models

        active: FieldCondition = models.FieldCondition(key="status", match=models.MatchValue(value="active"))
        condition = models.Filter(must=[active])
        return self._call(lambda: self._client.count(self._collection, count_filter=condition, exact=True)).count

    def flush(self) -> None:
        """The server syncs its write-ahead log by itself; there is nothing to ask for."""

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.close()
