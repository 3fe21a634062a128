"""The replica on disk: one file of aligned arrays behind a checked header, mapped rather than read."""

import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import orjson

from indexer.embedders.base import TokenEncoder
from indexer.errors import CorruptSnapshotError, StoreError
from indexer.replica import Replica
from indexer.stores.base import StoredTool
from indexer.stores.payload import decode_definition

_MAGIC: Final = b"TSREPL01"
SNAPSHOT_FORMAT: Final = 5
"""To be raised whenever the arrays, the document fields or the index terms change their meaning."""
SNAPSHOT_CHANGES: Final = 1024
"""A snapshot is written once a start would have to catch up with this many changes; the store is flushed then too."""
SNAPSHOT_SHARE: Final = 64
"""Of a large catalog, once one tool in so many has changed: writing a million tools takes the better part of a minute
of processor time, catching up with 15,000 changes five seconds (benchmarks/scale_costs.py)."""
_PREFIX_BYTES: Final = 16
"""Magic, header length and header checksum, 8 + 4 + 4 bytes."""
_ALIGNMENT: Final = 64
_MAX_HEADER_BYTES: Final = 1 << 30


def snapshot_changes(tools: int) -> int:
    """After how many changes the snapshot of a catalog of so many tools is written anew."""
    return max(SNAPSHOT_CHANGES, tools // SNAPSHOT_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOrigin:
    """Of which catalog, and read by which encoder, a snapshot is: any difference makes it worthless."""

    store_id: str
    encoder_id: str
    dimensions: int


def save_snapshot(path: Path, replica: Replica, origin: SnapshotOrigin) -> None:
    """Write the replica beside `path`, then move it there: a reader sees the old file or the new one, whole.

    Compacts the replica. Raises: StoreError.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in replica.to_arrays().items()}
    described: list[dict[str, Any]] = []
    place = 0
    for name, array in arrays.items():
        place = _aligned(place)
        described.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": place})
        place += array.nbytes
    header = orjson.dumps(
        {
            "format": SNAPSHOT_FORMAT,
            "store_id": origin.store_id,
            "encoder_id": origin.encoder_id,
            "dimensions": origin.dimensions,
            "revision": replica.revision,
            "followed": replica.followed,
            "body_bytes": place,
            "arrays": described,
            "quarantined": [_quarantined_record(tool) for tool in replica.state.quarantined.values()],
        }
    )
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(scratch, header, arrays, described)
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise StoreError(f"Cannot write the snapshot {path}: {error.strerror}.") from error


def _write(
    path: Path, header: bytes, arrays: Mapping[str, npt.NDArray[Any]], described: Sequence[Mapping[str, Any]]
) -> None:
    with path.open("wb") as file:
        file.write(_MAGIC + len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little") + header)
        body = _aligned(_PREFIX_BYTES + len(header))
        for entry in described:
            file.seek(body + entry["offset"])
            file.write(arrays[entry["name"]].data)
        file.truncate(body + _body_bytes(arrays, described))
        file.flush()
        os.fsync(file.fileno())


def _body_bytes(arrays: Mapping[str, npt.NDArray[Any]], described: Sequence[Mapping[str, Any]]) -> int:
    return max((entry["offset"] + arrays[entry["name"]].nbytes for entry in described), default=0)


def load_snapshot(
    path: Path, origin: SnapshotOrigin, *, recall: float = 1.0, token_encoder: TokenEncoder | None = None
) -> Replica | None:
    """The replica in the file; None where there is none, or where it is of another catalog or encoder.

    `recall`, `token_encoder`: as `Replica` takes them. Raises: CorruptSnapshotError.
    """
    try:
        with path.open("rb") as file:
            header, body = _read_header(file)
        if any(header[name] != value for name, value in _expected(origin).items()):
            return None
        content = np.memmap(path, dtype=np.uint8, mode="r")
        if len(content) != body + header["body_bytes"]:
            raise CorruptSnapshotError(f"{path} is {len(content):,} bytes long, not {body + header['body_bytes']:,}")
        arrays = {entry["name"]: _array(content, body, entry) for entry in header["arrays"]}
        quarantined = [_quarantined_tool(record) for record in header["quarantined"]]
        replica = Replica.from_arrays(
            arrays, int(header["revision"]), quarantined, recall=recall, token_encoder=token_encoder
        )
        replica.followed = header.get("followed", {})  # older files have none
        return replica
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorruptSnapshotError(f"{path} cannot be read: {error}") from error
    except (KeyError, ValueError, TypeError, StoreError) as error:
        raise CorruptSnapshotError(f"{path} is damaged: {error!r}") from error


def _read_header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    prefix = file.read(_PREFIX_BYTES)
    size, checksum = int.from_bytes(prefix[8:12], "little"), int.from_bytes(prefix[12:16], "little")
    if len(prefix) < _PREFIX_BYTES or prefix[:8] != _MAGIC or size > _MAX_HEADER_BYTES:
        raise CorruptSnapshotError("this is no snapshot file")
    header = file.read(size)
    if len(header) != size or zlib.crc32(header) != checksum:
        raise CorruptSnapshotError("the snapshot's header is damaged")
    return orjson.loads(header), _aligned(_PREFIX_BYTES + size)


def _expected(origin: SnapshotOrigin) -> dict[str, Any]:
    return {
        "format": SNAPSHOT_FORMAT,
        "store_id": origin.store_id,
        "encoder_id": origin.encoder_id,
        "dimensions": origin.dimensions,
    }


def _array(content: npt.NDArray[np.uint8], body: int, entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    dtype = np.dtype(entry["dtype"])
    shape: tuple[int, ...] = tuple(entry["shape"])
    start = body + int(entry["offset"])
    end = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    # A plain array over the map: a memmap's own class slows every slice down.
    return np.asarray(content[start:end]).view(np.ndarray).view(dtype).reshape(shape)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


def _quarantined_record(tool: StoredTool) -> dict[str, Any]:
    return {
        "definition": tool.definition.encoded.decode(),
        "content_hash": tool.content_hash,
        "revision": tool.revision,
        "reason": tool.reason,
    }


def _quarantined_tool(record: Mapping[str, Any]) -> StoredTool:
    return StoredTool(
        definition=decode_definition(record["definition"]),
        content_hash=record["content_hash"],
        revision=record["revision"],
        status="quarantined",
        reason=record["reason"],
    )
