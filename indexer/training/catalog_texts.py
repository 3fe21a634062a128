"""Tools of catalogs that anyone can install, as the encoder will read them, and pairs that they make by themselves."""

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from indexer.definition import ToolDefinition
from indexer.document import ToolDocument, dense_text, document_of, short_text, split_identifier
from indexer.sources.aws import AwsSource
from indexer.sources.google import GoogleSource

_OWN_SETS: Final = Path(__file__).parents[2] / "benchmarks" / "sets"
"""Test sets of this repository; those over installable catalogs name their operations in `tools.txt`."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_WORD: Final = re.compile(r"[^\W_]+")
_COMPARED_CHARACTERS: Final = 80
"""Two descriptions that agree on so many normalised characters are the same text."""
_DROPPED_WORDS: Final = 0.3
_KEYWORDS: Final = 6


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """A tool under the id that the written pairs use: `aws:ec2/RunInstances`."""

    id: str
    document: ToolDocument

    @property
    def text(self) -> str:
        """What the product embeds."""
        return dense_text(self.document)


def read_catalogs() -> Iterator[CatalogTool]:
    """Every operation of AWS and Google, as the product's own sources read them (extra `demo`)."""
    for source in (AwsSource(), GoogleSource()):
        for entry in source.entries():
            if isinstance(entry, ToolDefinition):
                kind, _, namespace = entry.namespace.partition(".")
                yield CatalogTool(f"{kind}:{namespace}/{entry.name}", document_of(entry))


def normalised(text: str) -> str:
    """Letters and digits in lower case, single spaces."""
    return " ".join(_WORD.findall(text.lower()))


def held_out_texts(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Openings of every tool description of the test sets, where TOOLSCOUT_DATA says they lie; else empty."""
    folder = environment.get("TOOLSCOUT_DATA")
    if not folder:
        return frozenset()
    openings: set[str] = set()
    for path in Path(folder).glob("*/tools.jsonl"):
        with path.open("rb") as lines:
            openings.update(_opening(orjson.loads(line).get("description") or "") for line in lines)
    return frozenset(openings - {""})


def held_out_operations(folder: Path = _OWN_SETS) -> frozenset[str]:
    """Ids of the operations that this repository's own test sets are made of."""
    lines = (line for path in folder.glob("*/tools.txt") for line in path.read_text(encoding="utf-8").split())
    return frozenset(line.replace(".", ":", 1) for line in lines)


def _opening(description: str) -> str:
    return normalised(description)[:_COMPARED_CHARACTERS]


def without_held_out(
    tools: Iterable[CatalogTool], texts: frozenset[str], operations: frozenset[str] = frozenset()
) -> Iterator[CatalogTool]:
    """Tools that no test set holds, neither by id nor by description."""
    return (tool for tool in tools if tool.id not in operations and _opening(tool.document.description) not in texts)


def self_supervised_pair(document: ToolDocument, generator: random.Random) -> tuple[str, str] | None:
    """A (query, text) pair that a tool makes by itself: one part of its text must find another.

    None for a tool whose description says too little.
    """
    first, *rest = _SENTENCE_END.split(document.description.strip(), maxsplit=1)
    words = _WORD.findall(first)
    if len(words) < 3:
        return None
    name = split_identifier(document.name)
    parameters = ", ".join(split_identifier(line) for line in document.parameter_names.split("\n")[:20])
    match generator.randrange(5):
        case 0:  # what it does must find what it is called and takes
            return first, f"{split_identifier(document.namespace)}. {name}. {parameters}"
        case 1:  # the name must find the description
            return name, document.description[:400]
        case 2:  # half-remembered words must find the whole
            kept = [word for word in words if generator.random() > _DROPPED_WORDS]
            return " ".join(kept or words), dense_text(document)
        case 3:  # search words must find name and description
            return " ".join(generator.sample(words, min(len(words), _KEYWORDS))), short_text(document)
        case _:  # the details must find the summary
            details = " ".join(rest) or document.parameter_descriptions.replace("\n", " ")
            return (details[:300] or first), f"{split_identifier(document.namespace)}. {name}. {first}"
