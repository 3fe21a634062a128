"""The written training pairs, as they stand in `pairs/`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PAIRS_FOLDER: Final = Path(__file__).parent / "pairs"
LANGUAGES: Final = ("en", "ko", "ja", "zh", "es", "de", "fr", "ar")
STYLES: Final = ("keywords", "plain", "goal", "long", "typo")
UNANSWERABLE_FILE: Final = "unanswerable.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One written request and the tools that serve it, as `<catalog>:<namespace part>/<tool name>`."""

    query: str
    tools: tuple[str, ...]
    lang: str
    style: str


def load_pairs(folder: Path = PAIRS_FOLDER) -> list[Pair]:
    """Read every `<lang>.jsonl` of the folder, in the order of the files."""
    return [
        Pair(query=record["query"], tools=tuple(record["tools"]), lang=record["lang"], style=record["style"])
        for lang in LANGUAGES
        if (folder / f"{lang}.jsonl").exists()
        for record in read_jsonl(folder / f"{lang}.jsonl")
    ]


def load_unanswerable(folder: Path = PAIRS_FOLDER) -> list[tuple[str, str]]:
    """Read the requests that no catalog serves, as (query, language)."""
    return [(record["query"], record["lang"]) for record in read_jsonl(folder / UNANSWERABLE_FILE)]


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
