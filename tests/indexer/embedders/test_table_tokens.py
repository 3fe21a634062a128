"""Encoders of whole texts, with the tokens of the shipped table."""

from pathlib import Path

import numpy as np

from indexer.embedders.base import token_encoder_of
from indexer.embedders.hashing import HashingEmbedder
from indexer.embedders.remembering import RememberingEmbedder
from indexer.embedders.static import StaticEmbedder
from indexer.embedders.table_tokens import CLOSENESS, WithTableTokens
from tests.indexer.catalogs import SHOP, make_store, make_writer


def test_vectors_and_their_name_are_the_inner_encoders_and_tokens_the_tables() -> None:
    inner = HashingEmbedder(64)
    embedder = WithTableTokens.load(inner)
    assert (embedder.embedder_id, embedder.dimensions) == (inner.embedder_id, inner.dimensions)
    np.testing.assert_array_equal(embedder.embed_documents(["a b"]), inner.embed_documents(["a b"]))
    np.testing.assert_array_equal(embedder.embed_queries(["a b"]), inner.embed_queries(["a b"]))
    tokens = token_encoder_of(RememberingEmbedder(embedder))
    assert tokens is not None
    assert tokens.token_encoder_id == StaticEmbedder.load().token_encoder_id
    assert tokens.closeness_weights == CLOSENESS


def test_a_snapshot_that_was_written_without_tokens_is_made_again_with_them(tmp_path: Path) -> None:
    store, inner = make_store(), HashingEmbedder(64)
    before = make_writer(store, embedder=inner, snapshot_path=tmp_path / "one")
    before.take(iter(SHOP))
    before.close()
    after = make_writer(store.reopen(), embedder=WithTableTokens.load(inner), snapshot_path=tmp_path / "one")
    assert before.state.tokens is None
    assert after.state.live == len(SHOP)
    assert after.state.tokens is not None
