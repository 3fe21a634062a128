"""From folders of judged sets to a report."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from gateway.bench.bm25_baseline import Bm25Baseline
from gateway.bench.quality import run_quality
from gateway.bench.quality_figures import report_to_record
from gateway.bench.quality_report import render_markdown
from gateway.bench.retrieval_sets import RetrievalSetError, find_sets, half_of, load_set
from indexer import ToolDefinition

_TOOLS = [
    {"id": "shop/refund", "name": "refundOrder", "namespace": "shop", "description": "Give money back"},
    {"id": "shop/cancel", "name": "cancel_order", "namespace": "shop", "description": "Cancel an order"},
    {"id": "weather", "name": "weather", "namespace": None, "description": None, "input_schema": None},
    {"id": "ko", "name": "날씨_조회", "description": "도시의 날씨를 조회합니다"},
]
_QUERIES = [
    {"id": "q1", "text": "refund my order", "lang": "en"},
    {"id": "q2", "text": "what is the weather", "lang": "en"},
    {"id": "q3", "text": "오늘 날씨 조회", "lang": "ko"},
    {"id": "unjudged", "text": "nobody judged this"},
]
_QRELS = "q1\tshop/refund\t1\nq1\tshop/cancel\t1\nq2\tweather\t1\nq2\tko\t0\nq3\tko\t1\n"


def _write_set(folder: Path, *, qrels: str = _QRELS, **extra: Any) -> Path:
    folder.mkdir(parents=True)
    for name, records in (("tools", _TOOLS), ("queries", _QUERIES), *extra.items()):
        text = "\n".join(json.dumps(record) for record in records) + "\n"
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_a_run_measures_every_set_and_says_what_it_measured(tmp_path: Path) -> None:
    for name in ("small", "other"):
        _write_set(tmp_path / name)
    (tmp_path / "notes").mkdir()
    heard: list[tuple[str, int, int]] = []

    def hear(name: str, done: int, queries: int) -> None:
        heard.append((name, done, queries))

    report = run_quality(tmp_path, encoder="hashing", progress=hear)
    record = json.loads(json.dumps(report_to_record(report)))

    assert record["encoder"].startswith("hashing")
    assert [entry["set"] for entry in record["sets"]] == ["other", "small"]
    entry = record["sets"][0]
    assert (entry["tools"], entry["queries"]) == (4, 3)
    assert entry["hit@1"] == 100
    assert set(entry) >= {
        "ndcg@10", "recall@1", "recall@5", "recall@10", "mrr", "completeness@10", "hit@1", "p50_ms", "ci95",
    }  # fmt: skip
    assert entry["ci95"][0] <= entry["ndcg@10"] <= entry["ci95"][1]
    assert set(entry["peers"]) == {"bm25-json", "bm25-fields"}
    assert entry["abstention"]["negatives"] is None
    assert 0 <= entry["abstention"]["removed"]["refused_at_95_kept"] <= 100
    assert heard[-1] == ("small", 3, 3)


def test_the_report_for_people_shows_every_set_and_the_mean(tmp_path: Path) -> None:
    _write_set(tmp_path / "small")
    _write_set(tmp_path / "other", negatives=[{"id": "n1", "text": "sing for me"}])

    text = render_markdown(run_quality(tmp_path, encoder="hashing"))

    assert "| small | 4 | 3 |" in text
    assert "| **mean** |" in text
    assert text.count("█") > 10


def test_halves_are_fixed_and_make_up_the_whole(tmp_path: Path) -> None:
    folder = _write_set(tmp_path / "small")
    halves = [{query.id for query in load_set(folder, split).queries} for split in ("dev", "test")]

    assert halves[0] | halves[1] == {"q1", "q2", "q3"}
    assert not halves[0] & halves[1]
    assert zlib.crc32(b"q1") % 2 == 0
    assert half_of("q1") == "dev"


def test_a_long_set_is_sampled_the_same_way_each_time(tmp_path: Path) -> None:
    folder = _write_set(tmp_path / "small")

    first, second = (load_set(folder, max_queries=2).queries for _ in range(2))

    assert first == second
    assert len(first) == 2


def test_any_tool_of_a_group_meets_the_need_and_tools_in_no_group_are_needs_of_their_own(tmp_path: Path) -> None:
    folder = _write_set(tmp_path / "small", qrels="q1\tshop/refund\t1\nq1\tshop/cancel\t1\nq1\tko\t1\n")
    (folder / "groups.json").write_text(json.dumps({"q1": [["shop/refund", "shop/cancel"]]}))

    assert load_set(folder).queries[0].needs == (frozenset({0, 1}), frozenset({3}))


def test_requests_that_nothing_serves_are_read_beside(tmp_path: Path) -> None:
    folder = _write_set(tmp_path / "small", negatives=[{"id": "n1", "text": "sing for me"}])

    assert load_set(folder).negatives == ("sing for me",)


def test_a_folder_may_be_a_set_itself_and_one_without_sets_is_refused(tmp_path: Path) -> None:
    folder = _write_set(tmp_path / "small")
    assert find_sets(folder) == (folder,)
    with pytest.raises(RetrievalSetError, match=r"no test set here.*tools\.jsonl"):
        find_sets(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("qrels.tsv", "q1 shop/refund 1\n", r"qrels\.tsv, line 1: expected query, tool and gain"),
        ("qrels.tsv", "q1\tnobody\t1\n", "query 'q1' names tool 'nobody'"),
        ("tools.jsonl", "{]\n", r"tools\.jsonl, line 1: not JSON"),
        ("tools.jsonl", '{"id": "a"}\n', r"tools\.jsonl, line 1: expected an object with id and name"),
        ("queries.jsonl", "[]\n", r"queries\.jsonl, line 1: expected an object with"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = _write_set(tmp_path / "small")
    (folder / file).write_text(text)

    with pytest.raises(RetrievalSetError, match=message):
        load_set(folder)


def test_the_baselines_find_by_words_the_one_with_plain_the_other_with_split_identifiers() -> None:
    tools = [ToolDefinition(name="refundOrder"), ToolDefinition(name="weather"), ToolDefinition(name="날씨조회")]

    assert Bm25Baseline(tools, "json").rank("order", 3) == []
    assert Bm25Baseline(tools, "fields").rank("order", 3) == [0]
    assert Bm25Baseline(tools, "fields").rank("날씨", 3) == [2]
    assert Bm25Baseline([], "fields").rank("order", 3) == []
