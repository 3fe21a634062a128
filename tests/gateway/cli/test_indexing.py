"""Indexing from the command line: what is reported, and with which exit code."""

import json
import sys
from pathlib import Path

import pytest

from gateway.cli.catalog import catalog_home
from gateway.registry.remembered_sources import remembered_sources, server_place
from tests.gateway.cli.conftest import TOOLS, Run


@pytest.fixture(params=["opened", "served"], autouse=True)
def way(request: pytest.FixtureRequest) -> str:
    """Every test runs over a home that the command opens and over one that a gateway owns."""
    if request.param == "served":
        request.getfixturevalue("gateway")
    return str(request.param)


def test_a_second_run_changes_nothing(run: Run, tools_file: Path, way: str) -> None:
    first = run("index", str(tools_file), "--json")
    again = run("index", str(tools_file), "--json")
    assert first.code == again.code
    assert again.json["added"] == 0
    assert again.json["unchanged"] == len(TOOLS)


def test_a_bad_line_is_reported_and_the_rest_is_taken(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    lines = [json.dumps({"name": "good_tool", "description": "Good."}), "{broken", json.dumps({"description": "?"})]
    path.write_text("\n".join(lines), encoding="utf-8")
    indexed = run("index", str(path), "--json")
    assert indexed.code == 1
    assert indexed.json["added"] + indexed.json["unchanged"] == 1
    assert [entry["place"] for entry in indexed.json["refused"]] == ["line 2", "line 3"]
    shown = run("index", str(path))
    assert "line 2" in shown.out
    assert "2 refused" in shown.out


def test_a_tool_in_quarantine_is_reported_and_listed_with_its_reason(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "odd", "input_schema": {"type": "no-such-type"}}]), encoding="utf-8")
    indexed = run("index", str(path), "--json")
    assert indexed.code == 1
    [entry] = indexed.json["quarantined"]
    assert "odd" in entry["tool"]
    listed = run("list", "--quarantined", "--json").json["tools"]
    assert [tool["name"] for tool in listed] == ["odd"]
    assert listed[0]["reason"]


def test_one_source_that_cannot_be_read_does_not_stop_the_others(run: Run, tools_file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    indexed = run("index", str(empty), str(tools_file), "--json")
    assert indexed.code == 4
    assert indexed.json["added"] + indexed.json["unchanged"] == len(TOOLS)
    assert str(empty) in indexed.json["errors"][0]["source"] or "empty" in indexed.json["errors"][0]["source"]


def test_a_source_that_does_not_exist_is_named(run: Run, tmp_path: Path) -> None:
    missing = run("index", str(tmp_path / "nothing.json"))
    assert missing.code == 4
    assert "nothing.json" in missing.err
    assert "Traceback" not in missing.err


def test_where_the_command_of_an_mcp_server_was_given_is_kept_with_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(__file__).parents[2] / "indexer" / "sources"
    monkeypatch.chdir(folder)
    command = f"mcp:{sys.executable} odd_mcp_server.py"
    indexed = run("index", command, "--json")
    assert indexed.json["added"] + indexed.json["unchanged"] > 0, indexed.err
    kept = remembered_sources(catalog_home())
    assert (kept["odd"], kept[server_place("odd")]) == (command, str(folder))


def test_the_bar_is_on_stderr_so_that_json_stays_clean(run: Run, tools_file: Path) -> None:
    indexed = run("index", str(tools_file), "--json")
    assert "tools.jsonl" in indexed.err
    assert isinstance(indexed.json, dict)
