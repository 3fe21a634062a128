"""`python -m indexer.training.check_pairs` reports on the rules that the written training pairs obey."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from indexer.embedders.factory import make_embedder
from indexer.errors import EmbeddingError
from indexer.training.catalog_lookup import CATALOGS, Catalog
from indexer.training.pair_rules import (
    MIN_DISTINCT_OPENINGS,
    counts,
    distinct_openings,
    duplicates,
    echoes,
    leaks,
    read_test_queries,
    twins,
)
from indexer.training.written_pairs import LANGUAGES, STYLES, Pair, load_pairs, load_unanswerable

_BROKEN: Final = "BROKEN:"


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
