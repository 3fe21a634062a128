"""An encoder without weights: hashed words and character n-grams. Made for tests and for machines without the table."""

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from indexer.embedders.base import Vectors

_RUNS: Final = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-z]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD_WEIGHT: Final = 1.0
_GRAM_WEIGHT: Final = 0.35
_MIX: Final = 0x9E3779B1
"""Odd multiplier of Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): spreads CRC-32, which is linear, over all bits."""


class HashingEmbedder:
    """Feature hashing with signs (Weinberger et al., 2009): texts that share words or spellings are near each other."""

    def __init__(self, dimensions: int = 256) -> None:
        if dimensions < 8:
            raise ValueError(f"dimensions must be at least 8, got {dimensions}")
        self._dimensions = dimensions

    @property
    def embedder_id(self) -> str:
        return f"hashing-{self._dimensions}-v1"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 rows of unit norm; a text without letters or digits gives a zero row."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(text):
                mixed = (zlib.crc32(feature.encode()) * _MIX) & 0xFFFFFFFF
                row[(mixed >> 8) % self._dimensions] += weight if mixed & 1 << 7 else -weight
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, norms, out=vectors, where=norms > 0)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Queries and documents are encoded alike."""
        return self.embed_documents(texts)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _RUNS.findall(_CAMEL.sub(" ", unicodedata.normalize("NFKC", text)).lower())
    for word in words:
        yield word, _WORD_WEIGHT
        # Scripts without spaces (and Korean, whose words carry endings) meet in bigrams, the others in trigrams.
        size, padded = (3, f"<{word}>") if word.isascii() else (2, word)
        for start in range(len(padded) - size + 1):
            yield f"#{padded[start : start + size]}", _GRAM_WEIGHT
