"""The judged sets of this repository are whole, and nothing that is trained on is like them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.sets.operations import SETS, named_operations
from indexer.training import pair_rules, written_pairs
from indexer.training.written_pairs import Pair

FOLDER = Path(__file__).parents[2] / "benchmarks" / "sets"


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return written_pairs.load_pairs()


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_every_query_has_one_judgement_among_the_operations_of_its_set(folder: Path) -> None:
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    judged = [line.split("\t") for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()]
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))

    assert [query["id"] for query in queries] == [query_id for query_id, _, _ in judged]
    assert {tool for _, tool, _ in judged} <= named_operations(folder)
    assert (meta["queries"], meta["tools"]) == (len(queries), len(named_operations(folder)))
    assert Counter(query["lang"] for query in queries) == {meta["languages"]["queries"]: len(queries)}
    assert pair_rules.duplicates([query["text"] for query in queries]) == []


def test_no_training_pair_is_like_a_query_of_our_own_sets(pairs: list[Pair]) -> None:
    queries = [pair.query for pair in pairs] + [query for query, _ in written_pairs.load_unanswerable()]
    ours = pair_rules.read_test_queries(FOLDER)

    assert len(ours) == 513
    assert pair_rules.leaks(queries, ours) == []


def test_no_arabic_pair_names_an_operation_of_the_arabic_set(pairs: list[Pair]) -> None:
    operations = {name.replace(".", ":", 1) for name in named_operations(FOLDER / "ar-operations")}
    named = {tool for pair in pairs if pair.lang == "ar" for tool in pair.tools}

    assert [tool for tool in named if any(_same(tool, operation) for operation in operations)] == []


def _same(one: str, other: str) -> bool:
    """Whether both are one operation: some pairs leave out, or have besides, the first word of a catalog's name."""
    return one == other or other in _without_first_word(one) or one in _without_first_word(other)


def _without_first_word(operation: str) -> tuple[str, ...]:
    namespace, _, name = operation.partition("/")
    _, dot, rest = name.partition(".")
    return (f"{namespace}/{rest}",) if dot else ()
