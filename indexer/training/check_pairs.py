"""The rules that the written training pairs obey; `python -m indexer.training.check_pairs` reports on them."""

import json
import os
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.errors import EmbeddingError
from indexer.training.catalog_lookup import CATALOGS, Catalog, ToolText

PAIRS_FOLDER: Final = Path(__file__).parent / "pairs"
LANGUAGES: Final = ("en", "ko", "ja", "zh", "es", "de", "fr", "ar")
STYLES: Final = ("keywords", "plain", "goal", "long", "typo")
MAX_SHARED_WORDS: Final = 0.5
"""Largest share of a query's distinct words that may stand in its tool's name and summary (not for keywords)."""
MIN_DISTINCT_OPENINGS: Final = 0.6
GRAM_LENGTH: Final = 13
MAX_GRAM_COVER: Final = 0.4
"""Share of a query's character 13-grams that may stand in one test query: stock phrases stay, paraphrases go."""
MAX_COSINE: Final = 0.95
"""Largest cosine of the default encoder between a query and a test query."""
UNANSWERABLE_FILE: Final = "unanswerable.jsonl"

_BROKEN: Final = "BROKEN:"
_WORD: Final = re.compile(r"[^\W_]+")
_TWIN_ROWS: Final = 1_000  # 1,000 x 34,000 float32 cosines at a time: 136 MB
_UNSPACED: Final = frozenset({"ja", "zh"})


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
        for record in _read_jsonl(folder / f"{lang}.jsonl")
    ]


def load_unanswerable(folder: Path = PAIRS_FOLDER) -> list[tuple[str, str]]:
    """Read the requests that no catalog serves, as (query, language)."""
    return [(record["query"], record["lang"]) for record in _read_jsonl(folder / UNANSWERABLE_FILE)]


def _read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


# --- Text


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


# --- Rules over the whole corpus


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


def echoes(pairs: Iterable[Pair], catalog: "Catalog") -> list[tuple[Pair, str, float]]:
    """Pairs (not keywords) that repeat more than half their words from a tool they name: (pair, tool id, share)."""
    found: list[tuple[Pair, str, float]] = []
    for pair in pairs:
        for tool_id in pair.tools if pair.style != "keywords" else ():
            tool = catalog.find(tool_id)
            share = shared_words(pair.query, tool) if tool else 0.0
            if share > MAX_SHARED_WORDS:
                found.append((pair, tool_id, share))
    return found


# --- Test sets: nothing of theirs may be trained on


def read_test_queries(data_folder: Path) -> dict[str, str]:
    """Texts of all `<set>/queries.jsonl` and `<set>/negatives.jsonl` under the folder, by `<set>/<id or number>`."""
    texts: dict[str, str] = {}
    for name in ("queries.jsonl", "negatives.jsonl"):
        for path in sorted(data_folder.glob(f"*/{name}")):
            for number, record in enumerate(_read_jsonl(path)):
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


# --- The report


def report(pairs: Sequence[Pair], unanswerable: Sequence[tuple[str, str]], catalog: Catalog) -> tuple[list[str], int]:
    """Lines to read and the number of broken rules; says which checks this machine could not make."""
    queries = [pair.query for pair in pairs] + [query for query, _ in unanswerable]
    lines = _counts_table(pairs, unanswerable)
    for part in (_text_lines(pairs, queries), _catalog_lines(pairs, catalog), _test_set_lines(queries)):
        lines += part
    return lines, sum(line.startswith(_BROKEN) for line in lines)


def _text_lines(pairs: Sequence[Pair], queries: Sequence[str]) -> list[str]:
    low = [
        f"{_BROKEN} {lang} {style}: only {share:.0%} of the openings are distinct"
        for (lang, style), share in sorted(distinct_openings(pairs).items())
        if share < MIN_DISTINCT_OPENINGS
    ]
    lowest = min(distinct_openings(pairs).items(), key=lambda item: item[1], default=(("-", "-"), 0.0))
    return [
        *low,
        *(f"{_BROKEN} written twice: {query}" for query in duplicates(queries)),
        f"least varied openings: {' '.join(lowest[0])}, {lowest[1]:.0%} distinct",
    ]


def _catalog_lines(pairs: Sequence[Pair], catalog: Catalog) -> list[str]:
    named = {tool_id for pair in pairs for tool_id in pair.tools}
    lines = [f"distinct tools named: {len(named):,}"]
    absent = sorted(set(CATALOGS) - catalog.kinds)
    if absent:
        lines.append(f"not checked, catalogs not on this machine: {', '.join(absent)} (see Catalog)")
    lines += [
        f"{_BROKEN} no such tool in its catalog: {tool_id}"
        for tool_id in sorted(named)
        if catalog.covers(tool_id) and catalog.find(tool_id) is None
    ]
    return lines + [
        f"{_BROKEN} {share:.0%} of its words are those of {tool_id}: {pair.query}"
        for pair, tool_id, share in echoes(pairs, catalog)
    ]


def _test_set_lines(queries: Sequence[str]) -> list[str]:
    data = os.environ.get("TOOLSCOUT_DATA")
    if not data:
        return ["not checked, TOOLSCOUT_DATA is not set: likeness to test queries"]
    test_queries = read_test_queries(Path(data))
    lines = [f"test queries compared: {len(test_queries):,}"]
    found = leaks(queries, test_queries)
    try:
        found += twins(queries, test_queries, make_embedder("static"))
    except EmbeddingError as error:
        lines.append(f"not checked, cosine to test queries: {error}")
    return lines + [f"{_BROKEN} too like the test query {test_id}: {query}" for query, test_id in found]


def _counts_table(pairs: Sequence[Pair], unanswerable: Sequence[tuple[str, str]]) -> list[str]:
    number = counts(pairs)
    nothing = Counter(lang for _, lang in unanswerable)
    lines = ["lang  " + "".join(f"{style:>10}" for style in (*STYLES, "all", "unserved"))]
    for lang in LANGUAGES:
        row = [number[lang, style] for style in STYLES]
        lines.append(f"{lang:<6}" + "".join(f"{value:>10,}" for value in (*row, sum(row), nothing[lang])))
    row = [sum(number[lang, style] for lang in LANGUAGES) for style in STYLES]
    return [*lines, "all   " + "".join(f"{value:>10,}" for value in (*row, sum(row), len(unanswerable)))]


def main() -> int:
    """Print the report; 1 where a rule is broken."""
    lines, broken = report(load_pairs(), load_unanswerable(), Catalog())
    sys.stdout.write("\n".join([*lines, f"{broken} broken rules"]) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
