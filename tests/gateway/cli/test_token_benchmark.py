"""`toolscout bench tokens` from the command line."""

import json
from pathlib import Path

from typer.testing import CliRunner

from gateway.cli.entry import app
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
