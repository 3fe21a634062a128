"""How a tool lies in a Qdrant point: all of it on a server, of which the embedded engine keeps what is read back."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import orjson

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, definition_from_record
from indexer.errors import DimensionMismatchError, StoreError
from indexer.stores.base import StoredTool

DENSE: Final = "dense"
"""The named vector that holds the embedding."""
WORDS: Final = "words"
"""The named sparse vector that holds the words, where the engine searches by itself."""
PINNED: Final = "pinned"
"""Among the `flags` of a tool that every request shows."""
STATUSES: Final = ("active", "quarantined", "deleted")
KEYWORD_FIELDS: Final = ("namespace", "tags", "status", "trust")
"""Payload fields with a keyword index; `tenant` has its own kind and `revision` is an integer range."""


def decode_definition(encoded: bytes | str) -> ToolDefinition:
    """Read back what `ToolDefinition.encoded` holds. Raises: StoreError."""
    try:
        try:
            record: dict[str, Any] = orjson.loads(encoded)
        except orjson.JSONDecodeError:
            # Escaped lone surrogates are legal for the standard library only.
            record = json.loads(encoded)
        return definition_from_record(record)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"A stored tool definition cannot be read ({error}). Re-register the tool.") from error


def payload_of(tool: StoredTool) -> dict[str, Any]:
    """The point's payload; everything a filter needs stands outside the definition."""
    definition = tool.definition
    payload: dict[str, Any] = {
        "tenant": definition.tenant,
        "namespace": definition.namespace,
        "tags": list(definition.tags),
        "trust": definition.trust,
        "status": tool.status,
        "reason": tool.reason,
        "revision": tool.revision,
        "content_hash": tool.content_hash,
        "encoder_id": tool.encoder_id,
        "definition": definition.encoded.decode(),
    }
    if tool.deleted_at:
        payload["deleted_at"] = tool.deleted_at
    return payload


def search_fields(definition: ToolDefinition) -> dict[str, Any]:
    """What a payload must hold beside that where the engine searches by itself: what a tool may be called by."""
    alias = model_alias(definition.key)
    names = (definition.name, alias, f"{definition.namespace}/{definition.name}")
    return {
        "alias": alias,
        "names": list(dict.fromkeys(name.casefold() for name in names)),
        "flags": [PINNED] if definition.pinned else [],
    }


def tool_of(payload: Mapping[str, Any] | None, vector: object) -> StoredTool:
    """Read a point back; `vector` is what the engine returned for it. Raises: StoreError."""
    try:
        if payload is None:
            raise KeyError("payload")
        return StoredTool(
            definition=decode_definition(payload["definition"]),
            content_hash=payload["content_hash"],
            revision=int(payload["revision"]),
            status=payload["status"],
            reason=payload.get("reason", ""),
            encoder_id=payload.get("encoder_id", ""),
            vector=_dense(vector),
            deleted_at=float(payload.get("deleted_at", 0.0)),
        )
    except KeyError as error:
        raise StoreError(f"A stored point lacks {error}: it was not written by this program.") from error


def _dense(vector: object) -> npt.NDArray[np.float32] | None:
    if not isinstance(vector, dict):
        return None
    values = cast(dict[str, object], vector).get(DENSE)
    return None if values is None else np.asarray(values, dtype=np.float32)


def require_dimensions(tool: StoredTool, dimensions: int, *, where: str) -> None:
    """Refuse a vector of another width than the collection's. Raises: DimensionMismatchError."""
    if tool.vector is not None and tool.vector.shape != (dimensions,):
        raise DimensionMismatchError(expected=dimensions, got=tool.vector.size, where=f"{where}, tool {tool.key}")
