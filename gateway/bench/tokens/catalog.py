"""The catalog under test: its tools as a model sees them, what each costs, and the product's own index over them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, cast

import anyio.to_thread
import numpy as np
import numpy.typing as npt

from gateway.bench.progress import Progress, hear_nothing
from gateway.bench.tokens.meter import RequestMeter
from gateway.chat.prompt import ToolSpec
from gateway.tools.client_tool import ClientToolFactory
from indexer import (
    Embedder,
    MemoryToolStore,
    RejectedTool,
    SearchScope,
    ToolDefinition,
    ToolDocument,
    ToolIndex,
    ToolKey,
    document_of,
    model_alias,
    open_memory_index,
)

Rows: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]

_PAGE: Final = 512


@dataclass(frozen=True, eq=False)
class BenchCatalog:
    """Tools by row. Arrays are (n,) or (n, d), one entry a tool."""

    tools: tuple[ToolDefinition, ...]
    specs: tuple[ToolSpec, ...]
    """As the gateway shows them."""
    tokens: npt.NDArray[np.int64]
    """What each adds to a list of tools."""
    vectors: Floats
    """The index's own, unit rows."""
    index: ToolIndex
    meter: RequestMeter
    embedder: Embedder
    refused: tuple[RejectedTool, ...] = ()
    """What could not be used, and why: broken entries, second definitions of a name, schemas in quarantine."""
    unlisted_refused: int = 0
    """How many more than those."""
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """By NAMESPACE/NAME."""

    @cached_property
    def documents(self) -> list[ToolDocument]:
        """The fields of text of every tool, for baselines that index text."""
        return [document_of(tool) for tool in self.tools]

    @cached_property
    def keys(self) -> tuple[ToolKey, ...]:
        return tuple(tool.key for tool in self.tools)

    @cached_property
    def row_of_alias(self) -> dict[str, int]:
        return {spec.name: row for row, spec in enumerate(self.specs)}

    @cached_property
    def texts(self) -> dict[int, str]:
        """Definitions as JSON text, made when they are first asked for."""
        return {}

    def definition_text(self, row: int) -> str:
        """A tool as compact JSON: how a search that returns whole definitions writes it."""
        text = self.texts.get(row)
        if text is None:
            spec = self.specs[row]
            body = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
            text = self.texts[row] = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict)
        return text


class CatalogView:
    """The first `size` tools of an order: what one conversation is run over."""

    def __init__(self, catalog: BenchCatalog, rows: Rows) -> None:
        self.catalog = catalog
        self.rows: Rows = np.sort(rows)
        """Ascending."""

    @property
    def size(self) -> int:
        return len(self.rows)

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(n,) over the whole catalog."""
        mask = np.zeros(len(self.catalog.tools), dtype=np.bool_)
        mask[self.rows] = True
        return mask

    @cached_property
    def scope(self) -> SearchScope:
        """The view as the product has it: an allow-list inside the one index.

        That finds what an index of these tools alone would: of the 215 needs in benchmarks/conversations, 206 of both
        among 30 tools, and 178 beside 180 among 300 (k = 5; 30 Nov 2026).
        """
        if self.size == len(self.catalog.tools):
            return SearchScope()
        return SearchScope(tools=frozenset(map(self.catalog.keys.__getitem__, self._numbers())))

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All tools of the view, in one order that never changes."""
        return tuple(map(self.catalog.specs.__getitem__, self._numbers()))

    def _numbers(self) -> list[int]:
        return cast("list[int]", self.rows.tolist())

    @cached_property
    def tool_tokens(self) -> int:
        """What all its tools cost in one prompt."""
        return int(self.catalog.tokens[self.rows].sum()) + (self.catalog.meter.list_tokens if self.size else 0)


async def build_catalog(
    entries: Iterable[ToolDefinition | RejectedTool],
    embedder: Embedder,
    meter: RequestMeter,
    progress: Progress | None = None,
) -> BenchCatalog:
    """Read the entries to their end, index them, and count every tool.

    Of several definitions of one tool the first is kept. Raises: SourceError, EmbeddingError.
    """
    heard = progress or hear_nothing
    read, refused = await anyio.to_thread.run_sync(_distinct, entries, heard)
    store = MemoryToolStore(embedder.dimensions)
    index = await open_memory_index(embedder, store)
    report = await index.register(read, progress=lambda done: heard("indexing", done, len(read)))
    vectors = {tool.definition.key: tool.vector for batch in store.scan() for tool in batch}
    tools = tuple(tool for tool in read if vectors.get(tool.key) is not None)
    rows = [vectors[tool.key] for tool in tools]
    stacked = np.stack([row for row in rows if row is not None]) if rows else np.zeros((0, embedder.dimensions))
    factory = ClientToolFactory()
    specs = tuple(factory.callback_for(tool, model_alias(tool.key)).spec for tool in tools)
    tokens = await anyio.to_thread.run_sync(_count, specs, meter, heard)
    return BenchCatalog(
        tools=tools,
        specs=specs,
        tokens=tokens,
        vectors=stacked.astype(np.float32),
        index=index,
        meter=meter,
        embedder=embedder,
        refused=(*refused, *report.refused, *report.quarantined),
        unlisted_refused=report.unlisted_refused + report.unlisted_quarantined,
        rows={f"{tool.namespace}/{tool.name}": row for row, tool in enumerate(tools)},
    )


def _distinct(
    entries: Iterable[ToolDefinition | RejectedTool], heard: Progress
) -> tuple[list[ToolDefinition], list[RejectedTool]]:
    kept: dict[ToolKey, ToolDefinition] = {}
    refused: list[RejectedTool] = []
    for entry in entries:
        if isinstance(entry, RejectedTool):
            refused.append(entry)
        elif entry.key in kept:
            refused.append(
                RejectedTool(
                    place=str(entry.key),
                    tool=entry.name,
                    field="name",
                    reason="the same namespace and name as an earlier tool",
                    fix="Rename one of the two, or give it a namespace of its own.",
                )
            )
        else:
            kept[entry.key] = entry
            if len(kept) % _PAGE == 0:
                heard("reading", len(kept), 0)
    return list(kept.values()), refused


def _count(specs: Sequence[ToolSpec], meter: RequestMeter, heard: Progress) -> npt.NDArray[np.int64]:
    tokens = np.zeros(len(specs), dtype=np.int64)
    for row, spec in enumerate(specs):
        tokens[row] = meter.tool_tokens(spec)
        if (row + 1) % _PAGE == 0:
            heard("counting", row + 1, len(specs))
            meter.forget_conversation()
    meter.forget_conversation()
    return tokens
