"""Contenders for the best tools by words. All read the query's text through our analyser, inside the time.

Settings: `index` or `tokens` (both of `artefacts.word_files`), and `requests`: [text, ...].
The formulas differ (ours weighs eight fields, the others know one), so what is compared is how often the tool that a
request needs is among the first ten.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gateway.bench.speed.artefacts import documents, load_lexical, load_token_numbers, load_tokens
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.grown import DEPTH, Grower
from gateway.bench.speed.lanes import Settings, TimedCalls
from gateway.bench.speed.machine import version_of
from gateway.bench.speed.statistics import spread
from indexer import LexicalIndex, document_of
from indexer.lexical.tokens import surfaces
from indexer.top_k import block_top_k

_CHANGES: Final = 200
_K1: Final = 1.5
_B: Final = 0.75


def own(settings: Settings) -> TimedCalls:
    """What the index does with words."""
    snapshot, requests = load_lexical(settings["index"]).snapshot(), settings["requests"]
    return TimedCalls(lambda number: block_top_k(snapshot.scores(requests[number]), DEPTH))


def bm25s(settings: Settings) -> TimedCalls:
    """bm25s with its numpy backend."""
    module: Any = import_module("bm25s")
    requests = settings["requests"]
    retriever: Any = module.BM25(backend="numpy")
    started = time.perf_counter()
    retriever.index(load_tokens(settings["tokens"]), show_progress=False)
    notes = {"version": f"bm25s {version_of('bm25s')}", "build_seconds": round(time.perf_counter() - started, 1)}

    def answer(number: int) -> Collection[int]:
        terms = [list(surfaces(requests[number]))]
        return retriever.retrieve(terms, k=DEPTH, show_progress=False, n_threads=0).documents[0]

    return TimedCalls(answer, notes)


def rank_bm25(settings: Settings) -> TimedCalls:
    """rank_bm25's BM25Okapi, its scores ranked by argpartition (its own `get_top_n` sorts all of them)."""
    module: Any = import_module("rank_bm25")
    requests = settings["requests"]
    started = time.perf_counter()
    index: Any = module.BM25Okapi(load_tokens(settings["tokens"]))
    notes = {
        "version": f"rank_bm25 {version_of('rank_bm25')}",
        "build_seconds": round(time.perf_counter() - started, 1),
    }

    def answer(number: int) -> Collection[int]:
        scores: npt.NDArray[np.float64] = index.get_scores(list(surfaces(requests[number])))
        best = np.argpartition(-scores, DEPTH)[:DEPTH]
        return best[np.argsort(-scores[best])].tolist()

    return TimedCalls(answer, notes)


def plain(settings: Settings) -> TimedCalls:
    """BM25 as numpy suggests it: what each posting adds is stored, and a query adds up the postings of its terms."""
    numbers, ends, words = load_token_numbers(settings["tokens"])
    lengths = np.diff(ends, prepend=0)
    tool = np.repeat(np.arange(len(ends)), lengths)
    # Sorted by word, then by tool; how often a pair stands there is the frequency.
    pairs, counts = np.unique(numbers.astype(np.int64) * len(ends) + tool, return_counts=True)
    word, rows = np.divmod(pairs, len(ends))
    tools_with = np.bincount(word, minlength=len(words))
    idf = np.log1p((len(ends) - tools_with + 0.5) / (tools_with + 0.5))
    norms = _K1 * (1 - _B + _B * lengths / lengths.mean())
    gains = idf[word] * counts * (_K1 + 1) / (counts + norms[rows])
    starts = np.concatenate(([0], np.cumsum(tools_with)))
    spans = {text: slice(starts[number], starts[number + 1]) for number, text in enumerate(words)}
    requests = settings["requests"]

    def answer(number: int) -> Collection[int]:
        scores = np.zeros(len(ends))
        for term in surfaces(requests[number]):
            if term in spans:
                scores[rows[spans[term]]] += gains[spans[term]]
        best = np.argpartition(-scores, DEPTH)[:DEPTH]
        return best[np.argsort(-scores[best])]

    return TimedCalls(answer, {"version": f"numpy {np.__version__}"})


def adding(settings: Settings) -> Mapping[str, Any]:
    """One more tool in an index, `changes` times.

    Milliseconds until the next snapshot shows it, and of the first search after that.
    """
    data, rows = BenchData(Path(settings["data"])), int(settings["rows"])
    index, requests, grower = load_lexical(settings["index"]), settings["requests"], Grower(data)
    index.snapshot().scores(requests[0])
    more = [document_of(grower.tool(rows + number)) for number in range(settings.get("changes", _CHANGES))]
    visible: list[float] = []
    first: list[float] = []
    for number, document in enumerate(more):
        started = time.perf_counter()
        index.add([document])
        snapshot = index.snapshot()
        shown = time.perf_counter()
        snapshot.scores(requests[number % len(requests)])
        visible.append((shown - started) * 1e3)
        first.append((time.perf_counter() - shown) * 1e3)
    return {"visible_ms": spread(visible).record(), "first_search_ms": spread(first).record()}


def equal_after_changes(settings: Settings) -> Mapping[str, Any]:
    """Share of requests whose ten best tools and scores after many changes are those of an index built afresh.

    A tenth of the tools come one by one, a tenth is deleted.
    """
    data, rows = BenchData(Path(settings["data"])), int(settings["rows"])
    texts = list(documents(data, rows, lambda stage, done, total: None, ""))
    late = rows // 10
    changed = LexicalIndex()
    changed.add(texts[: rows - late])
    dead = np.arange(0, rows - late, 10, dtype=np.int64)
    for number, document in enumerate(texts[rows - late :]):
        changed.add([document])
        if number < len(dead):
            changed.remove(dead[number : number + 1])
        changed.snapshot()
    gone = set(dead[:late].tolist())
    stay = [row for row in range(rows) if row not in gone]
    fresh = LexicalIndex()
    fresh.add([texts[row] for row in stay])
    equal = [_same(changed, fresh, stay, text) for text in settings["requests"]]
    return {"equal": float(np.mean(equal)), "requests": len(equal)}


def _same(changed: LexicalIndex, fresh: LexicalIndex, stay: Sequence[int], request: str) -> bool:
    ours, theirs = changed.scores(request), fresh.scores(request)
    best, expected = block_top_k(ours, DEPTH), block_top_k(theirs, DEPTH)
    # A dead row scores 0 like one that matches nothing: where fewer than ten match, only those are compared.
    found, wanted = best[ours[best] > 0].tolist(), expected[theirs[expected] > 0].tolist()
    return found == [stay[row] for row in wanted] and bool(np.allclose(ours[found], theirs[wanted], rtol=1e-5))
