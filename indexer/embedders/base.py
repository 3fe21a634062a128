"""The seam between texts and vectors."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]
"""(n, dimensions) float32, C-contiguous, rows of unit norm; a text without any known token gives a zero row."""


class Embedder(Protocol):
    """Turns texts into unit vectors; documents and queries may be encoded differently."""

    @property
    def embedder_id(self) -> str:
        """Name and version of the weights: vectors of different ids are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) unit rows for tool texts. Raises: EmbeddingError."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) unit rows for queries. Raises: EmbeddingError."""
        ...
