import json
import random
from pathlib import Path

from indexer.document import ToolDocument
from indexer.training.catalog_texts import (
    CatalogTool,
    held_out_operations,
    held_out_texts,
    self_supervised_pair,
    without_held_out,
)

DOCUMENT = ToolDocument(
    name="CreateBucket",
    namespace="aws.s3",
    description="Creates a new bucket in a region. The name must not be taken.",
    parameter_names="Bucket\nRegion",
    parameter_descriptions="Its name\nWhere it lies",
)


def test_a_tool_makes_pairs_of_two_different_parts_of_its_text() -> None:
    pairs = {self_supervised_pair(DOCUMENT, random.Random(seed)) for seed in range(40)}
    assert len(pairs) >= 5
    for pair in pairs:
        assert pair is not None
        query, text = pair
        assert query and text and query != text


def test_a_tool_that_says_nothing_makes_no_pair() -> None:
    assert self_supervised_pair(ToolDocument(name="x", description="Deletes."), random.Random(0)) is None


def test_the_same_seed_makes_the_same_pair() -> None:
    first, second = (self_supervised_pair(DOCUMENT, random.Random(3)) for _ in range(2))
    assert first == second


def test_operations_whose_text_stands_in_a_test_set_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "some-set").mkdir()
    record = {"id": "a", "name": "a", "description": "creates a NEW bucket in a region; the name must not be taken!"}
    (tmp_path / "some-set" / "tools.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    held_out = held_out_texts({"TOOLSCOUT_DATA": str(tmp_path)})
    other = CatalogTool("aws:s3/DeleteBucket", ToolDocument(name="DeleteBucket", description="Deletes a bucket."))
    kept = list(without_held_out([CatalogTool("aws:s3/CreateBucket", DOCUMENT), other], held_out))
    assert kept == [other]


def test_without_test_sets_nothing_is_left_out() -> None:
    assert held_out_texts({}) == frozenset()


def test_operations_of_our_own_test_sets_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "ko").mkdir()
    (tmp_path / "ko" / "tools.txt").write_text("aws.s3/CreateBucket\ngoogle.gmail.v1/users.drafts.list\n", "utf-8")
    operations = held_out_operations(tmp_path)
    assert operations == {"aws:s3/CreateBucket", "google:gmail.v1/users.drafts.list"}
    tool = CatalogTool("aws:s3/CreateBucket", DOCUMENT)
    assert list(without_held_out([tool], frozenset(), operations)) == []


def test_the_korean_set_of_this_repository_is_known() -> None:
    assert len(held_out_operations()) >= 600
