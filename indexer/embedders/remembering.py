"""An encoder that remembers the queries it has read: agents ask for the same few needs again and again."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, final

import numpy as np

from indexer.embedders.base import Embedder, TokenEncoder, Vectors, token_encoder_of

REMEMBERED: Final = 1024
"""Queries; a megabyte at 256 dimensions."""
_LONGEST: Final = 1024
"""Characters: longer queries are hardly ever asked twice."""
_QUICK_SECONDS: Final = 0.001


@final
class RememberingEmbedder:
    """An `Embedder` over another one; the vectors of the last `REMEMBERED` queries are not made again."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._seconds = float("inf")

    @property
    def embedder_id(self) -> str:
        return self._inner.embedder_id

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def token_encoder(self) -> TokenEncoder | None:
        return token_encoder_of(self._inner)

    @property
    def is_quick(self) -> bool:
        """Whether reading a query has been seen to take less than a millisecond: no network, no large model."""
        return self._seconds < _QUICK_SECONDS

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder's. Raises: EmbeddingError."""
        return self._inner.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder's. Raises: EmbeddingError."""
        if len(texts) == 1 and (remembered := self._vectors.get(texts[0])) is not None:
            return remembered[None].copy()
        known = {text: self._vectors.get(text) for text in texts}
        new = [text for text, vector in known.items() if vector is None]
        if new:
            started = time.perf_counter()
            vectors = self._inner.embed_queries(new)
            self._seconds = min(self._seconds, (time.perf_counter() - started) / len(new))
            known.update(zip(new, vectors, strict=True))
            self._remember({text: vector for text, vector in zip(new, vectors, strict=True) if len(text) <= _LONGEST})
        return np.stack([vector for text in texts if (vector := known[text]) is not None])

    def _remember(self, vectors: dict[str, Vectors]) -> None:
        self._vectors.update(vectors)
        while len(self._vectors) > REMEMBERED:
            self._vectors.popitem(last=False)
