import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from indexer.embedders.factory import make_embedder
from indexer.embedders.static import SHIPPED_TABLE, StaticEmbedder, TableFiles
from indexer.errors import EmbeddingError
from indexer.training.packing import sha256_of


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder.load()


def test_the_default_encoder_is_the_shipped_table(embedder: StaticEmbedder) -> None:
    made = make_embedder("static")
    assert isinstance(made, StaticEmbedder)
    assert made.embedder_id == embedder.embedder_id == json.loads(TableFiles(SHIPPED_TABLE).card.read_text())["name"]
    assert made.dimensions == 256


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("send a message to a colleague", "Post mail to a recipient", "Delete a storage bucket"),
        ("이메일을 보내 줘", "Send an e-mail message", "List virtual machines"),
        ("내일 서울 날씨 알려 줘", "Get the weather forecast of a city", "Create a database backup"),
        ("查询北京明天的天气", "Get the weather forecast of a city", "Create a database backup"),
        ("飛行機を予約したい", "Book a flight", "Restart a server"),
        ("удалить пользователя", "Delete a user account", "Get the weather forecast of a city"),
        ("احجز رحلة طيران", "Book a flight", "Restart a server"),
    ],
)
def test_meaning_is_matched_within_and_across_languages(
    embedder: StaticEmbedder, query: str, near: str, far: str
) -> None:
    asked = embedder.embed_queries([query])[0]
    documents = embedder.embed_documents([near, far])
    assert asked @ documents[0] > asked @ documents[1] + 0.1


def test_rows_are_unit_float32_and_empty_texts_are_zero(embedder: StaticEmbedder) -> None:
    vectors = embedder.embed_documents(["list the files", "", "파일 목록"])
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-5)


def test_a_query_alone_and_in_a_batch_is_the_same_vector(embedder: StaticEmbedder) -> None:
    texts = ["list the files of a folder", "서버 목록", ""]
    alone = np.concatenate([embedder.embed_queries([text]) for text in texts])
    np.testing.assert_allclose(alone, embedder.embed_queries(texts), atol=1e-5)


def test_the_tokens_of_a_text_are_the_same_after_it_was_encoded(embedder: StaticEmbedder) -> None:
    text = "describeVolumes: list the volumes of an account"
    before = list(embedder.tokens(text))
    embedder.embed_documents([text, "another one", ""])
    assert list(embedder.tokens(text)) == before
    assert list(embedder.tokens("")) == []


def test_of_many_texts_encoded_at_once_few_are_kept() -> None:
    embedder = StaticEmbedder.load()
    vectors = embedder.embed_documents([f"list {number}" for number in range(6_000)])
    assert vectors.shape == (6_000, 256)
    assert 0 < len(embedder._just_read) <= 2_048  # pyright: ignore[reportPrivateUsage]  what it costs in memory


def test_the_shipped_files_are_those_of_the_card_and_fit_the_budget() -> None:
    card = json.loads(TableFiles(SHIPPED_TABLE).card.read_text())
    for name, recorded in card["files"].items():
        assert sha256_of(SHIPPED_TABLE / name) == recorded["sha256"]
    assert sum(path.stat().st_size for path in SHIPPED_TABLE.iterdir()) <= 30_000_000
    assert (SHIPPED_TABLE / "NOTICE").exists()


def test_a_missing_table_is_named_with_the_way_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="indexer.training.base_table"):
        StaticEmbedder.load(tmp_path)


def test_a_table_with_a_piece_too_few_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED_TABLE, tmp_path / "static")
    pieces = TableFiles(tmp_path / "static").pieces
    pieces.write_text(pieces.read_text(encoding="utf-8").rsplit("\n", 1)[0], encoding="utf-8")
    with pytest.raises(EmbeddingError, match="damaged"):
        StaticEmbedder.load(tmp_path / "static")


def test_the_default_encoder_loads_neither_torch_nor_a_compiled_tokenizer() -> None:
    heavy = "{'torch', 'sentence_transformers', 'tokenizers', 'transformers'}"
    program = (
        "import sys\n"
        "from indexer.embedders.factory import make_embedder\n"
        "make_embedder('static').embed_queries(['hello'])\n"
        f"assert not {heavy} & set(sys.modules), sorted({heavy} & set(sys.modules))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
