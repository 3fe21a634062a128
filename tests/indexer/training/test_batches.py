from itertools import islice

import numpy as np

from indexer.document import ToolDocument
from indexer.embedders.unigram import WORD_START, UnigramTokenizer
from indexer.training.batches import Mixture, TrainingBatches
from indexer.training.catalog_texts import CatalogTool
from indexer.training.translated_strings import Translation
from indexer.training.written_pairs import Pair

WORDS = (
    *("create", "bucket", "delete", "a", "new", "old", "one", "please", "with", "care", "and", "it"),
    *("버킷", "만들기", "지우기"),
)
TOKENIZER = UnigramTokenizer([WORD_START + word for word in WORDS], [-1.0] * len(WORDS))
TOOLS = [
    CatalogTool("aws:s3/CreateBucket", ToolDocument(name="CreateBucket", description="Create a new bucket with care.")),
    CatalogTool("aws:s3/DeleteBucket", ToolDocument(name="DeleteBucket", description="Delete a bucket and old one.")),
]
PAIRS = [
    Pair(query="버킷 만들기", tools=("aws:s3/CreateBucket",), lang="ko", style="plain"),
    Pair(query="please delete it", tools=("aws:s3/DeleteBucket", "github:none/here"), lang="en", style="plain"),
]
TRANSLATIONS = [Translation("ko", "버킷 만들기", "Create bucket"), Translation("ko", "버킷 지우기", "Delete bucket")]


def batches(mixture: Mixture, seed: int = 1) -> TrainingBatches:
    return TrainingBatches(
        tokenizer=TOKENIZER, pairs=PAIRS, tools=TOOLS, translations=TRANSLATIONS, mixture=mixture, seed=seed
    )


def test_the_same_seed_gives_the_same_batches() -> None:
    first, second = (list(islice(batches(Mixture(batch=8)), 20)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert (one.queries, one.documents) == (other.queries, other.documents)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_written_pairs_whose_tool_is_not_installed_are_left_out() -> None:
    batch = next(iter(batches(Mixture(written=1, catalog=0, translated=0, batch=8))))
    assert len(batch.queries) == len(batch.documents) == 2
    assert set(batch.labels.tolist()) == {0, 1}


def test_equal_english_strings_share_a_label() -> None:
    batch = next(iter(batches(Mixture(written=0, catalog=0, translated=1, batch=8))))
    texts = {tuple(text): label for text, label in zip(batch.documents, batch.labels.tolist(), strict=True)}
    assert len(texts) == len(set(texts.values())) == 2


def test_catalog_batches_fill_up_to_their_size() -> None:
    batch = next(iter(batches(Mixture(written=0, catalog=1, translated=0, batch=8))))
    assert 0 < len(batch.queries) <= 8
    assert all(batch.queries) and all(batch.documents)
