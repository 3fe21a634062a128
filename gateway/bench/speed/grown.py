"""Real data grown to a hundred thousand and a million rows.

Row r of a grown catalog stands for real tool a (each real tool once in every generation of as many rows as there are
tools, in a shuffled order). Its vector is a's, plus the difference of two near neighbours b and c drawn from elsewhere,
plus noise of norm 0.1, made unit again: it lies among real tools as they lie among each other. Its text is a's, with a
word of b in its name, the second half of b's description in place of a's own, and a namespace of its generation.
Everything follows from one seed: a larger catalog begins with the smaller one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from gateway.bench.progress import Progress
from gateway.bench.speed.data import SEED, BenchData, Floats, unit
from indexer import ToolDefinition, ToolDocument, document_of

Rows = npt.NDArray[np.int64]

QUERIES: Final = 64
DEPTH: Final = 10
_ANCHORS: Final = 1024
_NEIGHBOURS: Final = 8
_NOISE: Final = 0.1
_QUERY_NOISE: Final = 0.5
_TRUTH_BLOCK: Final = 8192
_MAX_NAME: Final = 100
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Of which real tools a generation of grown ones is made; arrays are (tools,)."""

    base: Rows
    anchor: Rows
    neighbour: Rows


class Grower:
    """Makes grown rows and tools out of real ones."""

    def __init__(self, data: BenchData) -> None:
        self._data = data
        self._recipe = cache(self._make_recipe)

    def tool(self, row: int) -> ToolDefinition:
        """The tool in a row, real or grown."""
        generation, place = divmod(row, self._data.tools)
        if not generation:
            return self._data.tool(row)
        recipe = self._recipe(generation)
        return _grown_tool(
            self._data.tool(int(recipe.base[place])), self._data.tool(int(recipe.anchor[place])), generation
        )

    def tools(self, rows: int) -> Iterator[ToolDefinition]:
        """The first so many."""
        return map(self.tool, range(rows))

    def documents(self, rows: int) -> Iterator[ToolDocument]:
        """The texts of the first so many: as `document_of` reads their tools, but each real schema is read once."""
        plain: list[ToolDefinition] = []
        read: list[ToolDocument] = []
        for tool in self.tools(min(rows, self._data.tools)):
            read.append(document_of(tool))
            plain.append(replace(tool, input_schema={}))
            yield read[-1]
        for row in range(self._data.tools, rows):
            generation, place = divmod(row, self._data.tools)
            recipe = self._recipe(generation)
            base, other = int(recipe.base[place]), int(recipe.anchor[place])
            yield replace(
                document_of(_grown_tool(plain[base], plain[other], generation)),
                parameter_names=read[base].parameter_names,
                parameter_descriptions=read[base].parameter_descriptions,
            )

    def blocks(self, dimensions: int, rows: int) -> Iterator[Floats]:
        """The vectors of the first so many rows, a generation at a time, of unit norm."""
        real = np.asarray(self._data.vectors(dimensions))
        for generation, start in enumerate(range(0, rows, len(real))):
            count = min(len(real), rows - start)
            yield real[:count] if not generation else self._grown(real, generation)[:count]

    def _grown(self, real: Floats, generation: int) -> Floats:
        recipe = self._recipe(generation)
        noise = np.random.default_rng((SEED, generation, real.shape[1])).standard_normal(real.shape, dtype=np.float32)
        noise *= np.float32(_NOISE / np.sqrt(real.shape[1]))
        return unit(real[recipe.base] + real[recipe.anchor] - real[recipe.neighbour] + noise)

    def _make_recipe(self, generation: int) -> Recipe:
        count = self._data.tools
        random = np.random.default_rng((SEED, generation))
        anchors, neighbours = self._near
        drawn = random.integers(len(anchors), size=count)
        column = random.integers(neighbours.shape[1], size=count)
        return Recipe(random.permutation(count), anchors[drawn], neighbours[drawn, column])

    @property
    def _near(self) -> tuple[Rows, Rows]:
        """Some rows, and the nearest neighbours of each by the tools' own vectors; kept in a file."""
        file = self._data.folder / "neighbours.npz"
        if not file.exists():
            vectors = np.asarray(self._data.vectors(min(_widths(self._data))))
            count = min(_ANCHORS, len(vectors))
            anchors = np.sort(np.random.default_rng(SEED).choice(len(vectors), size=count, replace=False))
            scores = vectors[anchors] @ vectors.T
            scores[np.arange(len(anchors)), anchors] = -2.0
            kept = min(_NEIGHBOURS, len(vectors) - 1)
            nearest = np.argpartition(-scores, kept - 1, axis=1)[:, :kept]
            np.savez(file, anchors=anchors, nearest=nearest)
        with np.load(file) as arrays:
            return arrays["anchors"], arrays["nearest"]


