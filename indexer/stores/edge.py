"""Qdrant embedded on this machine: a directory of its own, no server to start."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, final
from uuid import UUID, uuid4

import numpy as np
import orjson

from indexer.errors import DimensionMismatchError, StoreError, StoreLockedError, StoreUnavailableError
from indexer.stores.base import StoredTool
from indexer.stores.edge_engine import DESCRIPTION, LOCKED, OWNER, EdgeEngine, EngineLostError
from indexer.stores.payload import DENSE, require_dimensions, tool_of

if TYPE_CHECKING:
    from indexer.stores.edge_process import EdgeEngineApart

_Result = TypeVar("_Result")
_Engine: TypeAlias = "EdgeEngine | EdgeEngineApart"

_FORMAT: Final = 1
_NOT_WRITABLE: Final = "Let this user write there, or set TOOLSCOUT_HOME to another folder."
_ADVICE: Final = {
    "No space left on device": "Free some space; what was acknowledged is in the store.",
    "Permission denied": _NOT_WRITABLE,
    "Read-only file system": _NOT_WRITABLE,
}
"""What to do, by what stands in the engine's error."""
_ROOM_BYTES: Final = 48 * 1024 * 1024
"""What must be free beside what is written: the engine's files are mapped, and a page that finds no room ends the
process without a word (SIGBUS). A part of its vectors takes 32 MiB at once, its indexes and its log take the rest."""
_COPIES: Final = 3
"""How often what is written lies on the disk at most: in the log, in the payloads or vectors, and in their indexes."""
_DYING_SECONDS: Final = 10.0
"""For so long the engine's process may be at its last call after the process that it worked for was killed."""


@dataclass(frozen=True, slots=True)
class _Description:
    """What is noted beside a shard: its own words for what cannot be asked of it before it is open."""

    dimensions: int
    store_id: str


def _describe(path: Path) -> _Description | None:
    try:
        noted = orjson.loads((path / DESCRIPTION).read_bytes())
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
        raise StoreError(f"{path / DESCRIPTION} is damaged ({error}). Restore it from a backup.") from error


def stored_dimensions(path: Path) -> int | None:
    """The width of the vectors in the store at `path`, None where there is no store. Raises: StoreError."""
    description = _describe(path)
    return None if description is None else description.dimensions


def engine_apart() -> "EdgeEngineApart":
    """A process for the engine of one store, which begins to start. Raises: StoreError."""
    from indexer.stores.edge_process import EdgeEngineApart

    try:
        return EdgeEngineApart(DENSE)
    except OSError as error:
        raise StoreError(
            f"Cannot start a process for the embedded Qdrant store: {error.strerror}. "
            "Set TOOLSCOUT_STORE_PROCESS=0 to do without it."
        ) from error


