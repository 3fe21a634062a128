"""The command line as a user meets it: over a home of its own, opened by the command or served by a gateway."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import main
from gateway.home import ServerRecord, live_server

TOOLS = [
    {
        "name": "refund_order",
        "namespace": "shop",
        "description": "Refund a paid order.",
        "tags": ["orders"],
        "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    {"name": "list_orders", "namespace": "shop", "description": "List orders.", "tags": ["orders"]},
    {"name": "get_weather", "namespace": "weather", "description": "Weather forecast of a city."},
    {"name": "list_orders", "namespace": "archive", "description": "List old orders."},
]


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `toolscout ARGUMENTS` in this process."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["toolscout", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for every test, with a small encoder; what the developer has set does not count."""
    for name in [name for name in os.environ if name.startswith("TOOLSCOUT_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("TOOLSCOUT_HOME", str(folder))
    monkeypatch.setenv("TOOLSCOUT_ENCODER", "hashing")
    monkeypatch.setenv("COLUMNS", "200")
    return folder


@pytest.fixture
def tools_file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.jsonl"
    path.write_text("".join(json.dumps(tool) + "\n" for tool in TOOLS), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def served_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home that a gateway owns, as `toolscout serve` starts it; one for all tests, for it takes seconds to start."""
    home = tmp_path_factory.mktemp("served")
    settings = {"TOOLSCOUT_HOME": str(home), "TOOLSCOUT_ENCODER": "hashing"}
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSCOUT_")}
    command = [sys.executable, "-m", "gateway.cli", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=foreign | settings)
    assert process.stdout is not None
    try:
        # The line is written once requests are answered; a gateway that fails to start ends the output instead.
        while line := process.stdout.readline():
            if "ready at" in line:
                break
        yield home
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


@pytest.fixture
def gateway(served_home: Path, monkeypatch: pytest.MonkeyPatch) -> ServerRecord:
    """A gateway that owns the home of this test."""
    monkeypatch.setenv("TOOLSCOUT_HOME", str(served_home))
    record = live_server(served_home)
    assert record is not None, "the gateway did not start"
    return record


@pytest.fixture(params=["opened", "served"])
def catalog(request: pytest.FixtureRequest, run: Run, tools_file: Path) -> str:
    """Four tools in the catalog, reached in both ways."""
    if request.param == "served":
        request.getfixturevalue("gateway")
    indexed = run("index", str(tools_file), "--json")
    assert indexed.code == 0, indexed.err
    assert indexed.json["added"] + indexed.json["unchanged"] == len(TOOLS)
    return str(request.param)
