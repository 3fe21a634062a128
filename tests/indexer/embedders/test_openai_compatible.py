import json
from collections.abc import Callable

import httpx
import numpy as np
import pytest

from indexer.embedders.factory import make_embedder
from indexer.embedders.openai_compatible import OpenAICompatibleEmbedder
from indexer.errors import DimensionMismatchError, EmbeddingError, UnknownEncoderError

Handler = Callable[[httpx.Request], httpx.Response]


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def answer(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    data = [{"index": number, "embedding": vector_of(text)} for number, text in enumerate(texts)]
    return httpx.Response(200, json={"data": data[::-1]})


def connected(handler: Handler, waits: list[float] | None = None) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder.connect(
        url="http://models.test/v1",
        model="some-model",
        key="secret",
        transport=httpx.MockTransport(handler),
        sleep=(waits if waits is not None else []).append,
    )


def test_vectors_come_back_in_the_order_of_the_texts_at_unit_norm() -> None:
    embedder = connected(answer)
    vectors = embedder.embed_documents(["a", "", "longer text"])
    assert embedder.dimensions == 3
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-6)
    expected = np.array(vector_of("longer text"))
    np.testing.assert_allclose(vectors[2], expected / np.linalg.norm(expected), atol=1e-6)


def test_the_request_is_what_the_interface_says() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answer(request)

    connected(handler).embed_queries(["find it"])
    assert seen[-1].url == "http://models.test/v1/embeddings"
    assert seen[-1].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[-1].content) == {"model": "some-model", "input": ["find it"]}


def test_many_texts_are_sent_in_batches() -> None:
    sizes: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return answer(request)

    assert connected(handler).embed_documents(["text"] * 200).shape == (200, 3)
    assert sizes == [1, 96, 96, 8]


def test_a_busy_endpoint_is_asked_again_after_the_time_it_names() -> None:
    statuses = iter([200, 429, 503, 200])
    waits: list[float] = []

    def handler(request: httpx.Request) -> httpx.Response:
        status = next(statuses)
        if status == 200:
            return answer(request)
        return httpx.Response(status, headers={"retry-after": "3"} if status == 429 else {})

    connected(handler, waits).embed_queries(["hello"])
    assert waits == [3.0, 1.0]


def test_an_endpoint_that_stays_away_is_given_up_with_its_name() -> None:
    waits: list[float] = []

    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(EmbeddingError, match=r"models\.test.*cannot be reached.*Tried 4 times"):
        connected(handler, waits)
    assert len(waits) == 3


def test_a_wrong_key_is_told_at_once() -> None:
    waits: list[float] = []
    with pytest.raises(EmbeddingError, match=r"401.*bad key.*Check the URL, the key"):
        connected(lambda request: httpx.Response(401, text="bad key"), waits)
    assert waits == []


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"data": []}', b'{"data": [{"embedding": [1]}]}'])
def test_another_kind_of_server_is_recognised(body: bytes) -> None:
    with pytest.raises(EmbeddingError, match="right URL"):
        connected(lambda request: httpx.Response(200, content=body))


def test_a_model_that_changes_its_width_is_refused() -> None:
    widths = iter([3, 4])

    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0] * next(widths)}]})

    with pytest.raises(DimensionMismatchError, match="expected vectors of 3 dimensions, got 4"):
        connected(handler).embed_queries(["x"])


def test_without_an_address_the_setting_is_named() -> None:
    with pytest.raises(UnknownEncoderError, match="TOOLSCOUT_EMBEDDINGS_URL"):
        make_embedder("openai:some-model", {})