@final
class EdgeToolStore:
    """A `ToolStore` in a `qdrant_edge` shard.

    The engine appends each `upsert` to its write-ahead log as one record before it answers: what was acknowledged
    survives a killed process whole, and a power cut once `flush` has returned. One process owns the directory.
    The engine holds the interpreter lock for the length of a call, unless it works in a process of its own.
    """

    kind = "edge"

    def __init__(self, path: Path, dimensions: int, *, engine: "EdgeEngineApart | None" = None) -> None:
        """Open the store at `path`, or make one for vectors of `dimensions`.

        `engine`: a process for it (`engine_apart`), which is closed with the store; by default this one. There, a
        store that exists is opened while this process goes on, and the first call raises what is wrong.
        Raises: StoreLockedError, DimensionMismatchError, StoreError.
        """
        self._path = path
        self._dimensions = dimensions
        self._engine: _Engine | None = engine
        with contextlib.ExitStack() as stack:
            if engine is not None:
                stack.callback(engine.close)
            existing = _describe(path)
            if existing is not None and existing.dimensions != dimensions:
                raise DimensionMismatchError(expected=existing.dimensions, got=dimensions, where=f"store at {path}")
            self.store_id = uuid4().hex if existing is None else existing.store_id
            """Random, of this store and its copies: what was derived from another store is not mistaken for its own."""
            self._engine = engine or EdgeEngine(DENSE)
            if existing is None:
                self._create(self._engine)
            else:
                self._load(self._engine)
            stack.pop_all()

    def _create(self, engine: _Engine) -> None:
        with _makeable(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
        self._require_room(0)
        self._guard(lambda: engine.create(str(self._path), self._dimensions, _owner_note()))
        description = {"format": _FORMAT, "dimensions": self._dimensions, "store_id": self.store_id}
        with _makeable(self._path):
            _write(self._path / DESCRIPTION, description)

    def _load(self, engine: _Engine) -> None:
        if (self._path / OWNER).exists():
            self._require_room(0)  # it was not closed: what its log holds is written into its files
        patience = _DYING_SECONDS if _owner_is_dead(self._path) else 0.0
        self._guard(lambda: engine.load(str(self._path), _owner_note(), patience))

    def _guard(self, call: Callable[[], _Result]) -> _Result:
        """Run a call of the engine. Raises: StoreLockedError, StoreError."""
        try:
            return call()
        except EngineLostError as error:
            raise StoreUnavailableError(
                f"The embedded Qdrant store at {self._path} was lost: {error}. It is opened again with the next call."
            ) from error
        except Exception as error:  # all that the engine raises: its errors are told apart by their text, here only
            text = str(error)
            if LOCKED in text:
                raise StoreLockedError(
                    f"The catalog at {self._path} is in use by {_owner(self._path)}. "
                    "Stop it, talk to it instead of opening the catalog, or use another TOOLSCOUT_HOME."
                ) from error
            otherwise = "If it stays so, move the directory away and index again."
            advice = next((advice for cause, advice in _ADVICE.items() if cause in text), otherwise)
            raise StoreError(f"The embedded Qdrant store at {self._path} failed: {text}. {advice}") from error

    def _require_room(self, size: int) -> None:
        """Raises: StoreError if `size` bytes more might fill the disk."""
        try:
            free = shutil.disk_usage(self._path).free
        except OSError:
            return  # a file system that does not say
        needed = _COPIES * size + _ROOM_BYTES
        if free < needed:
            raise StoreError(
                f"The disk that holds the store at {self._path} has {free / 1e6:,.1f} MB left, and "
                f"{needed / 1e6:,.1f} MB must be free for this. Free some space; what was acknowledged is in the store."
            )

    @property
    def _open_engine(self) -> _Engine:
        if self._engine is None:
            raise StoreError(f"The store at {self._path} is closed.")
        return self._engine

    def upsert(self, tools: Sequence[StoredTool]) -> None:
        if not tools:
            return
        engine = self._open_engine
        for tool in tools:
            require_dimensions(tool, self._dimensions, where=f"store at {self._path}")
        points = [(str(tool.point_id), _bytes_of(tool), _payload_of(tool)) for tool in tools]
        self._require_room(sum(len(payload["definition"]) + len(vector or b"") for _, vector, payload in points))
        self._guard(lambda: engine.upsert(points))

    def fetch(self, point_ids: Sequence[UUID]) -> dict[UUID, StoredTool]:
        if not point_ids:
            return {}
        engine = self._open_engine
        found = self._guard(lambda: engine.fetch([str(point_id) for point_id in point_ids]))
        return {UUID(point_id): tool_of(payload, None) for point_id, payload in found.items()}

    def scan(self, *, after_revision: int = 0, batch_size: int = 1024) -> Iterator[list[StoredTool]]:
        while points := self._page(after_revision, batch_size):
            after_revision = points[-1].revision
            yield points

    def _page(self, after_revision: int, limit: int) -> list[StoredTool]:
        engine = self._open_engine
        points = self._guard(lambda: engine.page(after_revision, limit))
        return [
            tool_of(payload, None if vector is None else {DENSE: np.frombuffer(vector, dtype=np.float32)})
            for payload, vector in points
        ]

    def last_revision(self) -> int:
        return self._guard(self._open_engine.last_revision)

    def count(self) -> int:
        return self._guard(self._open_engine.count)

    def flush(self) -> None:
        self._guard(self._open_engine.flush)

    def close(self) -> None:
        if self._engine is None:
            return
        engine, self._engine = self._engine, None
        with contextlib.suppress(OSError):
            (self._path / OWNER).unlink()
        self._guard(engine.close)


def _bytes_of(tool: StoredTool) -> bytes | None:
    return None if tool.vector is None else tool.vector.astype(np.float32, copy=False).tobytes()


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


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace a small file whole, also should the power fail: a store without its description counts as never made."""
    scratch = path.with_suffix(".tmp")
    with scratch.open("wb") as file:
        file.write(orjson.dumps(content))
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def _owner_note() -> bytes:
    """Of this process, which asks the engine, wherever that works."""
    # Arguments that are no UTF-8 come as halves of characters.
    command = " ".join(sys.argv)[:200].encode(errors="replace").decode()
    return orjson.dumps({"pid": os.getpid(), "command": command})


def _owner(path: Path) -> str:
    try:
        owner = orjson.loads((path / OWNER).read_bytes())
        return f"process {owner['pid']} ({owner['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, probably `toolscout serve` or a running `toolscout index`"


def _owner_is_dead(path: Path) -> bool:
    """Whether the process that had the store last ended without closing it: its engine may still be about to end."""
    if os.name != "posix":
        return False
    try:
        os.kill(int(orjson.loads((path / OWNER).read_bytes())["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError, KeyError, TypeError):
        return False
    return False
