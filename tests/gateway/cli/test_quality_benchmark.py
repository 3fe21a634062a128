"""`toolscout bench quality`: where its figures go, and which encoder and peers it takes."""

import json
from pathlib import Path

import pytest

from tests.gateway.cli.conftest import Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "sets" / "small"
    folder.mkdir(parents=True)
    tools = [{"id": name, "name": name, "description": name} for name in ("refund", "weather")]
    (folder / "tools.jsonl").write_text("\n".join(json.dumps(tool) for tool in tools))
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q1", "text": "weather in Rome"}))
    (folder / "qrels.tsv").write_text("q1\tweather\t1\n")
    return folder.parent


@pytest.mark.parametrize("json_option", [("--json",), ("--json", "-"), ("--json", "--split", "all"), ("--json=-",)])
def test_json_without_a_file_is_printed_in_place_of_the_report(
    run: Run, data: Path, json_option: tuple[str, ...]
) -> None:
    outcome = run("bench", "quality", "--data", str(data), "--encoder", "hashing", *json_option)

    assert outcome.code == 0
    assert set(outcome.json) >= {"encoder", "sets"}
    assert outcome.json["split"] == "all"
    (entry,) = outcome.json["sets"]
    assert list(entry)[:12] == [
        "set", "tools", "queries", "ndcg@10", "recall@1", "recall@5", "recall@10", "mrr", "completeness@10", "hit@1",
        "p50_ms", "ci95",
    ]  # fmt: skip


def test_json_is_written_to_a_file_beside_the_report(run: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"

    outcome = run("bench", "quality", "--data", str(data), "--encoder", "hashing", "--json", str(file))

    assert json.loads(file.read_text())["encoder"].startswith("hashing")
    assert outcome.out.startswith("# Search quality")


def test_a_file_that_cannot_be_written_is_refused_before_the_run(run: Run, data: Path, tmp_path: Path) -> None:
    outcome = run("bench", "quality", "--data", str(data), "--json", str(tmp_path / "none" / "quality.json"))
    assert outcome.code == 2
    assert f"there is no folder {tmp_path / 'none'}" in outcome.err


def test_an_encoder_that_does_not_exist_is_a_usage_error(run: Run, data: Path) -> None:
    outcome = run("bench", "quality", "--data", str(data), "--encoder", "nonesuch")

    assert outcome.code == 2
    assert "nonesuch" in outcome.err


def test_peers_are_measured_or_said_to_be_missing(run: Run, data: Path) -> None:
    outcome = run("bench", "quality", "--data", str(data), "--encoder", "hashing", "--peers", "--json")

    (entry,) = outcome.json["sets"]
    names = {"fastmcp-bm25", "callbus-bm25", "graph-tool-call", "adk-tool-search", "dehydrator"}
    assert names <= set(entry["peers"]) | set(entry["skipped"])
