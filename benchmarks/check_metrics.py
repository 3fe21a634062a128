"""Check the metrics of `toolscout bench quality` against `pytrec-eval-terrier`, query by query.

`python -m benchmarks.check_metrics --data FOLDER [--json FILE]`. Sets with groups of interchangeable tools are left
out: trec_eval knows no groups. Without the package it says so and ends with exit code 2.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from gateway.bench.bm25_baseline import Bm25Baseline
from gateway.bench.retrieval_metrics import DEPTH, METRICS, query_metrics
from gateway.bench.retrieval_sets import JudgedQuery, RetrievalSet, find_sets, load_set

Evaluator = Callable[..., Any]
"""`pytrec_eval.RelevanceEvaluator`, which has no types."""

PACKAGE: Final = "pytrec-eval-terrier"
_MEASURES: Final = {
    "ndcg@10": "ndcg_cut_10", "recall@1": "recall_1", "recall@5": "recall_5", "recall@10": "recall_10",
    "mrr": "recip_rank", "hit@1": "success_1",
}  # fmt: skip
_ALLOWED: Final = 1e-9


def check(judged: RetrievalSet, evaluator: Evaluator) -> dict[str, Any]:
    """Both sides' means of one set, and the largest difference on a query, over the ranking of BM25 on fields."""
    baseline = Bm25Baseline(judged.tools, "fields")
    rankings = [baseline.rank(query.text, DEPTH) for query in judged.queries]
    theirs = _trec_values(judged.queries, rankings, evaluator)
    ours: list[dict[str, float]] = [
        dict(zip(METRICS, query_metrics(ranked, query.needs), strict=True))
        for query, ranked in zip(judged.queries, rankings, strict=True)
    ]
    measures: dict[str, Any] = {}
    for name, measure in _MEASURES.items():
        differences = [abs(mine[name] - other[measure]) for mine, other in zip(ours, theirs, strict=True)]
        measures[name] = {
            "ours": sum(mine[name] for mine in ours) / len(ours),
            "trec_eval": sum(other[measure] for other in theirs) / len(theirs),
            "largest_difference": max(differences),
        }
    agree = all(one["largest_difference"] <= _ALLOWED for one in measures.values())
    return {"set": judged.name, "queries": len(judged.queries), "agree": agree, "measures": measures}


def _trec_values(
    queries: Sequence[JudgedQuery], rankings: Sequence[Sequence[int]], evaluator: Evaluator
) -> list[dict[str, float]]:
    qrels = {str(place): {str(tool): 1 for tool in query.relevant} for place, query in enumerate(queries)}
    # An empty ranking is left out of a run by trec_eval, so a tool that nobody judged stands for it.
    run = {
        str(place): {str(tool): float(DEPTH - rank) for rank, tool in enumerate(ranked)} or {"none": 1.0}
        for place, ranked in enumerate(rankings)
    }
    measures = {"ndcg_cut.10", "recall.1,5,10", "recip_rank", "success.1"}
    values: dict[str, dict[str, float]] = evaluator(qrels, measures).evaluate(run)
    return [values[str(place)] for place in range(len(queries))]


def main() -> int:
    """Compare, print and keep; 1 where the two disagree, 2 where the package is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of test sets")
    parser.add_argument("--json", type=Path, help="write all values to this file")
    options = parser.parse_args()
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        sys.stderr.write(f"{PACKAGE} is not installed: nothing was checked. pip install {PACKAGE}\n")
        return 2
    evaluator: Evaluator = import_module("pytrec_eval").RelevanceEvaluator
    folders = [folder for folder in find_sets(options.data) if not (folder / "groups.json").is_file()]
    sets = [check(load_set(folder), evaluator) for folder in folders]
    record = {
        "against": f"{PACKAGE} {found}",
        "ranking": "bm25-fields",
        "allowed_difference": _ALLOWED,
        "agree": all(entry["agree"] for entry in sets),
        "queries": sum(entry["queries"] for entry in sets),
        "not_checked": "completeness@10 (no such measure) and groups of interchangeable tools",
        "sets": sets,
    }
    if options.json is not None:
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    for entry in sets:
        largest = max(one["largest_difference"] for one in entry["measures"].values())
        sys.stdout.write(f"{entry['set']}: {entry['queries']} queries, largest difference {largest:.1e}\n")
    sys.stdout.write("agree\n" if record["agree"] else "DO NOT AGREE\n")
    return 0 if record["agree"] else 1


if __name__ == "__main__":
    sys.exit(main())
