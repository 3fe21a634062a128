"""Any sentence-transformers model by name or folder, behind the extra `transformers`."""

import importlib
from collections.abc import Sequence
from typing import Any, Final, Self, TypeAlias

import numpy as np

from indexer.embedders.base import Vectors
from indexer.errors import EmbeddingError, UnknownEncoderError

Model: TypeAlias = Any
"""A `sentence_transformers.SentenceTransformer`; its import takes seconds and is an extra, so no type of it is used."""

EXTRA_HINT: Final = "pip install 'toolscout[transformers]'"
_BATCH: Final = 32


class SentenceTransformerEmbedder:
    """Encodes with the model's own query and document prompts, where it has them."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._name = name
        # The method was renamed in 5.x; both names are in use within the versions that the extra allows.
        width = getattr(model, "get_embedding_dimension", model.get_sentence_embedding_dimension)()
        if not width:
            raise EmbeddingError(f"the model {name!r} does not say how many dimensions its vectors have")
        self._dimensions = int(width)

    @classmethod
    def load(cls, name: str) -> Self:
        """Open a model by its hub name, or by the folder it was saved to.

        Raises: UnknownEncoderError when the extra is missing, EmbeddingError when the model cannot be opened.
        """
        if not name:
            raise UnknownEncoderError("say which model: sentence-transformers:NAME, a hub name or a folder")
        try:
            package: Any = importlib.import_module("sentence_transformers")
        except ImportError as error:
            raise UnknownEncoderError(
                f"the encoder 'sentence-transformers:{name}' needs the extra 'transformers': {EXTRA_HINT}"
            ) from error
        try:
            model: Model = package.SentenceTransformer(name)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingError(
                f"the sentence-transformers model {name!r} cannot be opened: {error}. "
                "Check the name; without a network only a folder or a model already in the cache can be opened."
            ) from error
        return cls(model, name)

    @property
    def embedder_id(self) -> str:
        return f"sentence-transformers:{self._name}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 unit rows. Raises: EmbeddingError."""
        return self._encode(self._model.encode_document, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 unit rows. Raises: EmbeddingError."""
        return self._encode(self._model.encode_query, texts)

    def _encode(self, encode: Any, texts: Sequence[str]) -> Vectors:  # noqa: ANN401  # a method of an untyped model
        if not texts:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        try:
            vectors = encode(
                list(texts),
                batch_size=_BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except RuntimeError as error:  # what torch raises, out of memory included
            raise EmbeddingError(f"the model {self._name!r} failed on {len(texts)} texts: {error}") from error
        return np.ascontiguousarray(vectors, dtype=np.float32)
