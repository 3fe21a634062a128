"""Questions to a Qdrant server in an event loop: its client's errors in our words, pages put together."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, final
from uuid import UUID

from indexer.errors import StoreMissingError
from indexer.stores.base import StoredTool
from indexer.stores.payload import DENSE, tool_of
from indexer.stores.qdrant_calls import QdrantCalls

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.models import Filter, QueryRequest, ScoredPoint

_Result = TypeVar("_Result")

_PAGE: Final = 256
_VECTORS_PAGE: Final = 64
"""Where vectors come, too: they are read in the event loop."""
MOST: Final = 10_000
"""Namespaces that are counted, and pinned tools that are read."""


@final
class ServerReader:
    """Reads one catalog. Every method raises: StoreUnavailableError, StoreError."""

    def __init__(
        self, client: "AsyncQdrantClient", collection: Callable[[], str], look_again: Callable[[], Awaitable[None]]
    ) -> None:
        """`collection`: where the catalog lies now; `look_again` finds out anew, should it be gone from there."""
        self._client = client
        self._collection = collection
        self._look_again = look_again
        self._calls = QdrantCalls(collection())

    async def tool(self, point_id: UUID) -> StoredTool | None:
        records = await self._ask(lambda name: self._client.retrieve(name, [str(point_id)], with_payload=True))
        return tool_of(records[0].payload, None) if records else None

    async def scroll(self, condition: "Filter", most: int, *, vectors: bool = False) -> list[StoredTool]:
        """Up to so many tools that fulfil a condition, in the order of their ids, which is none."""
        tools: list[StoredTool] = []
        offset: Any = None
        while len(tools) < most:
            start, size = offset, min(_VECTORS_PAGE if vectors else _PAGE, most - len(tools))
            records, offset = await self._ask(
                lambda name: self._client.scroll(
                    name,
                    scroll_filter=condition,
                    offset=start,  # noqa: B023  awaited before the loop goes on
                    limit=size,  # noqa: B023
                    with_payload=True,
                    with_vectors=[DENSE] if vectors else False,
                )
            )
            tools += [tool_of(record.payload, record.vector) for record in records]
            if offset is None:
                break
        return tools

    async def count(self, condition: "Filter") -> int:
        """How many points fulfil a condition."""
        return (await self._ask(lambda name: self._client.count(name, count_filter=condition, exact=True))).count

    async def count_by(self, field: str, condition: "Filter | None" = None) -> dict[str, int]:
        """How many points there are of each value of an indexed field."""
        answer = await self._ask(
            lambda name: self._client.facet(name, key=field, facet_filter=condition, limit=MOST, exact=True)
        )
        return {str(hit.value): hit.count for hit in answer.hits}

    async def query(self, requests: "Sequence[QueryRequest]") -> "list[list[ScoredPoint]]":
        """The points that each of the queries finds, best first; one request."""
        answers = await self._ask(lambda name: self._client.query_batch_points(name, requests))
        return [answer.points for answer in answers]

    async def _ask(self, call: Callable[[str], Awaitable[_Result]]) -> _Result:
        try:
            return await self._told(call)
        except StoreMissingError:
            await self._look_again()
            return await self._told(call)

    async def _told(self, call: Callable[[str], Awaitable[_Result]]) -> _Result:
        try:
            return await call(self._collection())
        except Exception as error:
            # The client raises errors of several families; those that are none of its pass.
            told = self._calls.told(error)
            if told is None:
                raise
            raise told from error

    async def aclose(self) -> None:
        await self._client.close()
