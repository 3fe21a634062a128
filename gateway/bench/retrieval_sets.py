"""Retrieval test sets in their canonical form: a folder of `tools.jsonl`, `queries.jsonl` and `qrels.tsv`.

Optional beside them: `groups.json` (interchangeable tools, any one of which meets a need) and `negatives.jsonl`
(requests that no tool can serve).
"""

import json
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from indexer import DEFAULT_NAMESPACE, ToolDefinition

Split = Literal["all", "dev", "test"]

MAX_QUERIES: Final = 2_000
SAMPLE_SEED: Final = 20_261_130
_FILES: Final = ("tools.jsonl", "queries.jsonl", "qrels.tsv")


class RetrievalSetError(ValueError):
    """A folder that is not a test set; names the file and the line."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and what it needs: of each need, the tools (positions in the set) that meet it."""

    id: str
    text: str
    needs: tuple[frozenset[int], ...]

    @property
    def relevant(self) -> frozenset[int]:
        """All tools that meet any need."""
        return frozenset(tool for need in self.needs for tool in need)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSet:
    """A catalog and the queries judged over it."""

    name: str
    tools: tuple[ToolDefinition, ...]
    queries: tuple[JudgedQuery, ...]
    negatives: tuple[str, ...] = ()


def find_sets(folder: Path) -> tuple[Path, ...]:
    """The test sets under a folder, by name; the folder itself if it is one. Raises: RetrievalSetError."""
    candidates = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())] if folder.is_dir() else []
    found = tuple(path for path in candidates if all((path / name).is_file() for name in _FILES))
    if not found:
        raise RetrievalSetError(
            f"{folder}: no test set here. Each is a folder that holds {', '.join(_FILES[:-1])} and {_FILES[-1]}."
        )
    return found


def half_of(query_id: str) -> Literal["dev", "test"]:
    """The fixed half of a query: weights are chosen on `dev`, figures reported on `test`."""
    return "dev" if zlib.crc32(query_id.encode()) % 2 == 0 else "test"


def load_set(folder: Path, split: Split = "all", *, max_queries: int = MAX_QUERIES) -> RetrievalSet:
    """Read one set; more queries than `max_queries` are sampled with a fixed seed. Raises: RetrievalSetError."""
    places: dict[str, int] = {}
    tools: list[ToolDefinition] = []
    for record in _records(folder / "tools.jsonl"):
        places[str(record["id"])] = len(tools)
        tools.append(_definition(record))
    needs = _needs(folder, places)
    queries = [
        JudgedQuery(identifier, record["text"], tuple(needs[identifier]))
        for record in _records(folder / "queries.jsonl")
        if (identifier := str(record["id"])) in needs and split in ("all", half_of(identifier))
    ]
    if len(queries) > max_queries:
        chosen = sorted(random.Random(SAMPLE_SEED).sample(range(len(queries)), max_queries))
        queries = [queries[place] for place in chosen]
    negatives = folder / "negatives.jsonl"
    return RetrievalSet(
        name=folder.name,
        tools=tuple(tools),
        queries=tuple(queries),
        negatives=tuple(record["text"] for record in _records(negatives)) if negatives.is_file() else (),
    )


def _definition(record: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        name=record["name"],
        namespace=record.get("namespace") or DEFAULT_NAMESPACE,
        description=record.get("description") or "",
        input_schema=record.get("input_schema") or {},
    )


def _needs(folder: Path, places: dict[str, int]) -> dict[str, list[frozenset[int]]]:
    """Of each query its needs: one for each group of interchangeable tools, one for each relevant tool in none."""
    relevant: defaultdict[str, list[str]] = defaultdict(list)
    path = folder / "qrels.tsv"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            query, tool, gain = line.split("\t")
            if float(gain) > 0:
                relevant[query].append(tool)
        except ValueError as error:
            raise RetrievalSetError(f"{path}, line {number}: expected query, tool and gain, parted by tabs") from error
    groups_path = folder / "groups.json"
    groups: dict[str, list[list[str]]] = {}
    if groups_path.is_file():
        groups = json.loads(groups_path.read_text(encoding="utf-8"))
    needs: dict[str, list[frozenset[int]]] = {}
    for query, tools in relevant.items():
        query_groups = groups.get(query, [])
        grouped = {tool for group in query_groups for tool in group}
        single = [[tool] for tool in dict.fromkeys(tools) if tool not in grouped]
        try:
            needs[query] = [frozenset(places[tool] for tool in group) for group in (*query_groups, *single)]
        except KeyError as unknown:
            raise RetrievalSetError(f"{path}: query {query!r} names tool {unknown}, not in tools.jsonl") from unknown
    return needs


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record: object = json.loads(line)
            except json.JSONDecodeError as error:
                raise RetrievalSetError(f"{path}, line {number}: not JSON: {error.msg}") from error
            required = ("id", "name") if path.name == "tools.jsonl" else ("text",)
            if not isinstance(record, dict) or any(name not in record for name in required):
                raise RetrievalSetError(f"{path}, line {number}: expected an object with {' and '.join(required)}")
            yield record
