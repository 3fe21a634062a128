"""The embedded engine by plain values: in this process, or as a process of its own that answers over its pipes.

This file is also the program of that process. It imports nothing of its package, so that the process stands in a
twentieth of a second.
"""

import array
import errno
import marshal
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    import qdrant_edge

Point = tuple[str, bytes | None, dict[str, Any]]
"""Id, vector (float32 in the machine's order; None for none), payload."""
ReadPoint = tuple[dict[str, Any] | None, bytes | None]
"""Payload and vector."""

SHARD: Final = "shard"
DESCRIPTION: Final = "store.json"
"""Written last by whoever makes a store."""
OWNER: Final = "owner.json"
LOCKED: Final = "WouldBlock"
"""Stands in the error where another process owns the shard: the engine's word for it."""
_LOCK: Final = "lock"
_TAKEN: Final = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LENGTH_BYTES: Final = 8
_RETRY_SECONDS: Final = 0.02


class EngineLostError(Exception):
    """The engine's process ended, or does not answer as it should; the next call starts another one."""


@final
class EdgeEngine:
    """One shard of `qdrant_edge`. Each call holds the interpreter lock for its length; errors are the engine's own."""

    def __init__(self, vector: str) -> None:
        """`vector`: the name of the points' vector."""
        import qdrant_edge

        self._edge = qdrant_edge
        self._vector = vector
        self._shard: qdrant_edge.EdgeShard | None = None
        self._lock: IO[bytes] | None = None

    def load(self, folder: str, owner: bytes, patience_seconds: float) -> None:
        """Open the shard in the folder, waiting so long for another process to let go, and note whose it is now."""
        self._take(Path(folder), patience_seconds)
        try:
            self._shard = self._edge.EdgeShard.load(str(Path(folder) / SHARD))
        except BaseException:  # an interrupt too: nobody would let go of the lock
            self._release()
            raise
        _note(Path(folder) / OWNER, owner)

    def create(self, folder: str, dimensions: int, owner: bytes) -> None:
        """Make a shard in the folder. One without its description is what a process left that was killed while making
        it: nothing in it was ever acknowledged, and it goes."""
        self._take(Path(folder), 0.0)
        try:
            if (Path(folder) / DESCRIPTION).exists():
                raise RuntimeError("another process has just made it; try again")
            shutil.rmtree(Path(folder) / SHARD, ignore_errors=True)
            self._shard = self._made(Path(folder) / SHARD, dimensions)
        except BaseException:  # an interrupt too: nobody would let go of the lock
            self._release()
            raise
        _note(Path(folder) / OWNER, owner)

    def _made(self, path: Path, dimensions: int) -> "qdrant_edge.EdgeShard":
        edge = self._edge
        path.mkdir()
        # Dot product of unit vectors is their cosine, and keeps the stored floats bit for bit as they came.
        vectors = {self._vector: edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Dot)}
        shard = edge.EdgeShard.create(str(path), edge.EdgeConfig(vectors=vectors))
        fields = {
            "revision": edge.IntegerIndexParams(lookup=False, range=True),
            "status": edge.PayloadSchemaType.Keyword,
        }
        for name, schema in fields.items():
            shard.update(edge.UpdateOperation.create_field_index(name, schema))
        shard.flush()
        return shard

    def _take(self, folder: Path, patience_seconds: float) -> None:
        """Be the folder's only owner. The engine has a lock of its own, which it takes after it has read the segments:
        what their last owner writes meanwhile, on its way out, would be lost."""
        until = time.monotonic() + patience_seconds
        while (lock := _locked(folder / _LOCK)) is None:
            if time.monotonic() >= until:
                raise RuntimeError(LOCKED)
            time.sleep(_RETRY_SECONDS)
        self._lock = lock

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

    @property
    def _open_shard(self) -> "qdrant_edge.EdgeShard":
        if self._shard is None:
            raise RuntimeError("no shard is open")
        return self._shard

    def upsert(self, points: list[Point]) -> None:
        """One record of the write-ahead log."""
        edge = self._edge
        made: list[qdrant_edge.Point] = []
        for point_id, vector, payload in points:
            # A list is read in a third of the time that an array takes.
            named: Any = {} if vector is None else {self._vector: memoryview(vector).cast("f").tolist()}
            made.append(edge.Point(point_id, named, payload))
        self._open_shard.update(edge.UpdateOperation.upsert_points(made))

    def fetch(self, point_ids: list[str]) -> dict[str, dict[str, Any] | None]:
        """Payloads by id, of those that exist."""
        records = self._open_shard.retrieve(list[Any](point_ids), True, False)
        return {str(record.id): record.payload for record in records}

    def page(self, after_revision: int, limit: int) -> list[ReadPoint]:
        """Points of later revisions, in order of them."""
        edge = self._edge
        later = edge.FieldCondition("revision", range=edge.RangeFloat(gt=after_revision))
        request = edge.ScrollRequest(
            limit=limit,
            filter=edge.Filter(must=[later]),
            with_payload=True,
            with_vector=True,
            order_by=edge.OrderBy("revision", direction=edge.Direction.Asc),
        )
        return [(record.payload, self._bytes_of(record.vector)) for record in self._open_shard.scroll(request)[0]]

    def _bytes_of(self, vectors: Any) -> bytes | None:  # noqa: ANN401  a dictionary here, since vectors have names
        values = vectors.get(self._vector) if vectors else None
        return None if values is None else array.array("f", values).tobytes()

    def last_revision(self) -> int:
        """The highest one, 0 where there is no point."""
        edge = self._edge
        request = edge.ScrollRequest(
            limit=1,
            with_payload=["revision"],
            with_vector=False,
            order_by=edge.OrderBy("revision", direction=edge.Direction.Desc),
        )
        records = self._open_shard.scroll(request)[0]
        return int((records[0].payload or {})["revision"]) if records else 0

    def count(self) -> int:
        """Points whose status is active."""
        edge = self._edge
        active = edge.FieldCondition("status", match=edge.MatchValue("active"))
        return self._open_shard.count(edge.CountRequest(exact=True, filter=edge.Filter(must=[active])))

    def flush(self) -> None:
        self._open_shard.flush()

    def close(self) -> None:
        """Flush and let go of the shard, if there is one."""
        shard, self._shard = self._shard, None
        try:
            if shard is not None:
                shard.close()
        finally:
            self._release()


