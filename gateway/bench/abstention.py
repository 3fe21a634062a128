"""How well confidence tells requests that a catalog serves from those it does not.

Two kinds of the latter: requests that nothing in the catalog serves (where a set has them), and the hard one, the
set's own queries with every right tool taken out of the catalog.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Confidences = npt.NDArray[np.float64]
"""(n,) confidence of the best result of each request; 0 where nothing was found."""

KEPT: Final = 0.95
_WEAK_BELOW: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Requests that should be refused, against those that should be kept. All in percent."""

    requests: int
    refused: float
    """At the threshold that keeps 95 % of the set's own queries."""
    refused_as_weak: float
    """At the catalog's own calibration."""
    auc: float
    """Area under the ROC curve: how often a served request has the higher confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """What confidence is worth on one set."""

    kept_as_good: float
    """Of the set's own queries, in percent: those whose best result is not called weak."""
    removed: Refusals
    """With every right tool removed."""
    negatives: Refusals | None = None
    """Requests that nothing serves, where the set has them."""


def measure_abstention(served: Confidences, removed: Confidences, negatives: Confidences | None) -> Abstention:
    """Compare the confidences of requests that are served with those that are not."""
    return Abstention(
        kept_as_good=100 * float(np.mean(served >= _WEAK_BELOW)),
        removed=_refusals(served, removed),
        negatives=_refusals(served, negatives) if negatives is not None and len(negatives) else None,
    )


def roc(served: Confidences, refused: Confidences) -> tuple[Confidences, Confidences]:
    """(share of `refused` kept, share of `served` kept) at every threshold, from strict to mild."""
    thresholds = np.unique(np.concatenate((served, refused)))[::-1]
    kept_wrongly = 1 - np.searchsorted(np.sort(refused), thresholds) / len(refused)
    kept_rightly = 1 - np.searchsorted(np.sort(served), thresholds) / len(served)
    return kept_wrongly, kept_rightly


def abstention_record(abstention: Abstention) -> dict[str, Any]:
    """The JSON form."""
    return {
        "kept_as_good": round(abstention.kept_as_good, 2),
        "removed": _refusals_record(abstention.removed),
        "negatives": _refusals_record(abstention.negatives) if abstention.negatives is not None else None,
    }


def _refusals(served: Confidences, refused: Confidences) -> Refusals:
    kept_wrongly, kept_rightly = roc(served, refused)
    area = float(np.trapezoid(np.append(0.0, kept_rightly), np.append(0.0, kept_wrongly)))
    return Refusals(
        requests=len(refused),
        refused=100 * float(np.mean(refused < np.quantile(served, 1 - KEPT))),
        refused_as_weak=100 * float(np.mean(refused < _WEAK_BELOW)),
        auc=100 * area,
    )


def _refusals_record(refusals: Refusals) -> dict[str, Any]:
    return {
        "requests": refusals.requests,
        "refused_at_95_kept": round(refusals.refused, 2),
        "refused_as_weak": round(refusals.refused_as_weak, 2),
        "auc": round(refusals.auc, 2),
    }
