"""Our own contenders and the plain ones find the right rows; whole catalogs are filled, searched and written to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.bench.speed import dense, lexical, own_passes
from gateway.bench.speed.artefacts import lexical_file, load_lexical, load_tokens, word_files
from gateway.bench.speed.catalogs import KnownVectors, fill, start, writes
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.dense import batch_recall_check, recall_check
from gateway.bench.speed.grown import DenseFiles, Grower, dense_files, exact_top
from gateway.bench.speed.lanes import Settings, TimedCalls
from gateway.bench.speed.search import needed_check, own
from indexer import document_of
from indexer.embedders.hashing import HashingEmbedder
from indexer.lexical import FIELDS, tokenize
from tests.gateway.bench.speed.small_data import ENCODER, silent
from tests.gateway.bench.tokens.shop import shop_tools

ROWS = 3000


@pytest.fixture(scope="module")
def files(data: BenchData) -> DenseFiles:
    return dense_files(data, 256, ROWS, silent)


@pytest.fixture(scope="module")
def settings(files: DenseFiles) -> dict[str, Any]:
    return {"vectors": str(files.vectors), "queries": str(files.queries), "rows": ROWS}


def _answers(contender: TimedCalls, queries: int) -> dict[int, list[int]]:
    numbers = list(range(queries))
    return dict(zip(numbers, contender.turn(numbers).answers, strict=True))


@pytest.mark.parametrize("maker", [dense.full_scan, dense.naive, own_passes.planned, own_passes.certified])
def test_exact_contenders_have_a_recall_of_one(
    maker: Callable[[Settings], TimedCalls], settings: dict[str, Any], files: DenseFiles
) -> None:
    truth = np.load(files.truth).tolist()

    assert recall_check(truth)(_answers(maker(settings), len(truth))) == ("recall@10", 1.0)


def test_sign_bits_reach_the_recall_they_were_set_to(settings: dict[str, Any], files: DenseFiles) -> None:
    truth = np.load(files.truth).tolist()

    _, recall = recall_check(truth)(_answers(own_passes.bits(settings), len(truth)))

    assert recall >= 0.97


@pytest.mark.parametrize("maker", [own_passes.batch, dense.one_by_one, dense.naive_batch])
def test_batches_answer_every_query_in_one_call(
    maker: Callable[[Settings], TimedCalls], settings: dict[str, Any], files: DenseFiles
) -> None:
    truth = np.load(files.truth).tolist()

    assert batch_recall_check(truth)(_answers(maker(settings), 1)) == ("recall@10", 1.0)


@pytest.mark.parametrize("maker", [dense.filtered, dense.filtered_full_scan, dense.naive_filtered])
def test_filtered_contenders_find_the_nearest_rows_of_the_filter(
    maker: Callable[[Settings], TimedCalls], settings: dict[str, Any], files: DenseFiles, tmp_path: Path
) -> None:
    rows = np.arange(0, ROWS, 7)
    np.save(tmp_path / "filter.npy", rows)
    truth = exact_top(np.load(files.vectors), np.load(files.queries), rows).tolist()

    contender = maker({**settings, "filter": str(tmp_path / "filter.npy")})

    assert recall_check(truth)(_answers(contender, len(truth))) == ("recall@10", 1.0)


def test_a_wrong_answer_lowers_the_recall() -> None:
    check = recall_check([[1, 2], [3, 4]])

    assert check({0: [1, 2], 1: [3, 9]}) == ("recall@10", 0.75)


def test_words_find_the_needed_tool_in_our_index_and_in_plain_numpy(data: BenchData) -> None:
    index, tokens = word_files(data, 200, silent)
    given = {
        "requests": [request.text for request in data.requests],
        "index": str(index),
        "tokens": str(tokens),
    }
    check = needed_check([request.row for request in data.requests])

    for maker in (lexical.own, lexical.plain):
        assert check(_answers(maker(given), 1)) == ("needed tool in 10", 1.0)


def test_others_are_given_all_the_terms_of_each_tool(data: BenchData) -> None:
    tokens = load_tokens(str(word_files(data, 90, silent)[1]))

    assert len(tokens) == 90
    document = document_of(Grower(data).tool(77))
    assert tokens[77] == [term for field in FIELDS for term in tokenize(getattr(document, field))]


def test_an_index_made_alone_is_the_one_made_beside_the_words_for_others(data: BenchData) -> None:
    beside, _ = word_files(data, 60, silent)
    scores = load_lexical(str(beside)).scores("refund an order")
    beside.unlink()

    alone = lexical_file(data, 60, silent)

    assert alone == beside
    assert np.array_equal(load_lexical(str(alone)).scores("refund an order"), scores)


def test_the_lexical_index_after_changes_equals_a_fresh_one(data: BenchData) -> None:
    requests = ["refund an order", "list parcels", "supplier", "nothing like it"]

    record = lexical.equal_after_changes({"data": str(data.folder), "rows": 300, "requests": requests})

    assert record == {"equal": 1.0, "requests": 4}


def test_an_encoder_that_knows_its_vectors_gives_each_announced_tool_its_own() -> None:
    vectors = np.eye(4, 256, dtype=np.float32)
    known = KnownVectors(HashingEmbedder(), vectors)
    announced = known.announced(iter(shop_tools()))

    taken = [next(announced), next(announced)]
    views = known.embed_documents([tool.name for tool in taken] + [tool.description for tool in taken])
    assert np.array_equal(views, vectors[[0, 1, 0, 1]])

    taken = [next(announced), next(announced)]
    with pytest.raises(ValueError, match="3 texts of 2 tools"):
        known.embed_documents(["a", "b", "c"])


def test_a_filled_catalog_is_searched_and_written_to(data: BenchData, settings: dict[str, Any], tmp_path: Path) -> None:
    given = {
        **settings,
        "data": str(data.folder),
        "rows": 120,
        "home": str(tmp_path / "home"),
        "encoder": ENCODER,
        "requests": [request.text for request in data.requests],
        "needed": [request.row for request in data.requests],
    }

    filled = fill(given)
    assert (filled["tools"], filled["refused"]) == (120, 0)
    assert filled["tools_per_second"] > 0
    started = start(given)
    assert started["tools"] == 120
    assert started["found"] > 0
    written = writes(given)
    assert written["seen"] == 1.0
    contender = own(given)
    turn = contender.turn([0])
    contender.close()
    assert needed_check([0])({0: turn.answers[0]}) == ("needed tool in 10", 1.0)
