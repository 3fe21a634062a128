"""The engine of `toolscout bench quality`: how well search finds the right tools on judged test sets."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt

from gateway.bench.abstention import Abstention, measure_abstention
from gateway.bench.bm25_baseline import Bm25Baseline
from gateway.bench.catalog_under_test import CatalogUnderTest
from gateway.bench.peers.base import Peer, installed_version
from gateway.bench.peers.time_limit import TimeLimitError, time_limit
from gateway.bench.progress import Progress
from gateway.bench.quality_figures import BASELINES, QualityReport, SetQuality, SystemQuality
from gateway.bench.retrieval_metrics import DEPTH, METRICS, bootstrap_interval, query_metrics
from gateway.bench.retrieval_sets import JudgedQuery, RetrievalSet, Split, find_sets, load_set
from indexer import Embedder, make_embedder

logger = logging.getLogger(__name__)

Scores = npt.NDArray[np.float64]
"""(queries, metrics), in the order of `METRICS`, each 0 to 1."""

PEER_SECONDS: Final = 60.0
"""What a peer may take to index and search one set; a slower one is cut and shown as skipped."""


def run_quality(
    data_dir: Path,
    *,
    encoder: str,
    split: Split = "all",
    peers: Sequence[Peer] = (),
    peer_seconds: float = PEER_SECONDS,
    progress: Progress | None = None,
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


def measure_set(judged: RetrievalSet, embedder: Embedder, progress: Progress | None = None) -> SetQuality:
    """The product and the baselines on one set."""

    def heard(done: int) -> None:
        if progress is not None:
            progress(judged.name, done, len(judged.queries))

    catalog = CatalogUnderTest(judged.tools, embedder)
    scores, times = _run(catalog.rank, judged.queries, heard)
    of_json = _run(Bm25Baseline(judged.tools, "json").rank, judged.queries)
    of_fields = _run(Bm25Baseline(judged.tools, "fields").rank, judged.queries)
    ahead = 100 * (scores[:, 0] - of_fields[0][:, 0])
    return SetQuality(
        name=judged.name,
        tools=len(judged.tools),
        queries=len(judged.queries),
        product=_summary(scores, times),
        baselines=dict(zip(BASELINES, (_summary(*of_json), _summary(*of_fields)), strict=True)),
        gain=(float(ahead.mean()), *bootstrap_interval(ahead)),
        abstention=_abstention(catalog, judged),
    )


def _abstention(catalog: CatalogUnderTest, judged: RetrievalSet) -> Abstention:
    served = np.array([catalog.confidence(query.text) for query in judged.queries])
    removed = np.array([catalog.confidence(query.text, without=query.relevant) for query in judged.queries])
    negatives = np.array([catalog.confidence(text) for text in judged.negatives])
    return measure_abstention(served, removed, negatives if len(negatives) else None)


def _run(
    rank: Callable[[str, int], list[int]],
    queries: Sequence[JudgedQuery],
    heard: Callable[[int], None] | None = None,
) -> tuple[Scores, list[float]]:
    """Every query ranked: its metrics, and the seconds that each took. `heard` is told how many are done."""
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
