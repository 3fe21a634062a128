"""The engine of `toolscout bench quality`: how well search finds the right tools on judged test sets.

Each set is indexed and searched through the functions that the product searches with; nothing is tuned here.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gateway.bench.abstention import Abstention, abstention_record, measure_abstention
from gateway.bench.bm25_baseline import Bm25Baseline
from gateway.bench.peers.base import Peer, installed_version
from gateway.bench.peers.time_limit import TimeLimitError, time_limit
from gateway.bench.retrieval_metrics import DEPTH, METRICS, bootstrap_interval, query_metrics
from gateway.bench.retrieval_sets import JudgedQuery, RetrievalSet, Split, find_sets, load_set
from indexer import (
    Embedder,
    LexicalIndex,
    RankedRows,
    ToolDefinition,
    VectorMatrix,
    calibrate,
    document_of,
    embed_tools,
    make_embedder,
    name_candidates,
    search_rows,
)
from indexer.document import ToolDocument
from indexer.embedders.base import token_encoder_of
from indexer.late_interaction import TokenIndex, TokenSnapshot

logger = logging.getLogger(__name__)

Scores = npt.NDArray[np.float64]
"""(queries, metrics), in the order of `METRICS`, each 0 to 1."""

BASELINES: Final = ("bm25-json", "bm25-fields")
PEER_SECONDS: Final = 60.0
"""What a peer may take to index and search one set; a slower one is cut and shown as skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemQuality:
    """What one system reached on one set. Means in percent, by the names of `METRICS`."""

    means: dict[str, float]
    interval: tuple[float, float]
    """95 % interval of nDCG@10, in percent."""
    p50_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuality:
    """One set: the product, the baselines, and how far it is ahead of words alone."""

    name: str
    tools: int
    queries: int
    product: SystemQuality
    baselines: dict[str, SystemQuality] = field(default_factory=dict[str, SystemQuality])
    peers: dict[str, SystemQuality] = field(default_factory=dict[str, SystemQuality])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Why a peer has no figures here."""
    gain: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """nDCG@10 over BM25 fields in points: mean, and its paired 95 % interval."""
    abstention: Abstention | None = None
    """What confidence is worth; None where it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """All sets of one run."""

    encoder: str
    split: Split
    sets: tuple[SetQuality, ...]
    seconds: float
    peer_versions: dict[str, str] = field(default_factory=dict[str, str])
    """Distribution and version of each peer that was asked for and is installed."""


