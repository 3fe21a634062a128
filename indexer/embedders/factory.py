"""From an encoder's name, as settings and the command line give it, to the encoder."""

from typing import Final

from indexer.embedders.base import Embedder
from indexer.errors import UnknownEncoderError

SENTENCE_TRANSFORMERS_PREFIX: Final = "sentence-transformers:"

ENCODER_NAMES: Final[dict[str, str]] = {
    "static": "the default: a token table shipped with toolscout, many languages, no extra needed",
    "hashing": "hashed words and character n-grams, no weights; for tests",
    "sentence-transformers:NAME": (
        "any sentence-transformers model by name or folder; needs `pip install 'toolscout[transformers]'`"
    ),
}
"""What `make_embedder` accepts, each with one line about it."""


def make_embedder(name: str) -> Embedder:
    """Open the encoder of that name; heavy imports happen here, only for the encoder asked for.

    Raises: UnknownEncoderError, EmbeddingError.
    """
    if name == "static":
        from indexer.embedders.static import StaticEmbedder

        return StaticEmbedder.load()
    if name == "hashing":
        from indexer.embedders.hashing import HashingEmbedder

        return HashingEmbedder()
    if name.startswith(SENTENCE_TRANSFORMERS_PREFIX):
        from indexer.embedders.sentence_transformer import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder.load(name.removeprefix(SENTENCE_TRANSFORMERS_PREFIX))
    choices = "\n".join(f"  {choice}: {about}" for choice, about in ENCODER_NAMES.items())
    raise UnknownEncoderError(f"no encoder is called {name!r}. Choose one of:\n{choices}")
