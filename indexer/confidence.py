"""How sure a match is, on a scale that each catalog sets for itself; pure functions on stated arrays.

No fixed threshold carries over between catalogs. So each is asked some 290 requests that no tool can serve (carry the
laundry upstairs), and a match is weak when it is no better than what those get. Weights, and what they keep and
refuse: design/retrieval.md, "Abstention".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.cosine_scale import CosineScale
from indexer.errors import CorruptSnapshotError

Floats: TypeAlias = npt.NDArray[np.float32]
ScriptGroup = Literal["latin", "hangul", "cjk", "arabic", "other"]

_GROUPS: Final[tuple[ScriptGroup, ...]] = ("latin", "hangul", "cjk", "arabic", "other")

LEAD_OVER: Final = 5
"""The place (from 0) whose score a match is compared with: a needed tool stands out from the fifth other one."""
FOREIGN_SHARE: Final = 0.9
"""Share of foreign requests whose best match is called weak."""

_COVERAGE, _COSINE, _LEAD, _EVIDENCE = 0.9, 4.5, 1.7, 3.1
_BESIDE_TOKENS: Final = (0.3, 2.8, 2.0, 2.7)
"""The same four where the closeness of tokens is known, which has weights of its own."""
_TEXT_CLOSENESS, _NAME_CLOSENESS, _FOREIGN_CLOSENESS = 1.9, 2.6, 1.35
"""The last is taken off, so that thresholds mean about the same with and without tokens."""
_HALF_EVIDENCE: Final = 8.0  # the BM25F score that counts for half of what words can say
_MIN_SHARE: Final = 0.3  # letters of a script that make a query one of that script


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a catalog was found to be like when it was last looked at as a whole."""

    thresholds: Mapping[ScriptGroup, float]
    """The margin of a match that is as likely weak as not, by the script of the query."""
    scale: CosineScale | None = None
    """None: the scale of a query's cosines begins at the lowest of them."""

    def threshold(self, query: str) -> float:
        """The margin that a match of this query must reach not to be weak."""
        return self.thresholds[script_group(query)]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file; `thresholds` in the order of the script groups."""
        thresholds = np.array([self.thresholds[script] for script in _GROUPS], dtype=np.float64)
        scale = {} if self.scale is None else {"mean": self.scale.mean, "covariance": self.scale.covariance}
        return {"thresholds": thresholds, **scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], dimensions: int) -> "Calibration":
        """A copy of what `to_arrays` gave for vectors of so many dimensions. Raises: CorruptSnapshotError."""
        try:
            thresholds = dict(zip(_GROUPS, arrays["thresholds"].tolist(), strict=True))
            mean, covariance = np.array(arrays["mean"]), np.array(arrays["covariance"])
        except (KeyError, ValueError, TypeError) as error:
            raise CorruptSnapshotError(f"the snapshot's calibration cannot be read: {error!r}") from error
        if mean.shape != (dimensions,) or covariance.shape != (dimensions, dimensions):
            raise CorruptSnapshotError(f"a calibration for {mean.shape} does not fit {dimensions} dimensions")
        return cls(thresholds, CosineScale(mean, covariance))


UNCALIBRATED: Final = Calibration({"latin": 3.8, "hangul": 1.4, "cjk": 2.0, "arabic": 1.4, "other": 1.4})
"""Middle thresholds of the development sets, until a catalog has its own."""


def margins(
    coverage: Floats, cosine: Floats | None, lead: Floats, words: Floats, close: tuple[Floats, Floats] | None = None
) -> Floats:
    """(m,) what speaks for each match: logistic regression of answerable against foreign and unanswerable requests.

    `coverage`: share of the query's idf mass, 0 to 1. `cosine`: of the whole query; None without a vector. `lead`:
    fused score over that of place `LEAD_OVER`. `words`: BM25F scores. `close`: how near the tokens of text and name are
    (`late_interaction.Closeness`); None where the encoder has no vectors of tokens.
    """
    meaning = coverage if cosine is None else np.maximum(cosine, 0)
    evidence = words / (words + _HALF_EVIDENCE)
    weights = (_COVERAGE, _COSINE, _LEAD, _EVIDENCE) if close is None else _BESIDE_TOKENS
    total = weights[0] * coverage + weights[1] * meaning + weights[2] * lead + weights[3] * evidence
    if close is not None:
        text, name = close
        total = total + (_TEXT_CLOSENESS * text + _NAME_CLOSENESS * name - _FOREIGN_CLOSENESS)
    return np.asarray(total, dtype=np.float32)


def confidences(margin: Floats, threshold: float) -> Floats:
    """(m,) 0 to 1, one half at the threshold."""
    return np.asarray(1 / (1 + np.exp(threshold - margin)), dtype=np.float32)


def calibration_from(margin_of: Mapping[str, float], scale: CosineScale | None = None) -> Calibration:
    """Thresholds from the best margin that each foreign request got in a catalog."""
    by_script: dict[ScriptGroup, list[float]] = {}
    for request, margin in margin_of.items():
        by_script.setdefault(script_group(request), []).append(margin)
    thresholds: dict[ScriptGroup, float] = {
        script: float(np.quantile(found, FOREIGN_SHARE)) for script, found in by_script.items()
    }
    # Scripts without foreign requests of their own are judged mildly: a tool shown in vain costs less than one hidden.
    mildest = min(thresholds.values(), default=0.0)
    return Calibration({script: thresholds.get(script, mildest) for script in _GROUPS}, scale)


def script_group(query: str) -> ScriptGroup:
    """The group of scripts a query is written in; a few foreign names do not change it."""
    if query.isascii():
        return "latin"
    letters = [letter for letter in query if letter.isalpha()]
    if all(letter.isascii() for letter in letters):
        return "latin"
    enough = _MIN_SHARE * len(letters)
    if sum("\uac00" <= letter <= "\ud7a3" for letter in letters) > enough:
        return "hangul"
    if sum("\u3041" <= letter <= "\u9fff" for letter in letters) > enough:
        return "cjk"
    if sum("\u0600" <= letter <= "\u06ff" for letter in letters) > enough:
        return "arabic"
    return "latin" if sum(letter <= "\u024f" for letter in letters) > enough else "other"


@cache
def foreign_requests() -> tuple[str, ...]:
    """Requests of daily life that no tool serves: English, German, Spanish, French, Korean, Chinese, Japanese,
    Arabic."""
    text = files("indexer").joinpath("foreign_requests.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)
