"""Tools as the points of a Qdrant server, in requests that it takes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from indexer.stores.base import StoredTool
from indexer.stores.payload import DENSE, WORDS, payload_of, search_fields

if TYPE_CHECKING:
    from qdrant_client.http.models import PointStruct

_REQUEST_BYTES: Final = 8 * 2**20
"""Largest body of one upsert: the server's own default limit is 32 MiB."""
_FLOAT_BYTES: Final = 12
"""A float32 as JSON text, about."""


def requests_of(tools: Sequence[StoredTool], dimensions: int, *, has_words: bool) -> "Iterator[list[PointStruct]]":
    """The tools as points in their order, as many to a request as it takes; one that is larger goes alone.

    `has_words`: whether the collection keeps sparse vectors.
    """
    points: list[PointStruct] = []
    size = 0
    for tool in tools:
        point, point_bytes = _point(tool, dimensions, has_words=has_words)
        if points and size + point_bytes > _REQUEST_BYTES:
            yield points
            points, size = [], 0
        points.append(point)
        size += point_bytes
    if points:
        yield points


def _point(tool: StoredTool, dimensions: int, *, has_words: bool) -> "tuple[PointStruct, int]":
    """A tool as a point, and about how long that is in a request."""
    from qdrant_client.http import models

    payload = payload_of(tool) | search_fields(tool.definition)
    vector: dict[str, Any] = {}
    if tool.vector is not None:
        vector[DENSE] = tool.vector.tolist()
    if tool.terms is not None and has_words:
        vector[WORDS] = models.SparseVector.model_construct(
            indices=tool.terms.indices.tolist(), values=tool.terms.weights.tolist()
        )
    size = len(payload["definition"].encode()) + _FLOAT_BYTES * dimensions
    size += 2 * _FLOAT_BYTES * len(tool.terms.indices) if tool.terms is not None else 0
    # Not validated: it is of our own making, and looking at each number takes longer than sending it.
    return models.PointStruct.model_construct(id=str(tool.point_id), vector=vector, payload=payload), size
