"""The command line itself: what it promises to scripts, and how light it starts."""

import subprocess
import sys

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
