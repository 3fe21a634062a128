"""An encoder that has read what it will be asked for."""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from indexer.embedders.base import Embedder, Vectors
from indexer.errors import EmbeddingError


@final
class KnownQueries:
    """The vectors of some queries, made before by an `Embedder`; of other texts it knows nothing."""

    def __init__(self, vectors: Mapping[str, Vectors], inner: Embedder) -> None:
        """`vectors`: (dimensions,) of each text."""
        self._vectors = vectors
        self.embedder_id = inner.embedder_id
        self.dimensions = inner.dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Raises: EmbeddingError, always."""
        raise EmbeddingError(f"{len(texts)} documents were not read before")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) unit rows. Raises: EmbeddingError for a text that was not read before."""
        unread = [text for text in texts if text not in self._vectors]
        if unread:
            raise EmbeddingError(f"{len(unread)} of {len(texts)} queries were not read before")
        return np.stack([self._vectors[text] for text in texts])
