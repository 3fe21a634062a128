"""Data: what real tools are grown into, and the answers that contenders are checked with."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from gateway.bench.speed.data import BenchData, make_data
from gateway.bench.speed.grown import QUERIES, Grower, dense_files, exact_top
from indexer import document_of, short_text
from indexer.embedders.hashing import HashingEmbedder
from indexer.validation import judge
from tests.gateway.bench.speed.small_data import silent
from tests.gateway.bench.tokens.shop import shop_tools, single


def test_real_tools_come_first_with_the_needed_ones_in_front(data: BenchData) -> None:
    assert data.tools == 40
    assert str(data.tool(0).key) == "order/refund_order"
    assert [(request.text, request.row) for request in data.requests] == [("refund an order", 0)]
    assert {data.tool(row).key for row in range(40)} == {tool.key for tool in shop_tools()}


@pytest.mark.parametrize("dimensions", [256, 384])
def test_rows_and_requests_have_unit_norm_in_every_width(data: BenchData, dimensions: int) -> None:
    for rows in (data.vectors(dimensions), data.asked(dimensions)):
        assert rows.shape[1] == dimensions
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_the_second_width_is_another_encoders_where_there_is_one(tmp_path: Path) -> None:
    other = HashingEmbedder(384)

    make_data(tmp_path / "data", shop_tools(), HashingEmbedder(), [single()], origin={}, wide=other)

    made = BenchData(tmp_path / "data")
    texts = [short_text(document_of(made.tool(row))) for row in range(made.tools)]
    assert np.array_equal(made.vectors(384), other.embed_documents(texts))
    assert np.array_equal(made.asked(384), other.embed_queries(["refund an order"]))


def test_grown_tools_are_valid_and_none_replaces_another(data: BenchData) -> None:
    tools = list(Grower(data).tools(130))

    assert len({tool.key for tool in tools}) == 130
    assert all(judge(tool) is None for tool in tools)


def test_the_documents_of_grown_tools_are_what_is_read_of_the_tools(data: BenchData) -> None:
    assert list(Grower(data).documents(130)) == [document_of(tool) for tool in Grower(data).tools(130)]
    assert list(Grower(data).documents(7)) == [document_of(tool) for tool in Grower(data).tools(7)]


def test_a_larger_catalog_begins_with_the_smaller_one(data: BenchData) -> None:
    assert list(islice(Grower(data).tools(130), 90)) == list(Grower(data).tools(90))

    small, large = (np.concatenate(list(Grower(data).blocks(256, rows))) for rows in (90, 130))
    assert np.array_equal(large[:90], small)
    assert len(large) == 130


def test_grown_rows_are_new_unit_rows_near_the_tool_they_stand_for(data: BenchData) -> None:
    real, grown = list(Grower(data).blocks(256, 80))

    assert np.linalg.norm(grown, axis=1) == pytest.approx(1.0, abs=1e-5)
    nearest = (grown @ real.T).max(axis=1)
    assert 0.5 < np.median(nearest) < 0.999


def test_the_right_answers_are_the_nearest_rows_also_within_a_filter(data: BenchData) -> None:
    files = dense_files(data, 256, 200, silent)
    matrix, queries = np.load(files.vectors)[:200], np.load(files.queries)  # the file may hold more rows
    scores = queries.astype(np.float64) @ matrix.T.astype(np.float64)

    assert len(queries) <= QUERIES
    assert np.array_equal(np.load(files.truth), np.argsort(-scores, axis=1, kind="stable")[:, :10])
    odd = np.arange(1, 200, 2)
    assert np.array_equal(
        exact_top(matrix, queries, odd, k=3), odd[np.argsort(-scores[:, odd], axis=1, kind="stable")[:, :3]]
    )


def test_a_smaller_size_is_read_from_the_larger_file(data: BenchData) -> None:
    large, small = dense_files(data, 384, 150, silent), dense_files(data, 384, 60, silent)

    assert small.vectors == large.vectors
    assert np.load(small.truth).max() < 60
