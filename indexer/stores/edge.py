"""Qdrant embedded in this process: a directory of its own, no server to start."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, final
from uuid import UUID, uuid4

import orjson

from indexer.errors import DimensionMismatchError, StoreError, StoreLockedError
from indexer.stores.base import StoredTool
from indexer.stores.payload import DENSE, require_dimensions, tool_of

if TYPE_CHECKING:
    import qdrant_edge

_Result = TypeVar("_Result")

_FORMAT: Final = 1
_SHARD: Final = "shard"
_DESCRIPTION: Final = "store.json"
_OWNER: Final = "owner.json"


class _DamagedStoreError(StoreError):
    """The engine failed for another reason than its lock."""


@dataclass(frozen=True, slots=True)
class _Description:
    """What is noted beside a shard: its own words for what cannot be asked of it before it is open."""

    dimensions: int
    store_id: str


def _describe(path: Path) -> _Description | None:
    try:
        noted = orjson.loads((path / _DESCRIPTION).read_bytes())
        if noted["format"] != _FORMAT:
            raise StoreError(
                f"The store at {path} has format {noted['format']}, this program reads format {_FORMAT}. "
                "Use the version that wrote it, or index into another home."
            )
        return _Description(int(noted["dimensions"]), str(noted["store_id"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"Cannot read the store at {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path / _DESCRIPTION} is damaged ({error}). Restore it from a backup.") from error


def stored_dimensions(path: Path) -> int | None:
    """The width of the vectors in the store at `path`, None where there is no store. Raises: StoreError."""
    description = _describe(path)
    return None if description is None else description.dimensions


@final
class EdgeToolStore:
    """A `ToolStore` in a `qdrant_edge` shard.

    The engine appends each `upsert` to its write-ahead log as one record before it answers: what was acknowledged
    survives a killed process whole, and a power cut once `flush` has returned. One process owns the directory.
    The engine holds the interpreter lock for the length of a call.
    """

    kind = "edge"

    def __init__(self, path: Path, dimensions: int) -> None:
        """Open the store at `path`, or make one for vectors of `dimensions`.

        Raises: StoreLockedError, DimensionMismatchError, StoreError.
        """
        import qdrant_edge

        self._edge = qdrant_edge
        self._path = path
        self._dimensions = dimensions
        existing = _describe(path)
        if existing is not None and existing.dimensions != dimensions:
            raise DimensionMismatchError(expected=existing.dimensions, got=dimensions, where=f"store at {path}")
        self.store_id = uuid4().hex if existing is None else existing.store_id
        """Random, of this store and its copies: what was derived from another store is not mistaken for its own."""
        self._shard: qdrant_edge.EdgeShard | None = self._create() if existing is None else self._load()
        self._note_owner()

    def _config(self) -> "qdrant_edge.EdgeConfig":
        # Dot product of unit vectors is their cosine, and keeps the stored floats bit for bit as they came.
        vectors = self._edge.EdgeVectorParams(size=self._dimensions, distance=self._edge.Distance.Dot)
        return self._edge.EdgeConfig(vectors={DENSE: vectors})

    def _create(self) -> "qdrant_edge.EdgeShard":
        edge = self._edge
        # Without its description the shard is what a process left that was killed while making it: nothing in it
        # was ever acknowledged. A living maker holds the lock, and is told apart by it.
        shard_path = self._path / _SHARD
        if shard_path.exists():
            with contextlib.suppress(_DamagedStoreError):
                self._guard(lambda: edge.EdgeShard.load(str(shard_path)).close())
            shutil.rmtree(shard_path)
        with _makeable(self._path):
            shard_path.mkdir(parents=True)
        shard = self._guard(lambda: edge.EdgeShard.create(str(shard_path), self._config()))
        fields = {
            "revision": edge.IntegerIndexParams(lookup=False, range=True),
            "status": edge.PayloadSchemaType.Keyword,
        }
        for name, schema in fields.items():
            shard.update(edge.UpdateOperation.create_field_index(name, schema))
        shard.flush()
        description = {"format": _FORMAT, "dimensions": self._dimensions, "store_id": self.store_id}
        with _makeable(self._path):
            _write(self._path / _DESCRIPTION, description)
        return shard

    def _load(self) -> "qdrant_edge.EdgeShard":
        return self._guard(lambda: self._edge.EdgeShard.load(str(self._path / _SHARD)))

    def _guard(self, call: Callable[[], _Result]) -> _Result:
        """Run a call of the engine. Raises: StoreLockedError, StoreError."""
        try:
            return call()
        except Exception as error:  # all that the engine raises: its errors are told apart by their text, here only
            text = str(error)
            if "WouldBlock" in text:
                raise StoreLockedError(
                    f"The catalog at {self._path} is in use by {_owner(self._path)}. "
                    "Stop it, talk to it instead of opening the catalog, or use another TOOLSCOUT_HOME."
                ) from error
            raise _DamagedStoreError(
                f"The embedded Qdrant store at {self._path} failed: {text}. "
                "If it stays so, move the directory away and index again."
            ) from error

    def _note_owner(self) -> None:
        with contextlib.suppress(OSError):  # a courtesy to whoever finds the store locked
            _write(self._path / _OWNER, {"pid": os.getpid(), "command": " ".join(sys.argv)[:200]})

    @property
    def _open_shard(self) -> "qdrant_edge.EdgeShard":
        if self._shard is None:
            raise StoreError(f"The store at {self._path} is closed.")
        return self._shard

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        if not tools:
            return
        edge, shard = self._edge, self._open_shard
        points: list[qdrant_edge.Point] = []
        for tool in tools:
            require_dimensions(tool, self._dimensions, where=f"store at {self._path}")
            # A list is read in a third of the time that an array takes.
            vector: Any = {} if tool.vector is None else {DENSE: tool.vector.tolist()}
            points.append(edge.Point(tool.point_id, vector, _payload_of(tool)))
        self._guard(lambda: shard.update(edge.UpdateOperation.upsert_points(points)))

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        if not point_ids:
            return {}
        shard = self._open_shard
        records: list[qdrant_edge.Record] = self._guard(lambda: shard.retrieve(list(point_ids), True, False))
        return {_uuid(record.id): tool_of(record.payload, None) for record in records}

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        while True:
            records = self._page(after_revision, batch_size)
            if not records:
                return
            tools = [tool_of(record.payload, record.vector) for record in records]
            after_revision = tools[-1].revision
            yield tools

    def _page(self, after_revision: int, limit: int) -> "list[qdrant_edge.Record]":
        edge, shard = self._edge, self._open_shard
        later = edge.FieldCondition("revision", range=edge.RangeFloat(gt=after_revision))
        request = edge.ScrollRequest(
            limit=limit,
            filter=edge.Filter(must=[later]),
            with_payload=True,
            with_vector=True,
            order_by=edge.OrderBy("revision", direction=edge.Direction.Asc),
        )
        return self._guard(lambda: shard.scroll(request))[0]

    def last_revision(self) -> int:
        edge, shard = self._edge, self._open_shard
        request = edge.ScrollRequest(
            limit=1,
            with_payload=["revision"],
            with_vector=False,
            order_by=edge.OrderBy("revision", direction=edge.Direction.Desc),
        )
        records: list[qdrant_edge.Record] = self._guard(lambda: shard.scroll(request))[0]
        return int((records[0].payload or {})["revision"]) if records else 0

    def count(self) -> int:
        edge, shard = self._edge, self._open_shard
        active = edge.FieldCondition("status", match=edge.MatchValue("active"))
        return self._guard(lambda: shard.count(edge.CountRequest(exact=True, filter=edge.Filter(must=[active]))))

    def flush(self) -> None:
        self._guard(self._open_shard.flush)

    def close(self) -> None:
        if self._shard is None:
            return
        shard, self._shard = self._shard, None
        with contextlib.suppress(OSError):
            (self._path / _OWNER).unlink()
        self._guard(shard.close)


def _payload_of(tool: StoredTool) -> dict[str, Any]:
    """What is read back, and no more: the engine takes four microseconds to read a field, and as long to index it.

    The embedded engine never filters by what stands in the definition; a server does, and has `payload_of`.
    """
    payload: dict[str, Any] = {
        "status": tool.status,
        "revision": tool.revision,
        "content_hash": tool.content_hash,
        "encoder_id": tool.encoder_id,
        "definition": tool.definition.encoded.decode(),
    }
    if tool.reason:
        payload["reason"] = tool.reason
    if tool.deleted_at:
        payload["deleted_at"] = tool.deleted_at
    return payload


@contextlib.contextmanager
def _makeable(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"Cannot make the store at {path}: {error.strerror}.") from error


def _uuid(point_id: object) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace a small file whole."""
    scratch = path.with_suffix(".tmp")
    scratch.write_bytes(orjson.dumps(content))
    scratch.replace(path)


def _owner(path: Path) -> str:
    try:
        owner = orjson.loads((path / _OWNER).read_bytes())
        return f"process {owner['pid']} ({owner['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, probably `toolscout serve` or a running `toolscout index`"
