"""What `toolscout bench quality` measures, as values and as JSON."""

from dataclasses import dataclass, field
from typing import Any, Final

from gateway.bench.abstention import Abstention, abstention_record
from gateway.bench.retrieval_sets import Split

BASELINES: Final = ("bm25-json", "bm25-fields")


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
