"""What every `Embedder` promises, run over those that need no extra."""

import numpy as np
import pytest

from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder

TEXTS = ("Give a customer the money of an order back.", "Weather forecast for a city.", "도시의 날씨를 알려 준다.")


@pytest.fixture(params=["hashing", "static"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return make_embedder(request.param)


def test_rows_are_unit_float32_in_order(embedder: Embedder) -> None:
    for vectors in (embedder.embed_documents(TEXTS), embedder.embed_queries(TEXTS)):
        assert vectors.shape == (3, embedder.dimensions)
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    alone = embedder.embed_documents(TEXTS[1:2])
    np.testing.assert_allclose(embedder.embed_documents(TEXTS)[1], alone[0], atol=1e-6)


def test_equal_texts_have_equal_vectors_and_related_ones_are_nearer(embedder: Embedder) -> None:
    documents = embedder.embed_documents(TEXTS)
    np.testing.assert_array_equal(documents, embedder.embed_documents(TEXTS))
    query = embedder.embed_queries(["city weather forecast"])[0]
    scores = documents @ query
    assert int(scores.argmax()) == 1


def test_no_texts_are_no_rows_and_an_empty_text_is_a_zero_row(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimensions)
    assert not embedder.embed_documents([""]).any()


def test_the_id_names_the_weights(embedder: Embedder) -> None:
    assert embedder.embedder_id
    assert embedder.embedder_id == make_embedder(embedder.embedder_id.split("-")[0]).embedder_id
