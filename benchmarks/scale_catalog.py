"""A catalog of up to a million tools, grown from real ones, and what a gateway's copy of it costs.

Ten thousand operations of AWS and Google, then copies of them: each copy is a namespace of its own, `team-7` say, whose
vectors are turned away from the first ones' by a random angle (cosine 0.9), so that no two are near-duplicates. A
namespace stands for a tenant: for the replica both are lists of rows that lie side by side.
"""

import gc
import math
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from indexer import Embedder, SearchScope, ToolDefinition, ToolDocument, ToolSearchRequest, document_of, embed_tools
from indexer.embedders.base import token_encoder_of
from indexer.finding import find_together
from indexer.replica import Replica
from indexer.replica_state import ReplicaState
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from indexer.sources import open_source
from indexer.stores.base import StoredTool
from indexer.stores.edge import EdgeToolStore
from indexer.stores.payload import decode_definition

BASE: Final = 10_000
"""Distinct real tools, and the rows of one namespace."""
BATCHES: Final = (1, 2, 4, 8, 16, 32)
APPROXIMATE: Final = 0.99
"""A recall that an operator may allow (`TOOLSCOUT_RECALL`)."""
_LARGE: Final = 100_000
"""From here on a catalog is measured with that recall too."""
_CHUNK: Final = 1_000
_APPLIED: Final = 128
"""Changes that a writer or a follower takes over at a time."""
_MOST_COMPACTED: Final = 100_000
"""A compaction holds the catalog twice; it takes time in proportion to the rows."""
_QUERY_WORDS: Final = 8
_WARM_UP: Final = 10
_BEST_OF: Final = 3

Floats = npt.NDArray[np.float32]


class GrownCatalog:
    """Tools without end, the first `BASE` of them real."""

    def __init__(self, embedder: Embedder) -> None:
        """Raises: SourceError where the packages of the demo are not installed."""
        entries = (entry for spec in ("aws", "google") for entry in open_source(spec).entries())
        real = (entry for entry in entries if isinstance(entry, ToolDefinition))
        self.definitions = list(islice(real, BASE))
        started = time.thread_time()
        self.documents = [document_of(definition) for definition in self.definitions]
        self.vectors = embed_tools(embedder, self.documents)
        self.encoded_per_second = len(self.definitions) / (time.thread_time() - started)
        self._random = np.random.default_rng(1)

    def chunks(self, first: int, last: int) -> Iterator[tuple[list[StoredTool], dict[Any, ToolDocument]]]:
        """Rows from `first` up to `last`, a thousand at a time, with their documents."""
        for start in range(first, last, _CHUNK):
            rows = range(start, min(start + _CHUNK, last))
            vectors = self._turned(rows)
            tools = [self._tool(row, vector) for row, vector in zip(rows, vectors, strict=True)]
            documents = {tool.key: self.documents[row % BASE] for row, tool in zip(rows, tools, strict=True)}
            yield tools, documents

    def queries(self, count: int) -> list[str]:
        """Beginnings of descriptions, of tools drawn at random."""
        chosen: list[int] = self._random.integers(0, len(self.definitions), count).tolist()
        return [" ".join(self.definitions[row].description.split()[:_QUERY_WORDS]) or "list" for row in chosen]

    def _tool(self, row: int, vector: Floats) -> StoredTool:
        base = self.definitions[row % BASE]
        name = f"{base.namespace}_{base.name}"[:256]
        definition = replace(base, name=name, namespace=f"team-{row // BASE}")
        return StoredTool(
            definition=definition,
            content_hash=definition.content_hash,
            revision=row + 1,
            encoder_id="measured",
            vector=vector,
        )

    def _turned(self, rows: range) -> Floats:
        vectors = self.vectors[np.asarray(rows) % BASE]
        if rows[0] < BASE:
            return vectors
        noise = self._random.standard_normal(vectors.shape).astype(np.float32)
        noise *= math.tan(math.acos(0.9)) / np.linalg.norm(noise, axis=1, keepdims=True)
        turned = vectors + noise
        return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def measured(replica: Replica, grown: GrownCatalog, embedder: Embedder, folder: Path) -> dict[str, Any]:
    """What a catalog of the replica's size costs: memory, searches, changes, a snapshot and a start."""
    rows = replica.state.live
    gc.collect()
    gc.freeze()  # as a gateway does once it has started: what stays is not looked through again and again
    record: dict[str, Any] = {
        "rows": rows,
        "bytes_per_tool": {part: round(size / rows, 1) for part, size in replica.parts_bytes().items()},
        "searches": _searches(replica.state, grown, embedder, [rows] if rows <= BASE else [rows, BASE]),
        "follower": _applied(replica, grown, rows),
    }
    if rows <= _MOST_COMPACTED:
        seconds, stall = _stalled(replica.compact)
        record["compaction"] = {"processor_seconds": round(seconds, 3), "stall_seconds": round(stall, 3)}
    path, origin = folder / f"{rows}.replica", _origin(embedder)
    seconds, stall = _stalled(lambda: save_snapshot(path, replica, origin))
    starts: list[float] = []
    for _ in range(_BEST_OF):
        started = time.perf_counter()
        loaded = load_snapshot(path, origin, token_encoder=token_encoder_of(embedder))
        assert loaded is not None
        starts.append(time.perf_counter() - started)
        del loaded
    record["snapshot"] = {
        "bytes": path.stat().st_size,
        "save_processor_seconds": round(seconds, 3),
        "save_stall_seconds": round(stall, 3),
        "load_seconds": round(min(starts), 3),
    }
    if rows >= _LARGE:
        approximate = load_snapshot(path, origin, recall=APPROXIMATE, token_encoder=token_encoder_of(embedder))
        assert approximate is not None
        record["searches"] += _searches(approximate.state, grown, embedder, [rows], recall=APPROXIMATE)
        del approximate
    _time_of(replica.state, embedder, _requests(grown, 200, None))
    started = time.thread_time()
    gc.collect()
    record["garbage_collection_seconds"] = round(time.thread_time() - started, 4)
    gc.unfreeze()
    return record


