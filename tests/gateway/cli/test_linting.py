"""Linting from the command line: what is said, and with which exit code."""

import json
from pathlib import Path
from typing import Any

from tests.gateway.cli.conftest import Run

CLEAR: dict[str, Any] = {
    "name": "refund_order",
    "description": "Refund a paid order. Use it when a customer wants their money back; call it once for each order.",
}


def written(folder: Path, *tools: dict[str, Any]) -> str:
    path = folder / "tools.json"
    path.write_text(json.dumps(tools), encoding="utf-8")
    return str(path)


def test_clear_tools_pass(run: Run, tmp_path: Path, home: Path) -> None:
    linted = run("lint", written(tmp_path, CLEAR))
    assert linted.code == 0
    assert linted.out == "1 tool: 0 errors, 0 warnings\n"
    assert "tools.json" in linted.err and "1/1" in linted.err  # how far it is
    assert not home.exists()


def test_an_error_fails_a_build_and_a_warning_only_a_strict_one(run: Run, tmp_path: Path) -> None:
    warned = written(tmp_path, {**CLEAR, "description": "Refund a paid order when asked."})
    assert run("lint", warned).code == 0
    strict = run("lint", warned, "--strict")
    assert strict.code == 1
    assert "does not say when to stop" in strict.out
    assert run("lint", written(tmp_path, {"name": "refund_order"})).code == 1


def test_findings_are_data_for_programs(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, CLEAR, {"name": "list_orders"}, {"description": "nameless"})
    linted = run("lint", path, "--json")
    assert linted.code == 1
    assert linted.json["tools"] == 3
    assert linted.json["errors"] == []
    missing, nameless = linted.json["findings"]
    assert missing == {
        "tool": "default/list_orders",
        "rule": "description-missing",
        "level": "error",
        "message": "there is no description: only its name can find it",
        "fix": "Say what it does, when to use it, and when to stop.",
    }
    assert (nameless["rule"], nameless["level"]) == ("unusable", "error")


def test_a_source_that_cannot_be_read_is_told_after_the_others(run: Run, tmp_path: Path) -> None:
    linted = run("lint", str(tmp_path / "nothing.json"), written(tmp_path, CLEAR), "--json")
    assert linted.code == 4
    assert linted.json["tools"] == 1
    assert "nothing.json" in linted.json["errors"][0]["source"]
