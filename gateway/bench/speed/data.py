"""The data of the benchmark: real tools with our encoder's vectors, kept in a folder for the next run.

The AWS and Google catalogs, in one shuffled order with the tools that requests need in front, so that every size holds
them. Vectors of 256 dimensions are our encoder's, as the index makes them. Those of 384 are MiniLM's of name, title and
description where it is installed, else made of two real vectors: the tool's own 256, and 128 of a fixed random rotation
of the vector of its name, title and description; both count the same, and the row has unit norm.
"""

import hashlib
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gateway.bench.progress import Progress, hear_nothing
from gateway.bench.speed.machine import version_of
from gateway.bench.tokens.conversations import Conversation, load_conversations, within
from gateway.bench.tokens.drawn import draw_conversations
from indexer import Embedder, ToolDefinition, document_of, embed_tools, short_text
from indexer.engine import TEXT_RECIPE
from indexer.sources import SourceOptions, open_source
from indexer.stores.payload import decode_definition
from indexer.validation import judge

Floats: TypeAlias = npt.NDArray[np.float32]

SEED: Final = 20261130
SOURCES: Final = ("aws", "google")
DIMENSIONS: Final = (256, 384)
_FORMAT: Final = 5
_SECOND_VIEW: Final = 128
_BATCH: Final = 512
_DRAWN: Final = 200
_DESCRIPTION: Final = "data.json"


@dataclass(frozen=True, slots=True)
class Request:
    """A short request as a model or a person writes it, and the row of the tool that it needs."""

    text: str
    row: int


class BenchData:
    """What lies in a data folder; rows are numbered alike in all of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.description: dict[str, Any] = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))

    @property
    def tools(self) -> int:
        """How many real tools."""
        return int(self.description["tools"])

    @property
    def encoder(self) -> str:
        return str(self.description["encoder"])

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        return tuple(Request(str(text), int(row)) for text, row in self.description["requests"])

    def vectors(self, dimensions: int) -> Floats:
        """(tools, dimensions) unit rows of the real tools, mapped from the file."""
        return np.load(self.folder / f"vectors-{dimensions}.npy", mmap_mode="r")

    def asked(self, dimensions: int) -> Floats:
        """(needs, dimensions) unit rows of the requests."""
        return np.load(self.folder / f"requests-{dimensions}.npy")

    @cached_property
    def _offsets(self) -> npt.NDArray[np.int64]:
        return np.load(self.folder / "offsets.npy")

    @cached_property
    def _encoded(self) -> npt.NDArray[np.uint8]:
        return np.memmap(self.folder / "definitions.bin", dtype=np.uint8, mode="r")

    def tool(self, row: int) -> ToolDefinition:
        """A real tool."""
        start, end = self._offsets[row : row + 2]
        return decode_definition(self._encoded[start:end].tobytes())


def open_data(
    bench_home: Path,
    embedder: Embedder,
    conversations: Path | None,
    *,
    wide: Embedder | None = None,
    progress: Progress | None = None,
) -> BenchData:
    """The data under a folder, made first where these encoders or packages have none there.

    `conversations`: a folder of them, whose needs are the requests; None: requests are drawn from descriptions.
    `wide`: an encoder for the second width; None: that is made of ours.
    Raises: SourceError, EmbeddingError, ConversationError.
    """
    given = load_conversations(conversations) if conversations is not None else []
    origin = {
        "format": _FORMAT,
        "encoder": f"{embedder.embedder_id}/{TEXT_RECIPE}",
        "wide": wide.embedder_id if wide is not None else "",
        "packages": {name: version_of(name) for name in ("botocore", "google-api-python-client")},
        "requests": hashlib.sha256(repr(given).encode()).hexdigest()[:12],
        "seed": SEED,
    }
    name = hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest()[:12]
    folder = bench_home / f"data-{name}"
    if not (folder / _DESCRIPTION).exists():
        tools = _read_tools(progress or hear_nothing)
        make_data(folder, tools, embedder, given, origin=origin, wide=wide, progress=progress)
    return BenchData(folder)


def make_data(
    folder: Path,
    tools: Sequence[ToolDefinition],
    embedder: Embedder,
    conversations: Sequence[Conversation],
    *,
    origin: dict[str, Any],
    wide: Embedder | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a data folder whole: one that is there is complete. Raises: EmbeddingError."""
    heard = progress or hear_nothing
    rows = {f"{tool.namespace}/{tool.name}": row for row, tool in enumerate(tools)}
    usable = within(conversations, rows) or draw_conversations(tools, seed=SEED, count=_DRAWN)
    needs = [(need.queries[0], rows[need.tool]) for one in usable for turn in one.turns for need in turn.needs]
    order = _order(len(tools), [row for _, row in needs])
    place = {row: number for number, row in enumerate(order)}
    ordered = [tools[row] for row in order]
    draft = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    _write_definitions(draft, ordered)
    texts = [text for text, _ in needs]
    second_asked = (wide or embedder).embed_queries(texts)
    for kind, (own, second) in {
        "vectors": _embed(ordered, embedder, wide or embedder, heard),
        "requests": (embedder.embed_queries(texts), second_asked),
    }.items():
        widened = second if wide is not None else _widened(own, second)
        np.save(draft / f"{kind}-{own.shape[1]}.npy", own)
        np.save(draft / f"{kind}-{widened.shape[1]}.npy", widened)
    description = {
        **origin,
        "tools": len(ordered),
        "requests_drawn": not within(conversations, rows),
        "requests": list(dict.fromkeys((text, place[row]) for text, row in needs)),
    }
    (draft / _DESCRIPTION).write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def _read_tools(heard: Progress) -> list[ToolDefinition]:
    """Every tool of the installed catalogs that a gateway would take, the first of each name."""
    kept: dict[tuple[str, str], ToolDefinition] = {}
    for source in SOURCES:
        for entry in open_source(source, SourceOptions()).entries():
            if isinstance(entry, ToolDefinition) and judge(entry) is None:
                kept.setdefault((entry.namespace, entry.name), entry)
                if len(kept) % _BATCH == 0:
                    heard("reading tools", len(kept), 0)
    return list(kept.values())