def _locked(path: Path) -> IO[bytes] | None:
    """The file, locked for as long as it is open; None where another process has it. Raises: OSError."""
    file = path.open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno in _TAKEN:
            return None
        raise
    return file


def _note(path: Path, owner: bytes) -> None:
    """Replace a small file whole; a courtesy to whoever finds the store locked."""
    scratch = path.with_suffix(".tmp")
    try:
        scratch.write_bytes(owner)
        scratch.replace(path)
    except OSError:
        return


def send(pipe: IO[bytes], message: Any) -> None:  # noqa: ANN401  tuples, lists and dictionaries of plain values
    """Write one message of plain values. Both ends are this file under one interpreter, so `marshal` will do: it copies
    definitions and vectors as they are, in a quarter of a microsecond a tool. Raises: OSError."""
    body = marshal.dumps(message)
    pipe.write(len(body).to_bytes(_LENGTH_BYTES, "little"))
    pipe.write(body)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:  # noqa: ANN401  whatever the other end sent
    """The next message. Raises: EOFError once the other end is gone, OSError."""
    head = pipe.read(_LENGTH_BYTES)
    size = int.from_bytes(head, "little")
    body = pipe.read(size)
    if len(head) < _LENGTH_BYTES or len(body) < size:
        raise EOFError
    return marshal.loads(body)


def serve(vector: str) -> None:
    """Answer (method, arguments) by (whether it succeeded, result or error text) until the other end is gone."""
    # The process that asks decides when this one ends: an interrupt goes to all that a terminal started.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    engine = EdgeEngine(vector)
    try:
        while True:
            method, arguments = receive(requests)
            try:
                answer = True, getattr(engine, method)(*arguments)
            except Exception as error:  # noqa: BLE001  the other end tells them apart
                answer = False, str(error)
            send(answers, answer)
    except (EOFError, OSError):
        # Nothing that was acknowledged is lost; the next owner should not have to wait for a flush.
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
