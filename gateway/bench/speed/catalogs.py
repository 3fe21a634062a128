"""Whole catalogs under homes of their own, filled through the product's own registration and measured as they fill."""

import os
import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import anyio
import numpy as np

from gateway.bench.speed.artefacts import kept
from gateway.bench.speed.data import BenchData, Floats
from gateway.bench.speed.grown import Grower
from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.short_tools import mean_tokens, shortened
from gateway.bench.speed.statistics import percentile, spread
from indexer import Embedder, IndexerSettings, ToolDefinition, ToolIndex, ToolSearchRequest, make_embedder, open_index

_WRITES: Final = 200
_READ_AHEAD: Final = 4096
_COUNTED: Final = 500
_QUERY: Final = 60
"""Characters of a description that a search asks with."""


class KnownVectors:
    """An encoder that has read the tools already: what else a registration costs can then be seen.

    Tools are registered through `announced`, which notes whose vectors will be asked for next. Queries are encoded.
    """

    def __init__(self, encoder: Embedder, vectors: Floats) -> None:
        self._encoder = encoder
        self._vectors = vectors
        self._next: deque[int] = deque()
        self.embedder_id = encoder.embedder_id
        self.dimensions = encoder.dimensions

    def announced(self, tools: Iterator[ToolDefinition]) -> Iterator[ToolDefinition]:
        """The tools, numbered from row 0 of the vectors."""
        for row, tool in enumerate(tools):
            self._next.append(row)
            yield tool

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """The vectors of the announced tools, once for each view that is asked for. Raises: ValueError."""
        rows = list(self._next)
        self._next.clear()
        views, left = divmod(len(texts), len(rows)) if rows else (0, len(texts))
        if left:
            raise ValueError(f"{len(texts)} texts of {len(rows)} tools: some tool was not taken")
        return np.tile(self._vectors[rows], (views, 1))

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        return self._encoder.embed_queries(texts)


def home_of(data: BenchData, rows: int) -> Path:
    """Where a catalog of so many tools lies, or will."""
    return kept(data.folder, f"home-{rows}", "")


def fill(settings: Settings) -> Mapping[str, Any]:
    """Fill a home with so many tools whose vectors are known: tools a second, memory, and memory by part.

    `short`: with tools as short as those of MCP servers.
    """
    return anyio.run(_fill, settings)


async def _fill(settings: Settings) -> Mapping[str, Any]:
    data, rows, home = BenchData(Path(settings["data"])), int(settings["rows"]), Path(settings["home"])
    shutil.rmtree(home, ignore_errors=True)
    encoder = KnownVectors(make_embedder(settings["encoder"]), np.load(settings["vectors"], mmap_mode="r"))
    before = memory_of()
    index = await open_index(IndexerSettings(home=home), embedder=encoder)
    # The tools are read from files and grown as they go in; that is no part of a registration.
    tools = _Timed(map(shortened, Grower(data).tools(rows)) if settings.get("short") else Grower(data).tools(rows))
    started = time.perf_counter()
    report = await index.register(encoder.announced(iter(tools)))
    seconds = time.perf_counter() - started - tools.seconds
    stats = await index.stats()
    grown = memory_of() - before
    await index.aclose()
    return {
        "tools": stats.tools,
        "refused": len(report.refused) + len(report.quarantined),
        "seconds": seconds,
        "tools_per_second": stats.tools / seconds,
        "parts_bytes": stats.parts_bytes,
        "memory_bytes": grown,
    }


def short_tokens(settings: Settings) -> Mapping[str, Any]:
    """How many tokens the short tools are, on average."""
    tools = map(shortened, Grower(BenchData(Path(settings["data"]))).tools(int(settings["rows"])))
    return {"tokens": mean_tokens(list(islice(tools, _COUNTED)))}


class _Timed:
    """An iterator that knows how long it was waited for.

    It reads far ahead: the store writes a batch while the next is read, and would have that time for nothing.
    """

    def __init__(self, values: Iterator[ToolDefinition]) -> None:
        self._values = values
        self.seconds = 0.0

    def __iter__(self) -> Iterator[ToolDefinition]:
        while True:
            started = time.perf_counter()
            values = list(islice(self._values, _READ_AHEAD))
            self.seconds += time.perf_counter() - started
            if not values:
                return
            yield from values


def memory_of() -> int:
    """Bytes of this process in memory, its own and of files it maps; 0 where the system does not say."""
    try:
        fields = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    sizes = {name: value.split() for name, _, value in (line.partition(":") for line in fields)}
    return sum(int(sizes[name][0]) * 1024 for name in ("RssAnon", "RssFile") if name in sizes)


def start(settings: Settings) -> Mapping[str, Any]:
    """Open a home as a fresh process does: seconds until it is open, until its first answer, and the memory it took."""
    return anyio.run(_start, settings)


async def _start(settings: Settings) -> Mapping[str, Any]:
    before = memory_of()
    started = time.perf_counter()
    index = await open_index(IndexerSettings(home=Path(settings["home"]), encoder=settings["encoder"]))
    opened = time.perf_counter()
    response = await index.search(ToolSearchRequest(queries=(settings["requests"][0],)))
    answered = time.perf_counter()
    stats = await index.stats()
    memory = memory_of() - before
    await index.aclose()
    return {
        "open_seconds": opened - started,
        "first_answer_seconds": answered - started,
        "found": len(response.results),
        "tools": stats.tools,
        "parts_bytes": stats.parts_bytes,
        "memory_bytes": memory,
    }


def writes(settings: Settings) -> Mapping[str, Any]:
    """Tools one by one, `writes` of them, into a copy of a home.

    Milliseconds until each is visible, and of the search after it.
    """
    return anyio.run(_writes, settings)


async def _writes(settings: Settings) -> Mapping[str, Any]:
    data, rows, source = BenchData(Path(settings["data"])), int(settings["rows"]), Path(settings["home"])
    home = source.with_name(f"{source.name}.writes-{os.getpid()}")
    shutil.copytree(source, home)
    try:
        index = await open_index(IndexerSettings(home=home, encoder=settings["encoder"]))
        try:
            grower = Grower(data)
            return await _write_each(
                index, [grower.tool(rows + number) for number in range(settings.get("writes", _WRITES))]
            )
        finally:
            await index.aclose()
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _write_each(index: ToolIndex, tools: Sequence[ToolDefinition]) -> Mapping[str, Any]:
    visible: list[float] = []
    found: list[float] = []
    seen = 0
    for tool in tools:
        words = ToolSearchRequest(queries=(tool.description[:_QUERY],))
        await index.search(words)  # as on a catalog that is searched all the time
        started = time.perf_counter()
        await index.register([tool])
        registered = time.perf_counter()
        await index.search(words)
        visible.append((registered - started) * 1e3)
        found.append((time.perf_counter() - registered) * 1e3)
        named = await index.search(ToolSearchRequest(queries=(f"select:{tool.namespace}/{tool.name}",)))
        seen += any(result.definition.key == tool.key for result in named.results)
    return {
        "visible_ms": spread(visible).record(),
        "visible_p99_ms": percentile(visible, 99),
        "search_after_ms": spread(found).record(),
        "seen": seen / len(tools),
    }