def _order(count: int, needed: Sequence[int]) -> list[int]:
    first = list(dict.fromkeys(needed))
    rest = sorted(set(range(count)) - set(first))
    random.Random(SEED).shuffle(rest)
    return first + rest


def _write_definitions(folder: Path, tools: Sequence[ToolDefinition]) -> None:
    offsets = np.zeros(len(tools) + 1, dtype=np.int64)
    np.cumsum([len(tool.encoded) for tool in tools], out=offsets[1:])
    np.save(folder / "offsets.npy", offsets)
    with (folder / "definitions.bin").open("wb") as file:
        file.writelines(tool.encoded for tool in tools)


def _embed(
    tools: Sequence[ToolDefinition], embedder: Embedder, other: Embedder, heard: Progress
) -> tuple[Floats, Floats]:
    """(n, d) rows as the index makes them, and another encoder's of name, title and description alone."""
    parts: list[tuple[Floats, Floats]] = []
    for batch in _batches(tools):
        documents = [document_of(tool) for tool in batch]
        second = other.embed_documents([short_text(document) for document in documents])
        parts.append((embed_tools(embedder, documents), second))
        heard("encoding tools", sum(len(one) for one, _ in parts), len(tools))
    own, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    return own, second


def _widened(own: Floats, second: Floats) -> Floats:
    """(n, d + 128) unit rows."""
    square = np.random.default_rng(SEED).standard_normal((second.shape[1], second.shape[1]))
    rotation = np.linalg.qr(square)[0][:, :_SECOND_VIEW].astype(np.float32)
    return unit(np.concatenate((own, unit(second @ rotation)), axis=1))


def unit(rows: Floats) -> Floats:
    """Rows of unit norm; a zero row stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def _batches(tools: Sequence[ToolDefinition]) -> Iterator[Sequence[ToolDefinition]]:
    for start in range(0, len(tools), _BATCH):
        yield tools[start : start + _BATCH]
