"""An encoder that has no vectors of single tokens, beside the shipped table, which has."""

from collections.abc import Sequence
from typing import Final, Self, final

import numpy as np

from indexer.embedders.base import ClosenessWeights, Embedder, TokenEncoder, Vectors
from indexer.embedders.static import StaticEmbedder

CLOSENESS: Final = ClosenessWeights(text=np.float32(0.25), name=np.float32(0.3))
"""Beside MiniLM's vectors; design/retrieval.md, "Tokens again"."""


@final
class WithTableTokens:
    """An `Embedder` whose vectors are the inner one's, and whose tokens are those of a table."""

    def __init__(self, inner: Embedder, tokens: TokenEncoder) -> None:
        self._inner = inner
        self._tokens = tokens

    @classmethod
    def load(cls, inner: Embedder) -> Self:
        """With the table that is shipped: 16 MB, mapped, a tenth of a second. Raises: EmbeddingError."""
        return cls(inner, StaticEmbedder.load(closeness_weights=CLOSENESS))

    @property
    def embedder_id(self) -> str:
        """The inner encoder's: vectors are the same with tokens and without."""
        return self._inner.embedder_id

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def token_encoder(self) -> TokenEncoder:
        return self._tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder's. Raises: EmbeddingError."""
        return self._inner.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder's. Raises: EmbeddingError."""
        return self._inner.embed_queries(texts)
