"""The rules that the written training pairs obey: none twice, no template, no echo of a tool, none of a test set."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from indexer.embedders.base import Embedder
from indexer.training.catalog_lookup import Catalog, ToolText
from indexer.training.written_pairs import Pair, read_jsonl

MAX_SHARED_WORDS: Final = 0.5
"""Largest share of a query's distinct words that may stand in its tool's name and summary (not for keywords)."""
MIN_DISTINCT_OPENINGS: Final = 0.6
GRAM_LENGTH: Final = 13
MAX_GRAM_COVER: Final = 0.4
"""Share of a query's character 13-grams that may stand in one test query: stock phrases stay, paraphrases go."""
MAX_COSINE: Final = 0.95
"""Largest cosine of the default encoder between a query and a test query."""

_WORD: Final = re.compile(r"[^\W_]+")
_TWIN_ROWS: Final = 1_000  # 1,000 x 34,000 float32 cosines at a time: 136 MB
_UNSPACED: Final = frozenset({"ja", "zh"})


def normalise(text: str) -> str:
    """NFKC, lower case, letters and digits only, single spaces: equal for texts that a reader calls the same."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def opening(query: str, lang: str) -> str:
    """The first four words, or the first eight characters of a language that writes no spaces."""
    if lang in _UNSPACED:
        return "".join(normalise(query).split())[:8]
    return " ".join(normalise(query).split()[:4])


def shared_words(query: str, tool: ToolText) -> float:
    """Share (0 to 1) of the query's distinct words that the tool's name or summary holds; plural s is ignored."""
    asked = {_singular(word) for word in normalise(query).split()}
    told = {_singular(word) for word in normalise(f"{tool.name} {tool.summary}").split()}
    return len(asked & told) / len(asked) if asked else 0.0


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def character_grams(text: str, length: int = GRAM_LENGTH) -> set[str]:
    """Every run of `length` characters of the normalised text; empty for a shorter text."""
    plain = normalise(text)
    return {plain[start : start + length] for start in range(len(plain) - length + 1)}


def counts(pairs: Iterable[Pair]) -> Counter[tuple[str, str]]:
    """Number of pairs per (language, style)."""
    return Counter((pair.lang, pair.style) for pair in pairs)


def duplicates(queries: Iterable[str]) -> list[str]:
    """Queries whose normalised text was seen before."""
    seen: set[str] = set()
    repeated: list[str] = []
    for query in queries:
        plain = normalise(query)
        if plain in seen:
            repeated.append(query)
        seen.add(plain)
    return repeated


def distinct_openings(pairs: Iterable[Pair]) -> dict[tuple[str, str], float]:
    """Share (0 to 1) of distinct openings per (language, style): low where a template was used."""
    openings: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for pair in pairs:
        openings[pair.lang, pair.style].append(opening(pair.query, pair.lang))
    return {group: len(set(texts)) / len(texts) for group, texts in openings.items()}


def echoes(pairs: Iterable[Pair], catalog: Catalog) -> list[tuple[Pair, str, float]]:
    """Pairs (not keywords) that repeat more than half their words from a tool they name: (pair, tool id, share)."""
    found: list[tuple[Pair, str, float]] = []
    for pair in pairs:
        for tool_id in pair.tools if pair.style != "keywords" else ():
            tool = catalog.find(tool_id)
            share = shared_words(pair.query, tool) if tool else 0.0
            if share > MAX_SHARED_WORDS:
                found.append((pair, tool_id, share))
    return found


def read_test_queries(data_folder: Path) -> dict[str, str]:
    """Texts of all `<set>/queries.jsonl` and `<set>/negatives.jsonl` under the folder, by `<set>/<id or number>`."""
    texts: dict[str, str] = {}
    for name in ("queries.jsonl", "negatives.jsonl"):
        for path in sorted(data_folder.glob(f"*/{name}")):
            for number, record in enumerate(read_jsonl(path)):
                text = record.get("text") or record.get("query")
                if text:
                    texts[f"{path.parent.name}/{record.get('id', number)}"] = str(text)
    return texts


def leaks(queries: Sequence[str], test_queries: Mapping[str, str]) -> list[tuple[str, str]]:
    """(query, test query id) where the two are equal, or one test query covers too many of the query's 13-grams."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    by_gram: defaultdict[str, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for number, query in enumerate(queries):
        grams = character_grams(query)
        sizes.append(len(grams))
        by_text[normalise(query)].append(number)
        for gram in grams:
            by_gram[gram].append(number)
    found: list[tuple[str, str]] = []
    for test_id, text in test_queries.items():
        shared = Counter(number for gram in character_grams(text) for number in by_gram.get(gram, ()))
        covered = {number for number, count in shared.items() if count > MAX_GRAM_COVER * sizes[number]}
        found += [(queries[number], test_id) for number in covered.union(by_text.get(normalise(text), ()))]
    return found


def twins(queries: Sequence[str], test_queries: Mapping[str, str], embedder: Embedder) -> list[tuple[str, str]]:
    """(query, test query id) where the encoder finds the two nearly equal: the same words in another order, say."""
    if not queries or not test_queries:
        return []
    ours = embedder.embed_queries(queries)
    theirs = embedder.embed_queries(list(test_queries.values()))
    test_ids = list(test_queries)
    found: list[tuple[str, str]] = []
    for start in range(0, len(queries), _TWIN_ROWS):
        cosines = ours[start : start + _TWIN_ROWS] @ theirs.T
        rows, columns = np.nonzero(cosines > MAX_COSINE)
        found += [(queries[start + row], test_ids[column]) for row, column in zip(rows, columns, strict=True)]
    return found
