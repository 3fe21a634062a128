"""The command line itself: what it promises to scripts, and how light it starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.cli.conftest import Run


def test_help_names_every_exit_code(run: Run) -> None:
    shown = run("--help")
    assert shown.code == 0
    for code in ("0 all well", "1 nothing found", "2 the", "3 the catalog", "4 a source"):
        assert code in " ".join(shown.out.split())


def test_version_is_the_distributions(run: Run) -> None:
    assert run("--version").out.startswith("toolscout 0.")


@pytest.mark.parametrize(
    "arguments", [("search",), ("nonsense",), ("search", "x", "-k", "0"), ("serve", "--port", "x")]
)
def test_a_wrong_command_line_exits_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 2


@pytest.mark.parametrize(
    ("name", "value", "command"),
    [
        ("TOOLSCOUT_PORT", "eighty", "serve"),
        ("TOOLSCOUT_ENCODER", "no-such-encoder", "list"),
        ("TOOLSCOUT_HOST", "0.0.0.0", "serve"),
    ],
)
def test_a_wrong_setting_is_explained_without_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, command: str
) -> None:
    monkeypatch.setenv(name, value)
    refused = run(command)
    assert refused.code == 2
    assert value in refused.err
    assert refused.err.startswith("toolscout: ")
    assert "Traceback" not in refused.err


def test_asking_a_running_gateway_imports_nothing_heavy() -> None:
    code = (
        "import sys, gateway.cli.catalog_commands, gateway.remote; "
        "print([name for name in ('numpy', 'fastapi', 'httpx', 'mcp', 'qdrant_edge', 'rich', 'asyncio') "
        "if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_a_terminal_that_is_no_utf_8_shows_what_it_can_and_programs_get_all(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"name": "주문_조회"}]), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "gateway.cli", "lint", str(file)]
    shown, as_json = (
        subprocess.run([*command, *options], capture_output=True, check=False, env=environment)
        for options in ([], ["--json"])
    )
    assert shown.returncode == as_json.returncode == 1
    assert b"default/??_??" in shown.stdout
    assert json.loads(as_json.stdout.decode("ascii"))["findings"][0]["tool"] == "default/주문_조회"
