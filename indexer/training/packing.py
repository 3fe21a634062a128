"""From a float table to the files that the static encoder maps: four bits a value, one scale a row, and a card."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.embedders.static import TableFiles
from indexer.embedders.token_table import CODE_CENTRE, PackedRows, RowScales

_HIGHEST_CODE: Final = 15
_CLIPS: Final = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Shares of a row's largest value that its scale may reach up to: clipping a few values can serve all the others."""


class PackedTable(NamedTuple):
    """A table in four bits a value, and what that cost."""

    rows: PackedRows
    scales: RowScales
    error: float
    """Mean squared error relative to the table's mean square."""


def pack(table: npt.NDArray[np.float32]) -> PackedTable:
    """Four-bit codes with, for each row, the scale of least squared error among a few.

    The table as a whole is stretched first: sums are normalised, so only proportions count, and float16 scales of very
    light rows would otherwise vanish.
    """
    stretched = table / np.sqrt(np.mean(np.square(table[np.any(table, axis=1)])))
    largest = np.abs(stretched).max(axis=1, keepdims=True)
    best_error = np.full(len(table), np.inf)
    codes = np.zeros(table.shape, dtype=np.uint8)
    scales = np.zeros(len(table), dtype=np.float32)
    for clip in _CLIPS:
        scale = (largest * clip / CODE_CENTRE).astype(np.float16)
        divisor = np.where(scale > 0, scale, 1).astype(np.float32)
        tried = np.clip(np.rint(stretched / divisor + CODE_CENTRE), 0, _HIGHEST_CODE)
        error = np.square((tried - CODE_CENTRE) * scale - stretched).sum(axis=1)
        better = error < best_error
        codes[better], scales[better] = tried[better].astype(np.uint8), scale[better, 0]
        best_error[better] = error[better]
    half = table.shape[1] // 2
    return PackedTable(
        rows=codes[:, :half] | (codes[:, half:] << np.uint8(4)),
        scales=scales,
        error=float(best_error.sum() / np.square(stretched).sum()),
    )


def write_table(
    folder: Path,
    *,
    packed: PackedTable,
    pieces: Sequence[str],
    log_probabilities: npt.NDArray[np.float32],
    card: Mapping[str, Any],
) -> None:
    """Write the files of a static encoder, and the card with their digests."""
    folder.mkdir(parents=True, exist_ok=True)
    files = TableFiles(folder)
    np.save(files.rows, packed.rows)
    np.save(files.scales, packed.scales.astype(np.float16))
    np.save(files.log_probabilities, log_probabilities)
    files.pieces.write_text("\n".join(pieces), encoding="utf-8")
    written = (files.rows, files.scales, files.log_probabilities, files.pieces)
    record = {
        **card,
        "format": {
            "tokens": len(pieces),
            "dimensions": packed.rows.shape[1] * 2,
            "rows": "uint8, two four-bit codes a byte, first half of dimensions low; (code - 7.5) x scale of the row",
            "why_four_bits": "the whole vocabulary in eight bits would take twice the room and rank no better",
            "relative_squared_error": round(packed.error, 5),
            "encoding": "query = document = normalise(sum of the rows of the text's pieces)",
        },
        "files": {path.name: {"sha256": sha256_of(path), "bytes": path.stat().st_size} for path in written},
    }
    files.card.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