def store_bytes_per_tool(grown: GrownCatalog, folder: Path) -> float:
    """What the embedded Qdrant keeps on disk for one tool, all indexes with it."""
    store = EdgeToolStore(folder / "store", grown.vectors.shape[1])
    try:
        for tools, _ in grown.chunks(0, BASE):
            store.upsert(tools)
        store.flush()
    finally:
        store.close()
    size = sum(file.stat().st_blocks * 512 for file in (folder / "store").rglob("*") if file.is_file())
    return round(size / BASE, 1)


def _origin(embedder: Embedder) -> SnapshotOrigin:
    return SnapshotOrigin(store_id="measured", encoder_id="measured", dimensions=embedder.dimensions)


def _searches(
    state: ReplicaState,
    grown: GrownCatalog,
    embedder: Embedder,
    views: Sequence[int],
    *,
    recall: float = 1.0,
) -> list[dict[str, Any]]:
    """Times of batches over the whole catalog, or over a namespace of ten thousand rows each."""
    found: list[dict[str, Any]] = []
    for view in views:
        teams = state.live // BASE if view == BASE < state.live else None
        for batch in BATCHES:
            times = _timed_batches(state, grown, embedder, batch, teams)
            sample = sorted(round(seconds * 1e3, 3) for seconds in times)
            found.append({"view_rows": view, "recall": recall, "batch": batch, "milliseconds": sample})
    return found


def _timed_batches(
    state: ReplicaState, grown: GrownCatalog, embedder: Embedder, batch: int, teams: int | None
) -> list[float]:
    """Seconds of batches, for three seconds, at least 20 and at most 300 of them, once caches are warm."""
    for _ in range(_WARM_UP):
        _time_of(state, embedder, _requests(grown, batch, teams))
    times: list[float] = []
    until = time.perf_counter() + 3.0
    while len(times) < 20 or (time.perf_counter() < until and len(times) < 300):
        times.append(_time_of(state, embedder, _requests(grown, batch, teams)))
    return times


def search_seconds(state: ReplicaState, grown: GrownCatalog, embedder: Embedder) -> float:
    """The median of forty searches of the whole catalog."""
    return statistics.median(_time_of(state, embedder, _requests(grown, 1, None)) for _ in range(40))


def _requests(grown: GrownCatalog, count: int, teams: int | None) -> list[ToolSearchRequest]:
    scopes = [SearchScope()] * count
    if teams is not None:
        chosen = np.random.default_rng().integers(0, teams, count)
        scopes = [SearchScope(namespaces=frozenset({f"team-{team}"})) for team in chosen]
    queries = grown.queries(count)
    return [ToolSearchRequest(queries=(text,), scope=scope) for text, scope in zip(queries, scopes, strict=True)]


def _time_of(state: ReplicaState, embedder: Embedder, requests: Sequence[ToolSearchRequest]) -> float:
    """Processor seconds: what else runs on the machine must not count, for a plan gives each process a core."""
    started = time.thread_time()
    find_together(state, requests, embedder)
    return time.thread_time() - started


def _applied(replica: Replica, grown: GrownCatalog, first: int) -> dict[str, Any]:
    """Changes as a follower takes them over: read from their payload, then applied."""
    encoded = [(tool, tool.definition.encoded) for tools, _ in grown.chunks(first, first + _CHUNK) for tool in tools]
    longest = seconds = 0.0
    for place in range(0, len(encoded), _APPLIED):
        batch = encoded[place : place + _APPLIED]

        def apply(batch: Sequence[tuple[StoredTool, bytes]] = batch) -> None:
            replica.apply([replace(tool, definition=decode_definition(text)) for tool, text in batch])

        spent, stall = _stalled(apply)
        longest, seconds = max(longest, stall), seconds + spent
    return {
        "tools_per_second": round(len(encoded) / seconds, 1),
        "batch": _APPLIED,
        "stall_seconds": round(longest, 4),
    }


def _stalled(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of a call, and the longest that another thread stood still meanwhile, by the clock."""
    stop, gaps = threading.Event(), [0.0]

    def tick() -> None:
        before = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            gaps.append(now - before)
            before = now

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    started = time.thread_time()
    work()
    seconds = time.thread_time() - started
    stop.set()
    ticker.join()
    return seconds, max(gaps)
