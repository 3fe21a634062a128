"""What an encoder remembers of the queries that it has read."""

import numpy as np

from indexer.embedders.hashing import HashingEmbedder
from indexer.embedders.remembering import RememberingEmbedder


def test_a_remembered_query_has_the_vector_it_had_alone_and_beside_others() -> None:
    inner = HashingEmbedder()
    remembering = RememberingEmbedder(inner)
    first = remembering.embed_queries(["refund an order"])
    np.testing.assert_array_equal(first, inner.embed_queries(["refund an order"]))
    np.testing.assert_array_equal(remembering.embed_queries(["refund an order"]), first)
    both = remembering.embed_queries(["send an email", "refund an order"])
    np.testing.assert_array_equal(both, inner.embed_queries(["send an email", "refund an order"]))


def test_what_a_caller_does_to_a_vector_does_not_reach_what_is_remembered() -> None:
    remembering = RememberingEmbedder(HashingEmbedder())
    first = remembering.embed_queries(["refund an order"])
    expected = first.copy()
    first[:] = 0
    remembering.embed_queries(["refund an order"])[:] = 0
    np.testing.assert_array_equal(remembering.embed_queries(["refund an order"]), expected)