class CatalogUnderTest:
    """A catalog searched as the product does it, without store and scope."""

    def __init__(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> None:
        documents = [document_of(tool) for tool in tools]
        lexical, matrix = LexicalIndex(), VectorMatrix(embedder.dimensions)
        lexical.add(documents)
        matrix.append(embed_tools(embedder, documents))
        self._embedder = embedder
        self._lexical, self._matrix = lexical.snapshot(), matrix.snapshot()
        self._tokens = _tokens_of(documents, embedder)
        self._calibration = calibrate(embedder, matrix=self._matrix, lexical=self._lexical, tokens=self._tokens)
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        for row, tool in enumerate(tools):
            self._named[tool.name.casefold()].append(row)

    def rank(self, query: str, k: int) -> list[int]:
        """Rows of the k best tools, best first; exact names before all others."""
        ranked: list[int] = self._search(query, k).rows.tolist()
        exact = [row for name in name_candidates(query) for row in self._named.get(name.casefold(), ())]
        return list(dict.fromkeys((*exact, *ranked)))[:k]

    def confidence(self, query: str, without: AbstractSet[int] = frozenset()) -> float:
        """Of the best result, 0 where there is none; `without`: tools that are not in the catalog this time."""
        rows = np.setdiff1d(np.arange(self._matrix.n_rows), np.fromiter(without, np.int64)) if without else None
        found = self._search(query, 1, rows)
        return float(found.confidence[0]) if len(found.rows) else 0.0

    def _search(self, query: str, k: int, rows: npt.NDArray[np.int64] | None = None) -> RankedRows:
        return search_rows(
            query,
            self._embedder,
            matrix=self._matrix,
            lexical=self._lexical,
            tokens=self._tokens,
            k=k,
            rows=rows,
            calibration=self._calibration,
        )


def _tokens_of(documents: Sequence[ToolDocument], embedder: Embedder) -> TokenSnapshot | None:
    encoder = token_encoder_of(embedder)
    if encoder is None:
        return None
    tokens = TokenIndex(encoder)
    tokens.add(documents)
    return tokens.snapshot()


def run_quality(
    data_dir: Path,
    *,
    encoder: str,
    split: Split = "all",
    peers: Sequence[Peer] = (),
    peer_seconds: float = PEER_SECONDS,
    progress: Callable[[str, int, int], None] | None = None,
) -> QualityReport:
    """Measure every test set under a folder, with those of the peers that are installed.

    `progress` hears (set, queries done, queries in all). Raises: RetrievalSetError, UnknownEncoderError,
    EmbeddingError.
    """
    started = perf_counter()
    embedder = make_embedder(encoder)
    sets: list[SetQuality] = []
    for folder in find_sets(data_dir):
        judged = load_set(folder, split)
        if judged.queries:
            entry = measure_set(judged, embedder, progress)
            sets.append(_with_peers(entry, judged, embedder, peers, peer_seconds))
    versions = {peer.name: f"{peer.package} {found}" for peer in peers if (found := installed_version(peer))}
    return QualityReport(
        encoder=embedder.embedder_id,
        split=split,
        sets=tuple(sets),
        seconds=perf_counter() - started,
        peer_versions=versions,
    )


def _with_peers(
    entry: SetQuality, judged: RetrievalSet, embedder: Embedder, peers: Sequence[Peer], limit: float
) -> SetQuality:
    """The set with each peer's figures, or why there are none."""
    measured: dict[str, SystemQuality] = {}
    skipped: dict[str, str] = {}
    for peer in peers:
        if installed_version(peer) is None:
            skipped[peer.name] = f"not installed: pip install {peer.package}"
            continue
        try:
            with time_limit(limit):
                scores, times = _run(peer.open(judged.tools, embedder).rank, judged.queries)
        except TimeLimitError:
            skipped[peer.name] = f"cut after {limit:.0f} s"
        except Exception as error:  # someone else's code on data it may not expect must not end the run
            logger.exception("peer %s failed on %s", peer.name, judged.name)
            skipped[peer.name] = f"failed: {type(error).__name__}: {error}"
        else:
            measured[peer.name] = _summary(scores, times)
    return replace(entry, peers=measured, skipped=skipped)


def measure_set(
    judged: RetrievalSet, embedder: Embedder, progress: Callable[[str, int, int], None] | None = None
) -> SetQuality:
    """The product and the baselines on one set."""

    def heard(done: int) -> None:
        if progress is not None:
            progress(judged.name, done, len(judged.queries))

    catalog = CatalogUnderTest(judged.tools, embedder)
    scores, times = _run(catalog.rank, judged.queries, heard)
    baselines: dict[str, SystemQuality] = {}
    fields = scores
    for name, baseline in (
        (BASELINES[0], Bm25Baseline(judged.tools, "json")),
        (BASELINES[1], Bm25Baseline(judged.tools, "fields")),
    ):
        fields, baseline_times = _run(baseline.rank, judged.queries)
        baselines[name] = _summary(fields, baseline_times)
    ahead = 100 * (scores[:, 0] - fields[:, 0])
    return SetQuality(
        name=judged.name,
        tools=len(judged.tools),
        queries=len(judged.queries),
        product=_summary(scores, times),
        baselines=baselines,
        gain=(float(ahead.mean()), *bootstrap_interval(ahead)),
        abstention=_abstention(catalog, judged),
    )


def _abstention(catalog: CatalogUnderTest, judged: RetrievalSet) -> Abstention:
    served = np.array([catalog.confidence(query.text) for query in judged.queries])
    removed = np.array([catalog.confidence(query.text, without=query.relevant) for query in judged.queries])
    negatives = np.array([catalog.confidence(text) for text in judged.negatives])
    return measure_abstention(served, removed, negatives if len(negatives) else None)


def report_to_record(report: QualityReport) -> dict[str, Any]:
    """The JSON form of a report. Metrics are in percent."""
    return {
        "encoder": report.encoder,
        "split": report.split,
        "unit": "percent",
        "seconds": round(report.seconds, 1),
        "peer_versions": report.peer_versions,
        "sets": [
            {
                "set": entry.name,
                "tools": entry.tools,
                "queries": entry.queries,
                **_system_record(entry.product),
                "gain_over_bm25_fields": [round(value, 2) for value in entry.gain],
                "abstention": abstention_record(entry.abstention) if entry.abstention is not None else None,
                "peers": {name: _system_record(system) for name, system in (entry.baselines | entry.peers).items()},
                "skipped": entry.skipped,
            }
            for entry in report.sets
        ],
    }


def _system_record(system: SystemQuality) -> dict[str, Any]:
    return {
        **{name: round(value, 2) for name, value in system.means.items()},
        "p50_ms": round(system.p50_ms, 3),
        "ci95": [round(value, 2) for value in system.interval],
    }


def _run(
    rank: Callable[[str, int], list[int]],
    queries: Sequence[JudgedQuery],
    heard: Callable[[int], None] | None = None,
) -> tuple[Scores, list[float]]:
    scores = np.zeros((len(queries), len(METRICS)))
    times: list[float] = []
    for number, query in enumerate(queries):
        started = perf_counter()
        ranked = rank(query.text, DEPTH)
        times.append(perf_counter() - started)
        scores[number] = query_metrics(ranked, query.needs)
        if heard is not None:
            heard(number + 1)
    return scores, times


def _summary(scores: Scores, times: Sequence[float]) -> SystemQuality:
    low, high = bootstrap_interval(100 * scores[:, 0])
    return SystemQuality(
        means=dict(zip(METRICS, (100 * scores.mean(axis=0)).tolist(), strict=True)),
        interval=(low, high),
        p50_ms=float(np.median(times)) * 1e3,
    )
