"""`toolscout bench speed`: what it refuses before it measures, and where its figures go."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.exits import Exit
from gateway.cli.speed_benchmark import SpeedOptions, hand_over
from tests.gateway.bench.speed.small_record import small_record
from tests.gateway.cli.conftest import Run


def test_the_help_names_every_option(run: Run) -> None:
    outcome = run("bench", "speed", "--help")

    assert outcome.code == 0
    for option in ("--quick", "--peers", "--peer-python", "--million", "--only", "--json", "--markdown", "--plots"):
        assert option in outcome.out


@pytest.mark.parametrize("given", ["adk-tool-search", "adk-tool-search=/no/such/python"])
def test_a_python_for_a_peer_must_be_named_and_there(run: Run, given: str) -> None:
    outcome = run("bench", "speed", "--peer-python", given)

    assert outcome.code == 2
    assert "write NAME=PATH" in outcome.err


@pytest.mark.parametrize("content", [None, "no JSON", "{}"])
def test_a_baseline_that_cannot_be_read_is_refused_before_anything_is_measured(
    run: Run, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "baseline.json"
    if content is not None:
        file.write_text(content)

    outcome = run("bench", "speed", "--baseline", str(file))

    assert outcome.code == 2
    assert str(file) in outcome.err


@pytest.mark.parametrize("option", ["--json", "--markdown"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(
    run: Run, tmp_path: Path, option: str
) -> None:
    for file, problem in ((tmp_path / "none" / "speed", "there is no folder"), (tmp_path, "it is a folder")):
        outcome = run("bench", "speed", f"{option}={file}")
        assert outcome.code == 2
        assert f"{option} {file} cannot be written: {problem}" in outcome.err


def test_a_row_that_does_not_exist_is_refused_with_those_that_do(run: Run) -> None:
    outcome = run("bench", "speed", "--only", "nothing")

    assert outcome.code == 2
    assert "--only nothing: no row has that in its key: " in outcome.err
    assert "dense-100k-384" in outcome.err


def test_outputs_are_written_beside_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = SpeedOptions(json_file=str(tmp_path / "speed.json"), markdown_file=tmp_path / "speed.md")

    assert hand_over(small_record(), None, options) is Exit.OK

    assert json.loads((tmp_path / "speed.json").read_text())["races"][0]["key"] == "dense-100k-384"
    assert (tmp_path / "speed.md").read_text().startswith("# Search speed")
    assert "10 nearest of 100,000 x 384" in capsys.readouterr().out


def test_json_without_a_file_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    hand_over(small_record(), None, SpeedOptions(json_file="-"))

    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert printed["schema"] == 1


@pytest.mark.parametrize(("fail", "code"), [(True, Exit.NOTHING), (False, Exit.OK)])
def test_a_regression_fails_the_run_only_where_that_was_asked_for(
    fail: bool, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SpeedOptions(fail_on_regression=fail)

    assert hand_over(small_record(faiss=1.0), small_record(faiss=1.5), options) is code

    assert "REGRESSION" in capsys.readouterr().out


def test_a_run_within_the_tolerance_passes(capsys: pytest.CaptureFixture[str]) -> None:
    options = SpeedOptions(fail_on_regression=True, tolerance=0.5)

    assert hand_over(small_record(faiss=1.0), small_record(faiss=1.5), options) is Exit.OK
    assert "REGRESSION" not in capsys.readouterr().out


def test_a_run_that_measured_nothing_says_so_by_its_exit_code() -> None:
    assert hand_over({**small_record(), "races": [], "figures": []}, None, SpeedOptions()) is Exit.NOTHING