def _grown_tool(base: ToolDefinition, other: ToolDefinition, generation: int) -> ToolDefinition:
    return replace(
        base,
        name=f"{base.name}{_last_word(other.name)}"[:_MAX_NAME],
        namespace=f"{base.namespace}.x{generation}",
        description=_half(base.description, 0) + " " + _half(other.description, 1),
    )


def _widths(data: BenchData) -> list[int]:
    return [int(file.stem.removeprefix("vectors-")) for file in data.folder.glob("vectors-*.npy")]


def _last_word(name: str) -> str:
    words = _WORD.findall(name)
    return words[-1].capitalize() if words else ""


def _half(text: str, which: int) -> str:
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[middle:] if which else words[:middle])


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseFiles:
    """Where the rows of one race lie: vectors of at least `rows` rows, queries and what they must find."""

    rows: int
    dimensions: int
    vectors: Path
    """(>= rows, dimensions) float32."""
    queries: Path
    """(64, dimensions) float32: half of them requests, half rows with noise of norm 0.5, made unit again."""
    truth: Path
    """(64, 10) int64: the nearest rows, by float64 products over all of them."""


def dense_files(data: BenchData, dimensions: int, rows: int, heard: Progress) -> DenseFiles:
    """The files of one size, made where they are missing."""
    vectors = _grown_file(data, dimensions, rows, heard)
    files = DenseFiles(
        rows=rows,
        dimensions=dimensions,
        vectors=vectors,
        queries=data.folder / f"queries-{dimensions}-{rows}.npy",
        truth=data.folder / f"truth-{dimensions}-{rows}.npy",
    )
    if not files.truth.exists():
        heard(f"exact answers, {rows:,} x {dimensions}", 0, 1)
        matrix = np.load(vectors, mmap_mode="r")[:rows]
        queries = make_queries(matrix, data.asked(dimensions))
        np.save(files.queries, queries)
        np.save(files.truth, exact_top(matrix, queries))
        heard(f"exact answers, {rows:,} x {dimensions}", 1, 1)
    return files


def make_queries(matrix: Floats, asked: Floats) -> Floats:
    """(64, d) unit queries: requests, which lie farther from any tool than tools from each other, and near rows."""
    random = np.random.default_rng((SEED, *matrix.shape))
    requests = asked[random.choice(len(asked), size=min(QUERIES // 2, len(asked)), replace=False)]
    count = min(QUERIES - len(requests), len(matrix))
    chosen = matrix[np.sort(random.choice(len(matrix), size=count, replace=False))]
    noise = random.standard_normal(chosen.shape, dtype=np.float32)
    noise *= np.float32(_QUERY_NOISE / np.sqrt(matrix.shape[1]))
    return np.concatenate((requests, unit(chosen + noise)))


def exact_top(matrix: Floats, queries: Floats, rows: Rows | None = None, k: int = DEPTH) -> Rows:
    """(queries, k) nearest rows, best first, by float64 products; among `rows` (sorted) where they are given."""
    of = np.arange(len(matrix), dtype=np.int64) if rows is None else rows
    wanted = queries.astype(np.float64).T
    best_rows = np.empty((len(queries), 0), dtype=np.int64)
    best_scores = np.empty((len(queries), 0), dtype=np.float64)
    for start in range(0, len(of), _TRUTH_BLOCK):
        block = of[start : start + _TRUTH_BLOCK]
        scores = (matrix[block].astype(np.float64) @ wanted).T
        best_scores = np.concatenate((best_scores, scores), axis=1)
        best_rows = np.concatenate((best_rows, np.broadcast_to(block, scores.shape)), axis=1)
        order = np.argsort(-best_scores, axis=1, kind="stable")[:, :k]
        best_scores = np.take_along_axis(best_scores, order, axis=1)
        best_rows = np.take_along_axis(best_rows, order, axis=1)
    return best_rows


def _grown_file(data: BenchData, dimensions: int, rows: int, heard: Progress) -> Path:
    """A file of at least so many rows: they begin alike."""
    for file in sorted(data.folder.glob(f"grown-{dimensions}-*.npy")):
        if int(file.stem.rsplit("-", 1)[1]) >= rows:
            return file
    target = data.folder / f"grown-{dimensions}-{rows}.npy"
    draft = target.with_suffix(".new")
    memory = np.lib.format.open_memmap(draft, mode="w+", dtype=np.float32, shape=(rows, dimensions))
    done = 0
    for block in Grower(data).blocks(dimensions, rows):
        memory[done : done + len(block)] = block
        done += len(block)
        heard(f"growing to {rows:,} x {dimensions}", done, rows)
    memory.flush()
    draft.rename(target)
    return target
