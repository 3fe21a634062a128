import numpy as np
import pytest

from indexer.embedders.hashing import HashingEmbedder


def test_rows_have_unit_norm_and_the_stated_shape() -> None:
    vectors = HashingEmbedder(64).embed_documents(["list the files", "파일 목록", "send_email"])
    assert vectors.shape == (3, 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_the_same_text_gives_the_same_vector_in_every_instance() -> None:
    first, second = HashingEmbedder(), HashingEmbedder()
    np.testing.assert_array_equal(first.embed_queries(["create a branch"]), second.embed_documents(["create a branch"]))


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("send an e-mail to a customer", "sendEmail: send one mail message", "delete a storage bucket"),
        ("이메일을 보내 줘", "이메일 보내기", "날씨 조회"),
        ("listing of buckets", "ListBuckets", "CreateUser"),
    ],
)
def test_texts_that_share_words_or_spellings_are_nearer(query: str, near: str, far: str) -> None:
    vectors = HashingEmbedder().embed_documents([query, near, far])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_a_text_without_letters_gives_a_zero_row() -> None:
    assert not HashingEmbedder().embed_queries(["", " ?! "]).any()


def test_no_texts_give_no_rows() -> None:
    assert HashingEmbedder().embed_documents([]).shape == (0, 256)


def test_too_few_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 8"):
        HashingEmbedder(4)
