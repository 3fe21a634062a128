"""The seam between texts and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosenessWeights:
    """What the tokens of a tool's text, and those of its name, add to a score of 1 where all of them are met."""

    text: np.float32
    name: np.float32


class TokenEncoder(Protocol):
    """Reads a text as tokens, each with a vector of its own."""

    @property
    def token_encoder_id(self) -> str:
        """Name and version: tokens of different ids are never compared."""
        ...

    @property
    def token_dimensions(self) -> int: ...

    @property
    def closeness_weights(self) -> ClosenessWeights:
        """How much its tokens say beside the vectors of whole texts that they are looked at with."""
        ...

    def tokens(self, text: str) -> Sequence[int]:
        """The tokens of a text, in order."""
        ...

    def token_vectors(self, tokens: npt.NDArray[np.int64]) -> tuple[Vectors, npt.NDArray[np.float32]]:
        """((n, token dimensions) unit rows, (n,) weights: how much each token says)."""
        ...


def token_encoder_of(embedder: Embedder) -> TokenEncoder | None:
    """What an encoder reads single tokens by; None for one that has no vectors of tokens."""
    found: TokenEncoder | None = getattr(embedder, "token_encoder", None)
    return found
