"""The documents say what is there: settings, routes, commands, dependencies; and their code runs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
import typer

from gateway.app import build_app
from gateway.cli.entry import app as command
from tests.gateway.serving import services_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_setting_that_the_code_reads_is_documented() -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for room in ("gateway", "indexer")
        for path in (ROOT / room).rglob("*.py")
        if "training" not in path.parts  # scripts for whoever makes the encoder, explained where they are
    ]
    read = {name for text in sources for name in re.findall(r"\bTOOLSCOUT_[A-Z_]+\b", text)}
    table = README.partition("## Settings")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(TOOLSCOUT_[A-Z_]+)`", table))
    assert read == documented


async def test_every_route_is_documented() -> None:
    async with services_of() as services:
        paths = cast("dict[str, dict[str, Any]]", build_app(services).openapi()["paths"])
    table = README.partition("## The HTTP interface")[2].partition("\n## ")[0]
    missing = [
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method in methods
        if path.replace("{name:path}", "{name}") not in table or method.upper() not in table
    ]
    assert missing == []


def test_every_command_is_documented() -> None:
    group = cast("Any", typer.main.get_command(command))
    table = README.partition("## The command")[2].partition("\n## ")[0]
    words = set(re.findall(r"[a-z]+", table))
    assert set(group.commands) <= words


def test_every_make_target_is_explained_by_make_help() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    explained = set(re.findall(r"^([a-z-]+):.*## \S", MAKEFILE, re.MULTILINE))
    assert set(phony.split()) == explained


def test_every_dependency_has_its_reason() -> None:
    table = ARCHITECTURE.partition("## Dependencies")[2]
    project = PROJECT["project"]
    extras = [entry for entries in project["optional-dependencies"].values() for entry in entries]
    named = [re.split(r"[\[<>=!~;]", entry)[0] for entry in [*project["dependencies"], *extras]]
    assert [name for name in named if name != "toolscout" and f"`{name}`" not in table] == []
    assert [extra for extra in project["optional-dependencies"] if f"extra `{extra}`" not in table] == []


def test_every_room_of_the_architecture_exists() -> None:
    rooms = re.findall(r"^\| (`.*?) \|", ARCHITECTURE.partition("## The rooms")[2], re.MULTILINE)
    for row in rooms[: rooms.index(next(row for row in rooms if "cli/" in row)) + 1]:
        base = ""
        for name in re.findall(r"`([^`]+)`", row):
            base = name.split("/", 1)[0] if "/" in name and name.startswith(("indexer", "gateway")) else base
            place = name if name.startswith(("indexer", "gateway")) else f"{base}/{name}"
            assert (ROOT / place).exists(), place


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_python_code_of_the_readme_runs() -> None:
    blocks = re.findall(r"(<!-- not run[^\n]*-->\n)?```py\n(.*?)```", README, re.DOTALL)
    runnable = [code for skipped, code in blocks if not skipped]
    assert runnable
    for code in runnable:
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "A-1042 is refunded" in ran.stdout


def test_locks_name_no_index_and_no_torch() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert not re.search(r"^(torch|nvidia|--)", text, re.MULTILINE)
        pins = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert all("==" in line for line in pins)
