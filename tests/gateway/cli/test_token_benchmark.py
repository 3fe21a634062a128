"""`toolscout bench tokens` from the command line."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.entry import app
from gateway.errors import ConfigurationError
from indexer import SourceError
from tests.gateway.bench.tokens.shop import shop_tools


def _catalog(folder: Path) -> Path:
    file = folder / "tools.jsonl"
    lines = [
        json.dumps(
            {
                "name": tool.name,
                "namespace": tool.namespace,
                "description": tool.description,
                "input_schema": dict(tool.input_schema),
            }
        )
        for tool in shop_tools()
    ]
    file.write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    return file


def test_one_command_measures_an_own_catalog_and_writes_all_its_outputs(tmp_path: Path) -> None:
    outputs = {name: tmp_path / f"report.{name}" for name in ("json", "html", "markdown")}
    arguments = [f"--{name}={path}" for name, path in outputs.items()]

    result = CliRunner().invoke(app, ["bench", "tokens", "--quick", f"--catalog={_catalog(tmp_path)}", *arguments])

    assert result.exit_code == 0, result.output
    record = json.loads(outputs["json"].read_text(encoding="utf-8"))
    assert result.stdout.startswith(record["answer"])
    assert record["conversations"]["drawn_from_descriptions"] is True
    assert record["catalog"]["refused"] == 1
    assert outputs["markdown"].read_text(encoding="utf-8") == result.stdout
    assert "<h1>" in outputs["html"].read_text(encoding="utf-8")


def test_json_may_go_to_stdout(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["bench", "tokens", "--quick", "--size=10", f"--catalog={_catalog(tmp_path)}", "--json=-"]
    )

    assert json.loads(result.stdout)["settings"]["sizes"] == [10]


def test_conversations_that_the_catalog_cannot_serve_are_nothing_to_measure(tmp_path: Path) -> None:
    turn = {"user": "Hi", "needs": [{"tool": "no/tool", "queries": ["x"]}], "answer": "Hi."}
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"id": "a", "lang": "en", "kind": "single", "turns": [turn]}))

    result = CliRunner().invoke(
        app, ["bench", "tokens", "--quick", f"--catalog={_catalog(tmp_path)}", f"--conversations={file}"]
    )

    assert result.exit_code == 1
    assert "Nothing was measured" in result.stdout


def test_what_would_fail_after_the_run_fails_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLSCOUT_UPSTREAM_URL", raising=False)
    for option in ("json", "html", "markdown", "svg"):
        result = CliRunner().invoke(app, ["bench", "tokens", f"--{option}={tmp_path}/none/report"])
        assert isinstance(result.exception, ConfigurationError)
        assert str(result.exception).startswith(
            f"--{option} {tmp_path}/none/report cannot be written: there is no folder"
        )
    live = CliRunner().invoke(app, ["bench", "tokens", "--live"])
    assert isinstance(live.exception, ConfigurationError)
    assert "TOOLSCOUT_UPSTREAM_URL" in str(live.exception)


def test_a_catalog_of_which_nothing_can_be_read_is_a_failed_source(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "tokens", "--quick", f"--catalog={tmp_path}/none.json"])

    assert isinstance(result.exception, SourceError)
    assert "none.json: there is no such file" in str(result.exception)
    assert result.stdout == ""


def test_more_prompt_tokens_than_without_are_called_more(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"name": "ping", "description": "Check that a host answers."}), encoding="utf-8")

    result = CliRunner().invoke(app, ["bench", "tokens", "--quick", "--size=10", f"--catalog={file}", "--json=-"])

    assert re.search(
        r"with all tools, \d+\.\d% more \(95 % interval of the saving -", json.loads(result.stdout)["answer"]
    )
