"""The benchmark of the loop plays its script, and says which peers are not there."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.loop_contestants import ROUNDS, timed, toolscout
from benchmarks.loop_overhead import main


@pytest.mark.parametrize("advisors", [0, 12])
async def test_a_run_of_the_script_ends_with_its_answer(advisors: int) -> None:
    [timing] = await timed(toolscout(advisors), warm_up=1, runs=1)
    assert timing.wall > 0


@pytest.mark.skipif(find_spec("langgraph") is not None, reason="the peers are installed here")
def test_peers_that_are_not_installed_are_shown_as_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", "2", "--warm-up", "1", "--blocks", "1", "--results", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "langgraph" in shown and "skipped: ModuleNotFoundError" in shown
    [path] = tmp_path.iterdir()
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["rounds_a_run"] == ROUNDS
    assert [loop["loop"] for loop in result["loops"] if "skipped" not in loop] == [
        "toolscout, 12 advisors",
        "toolscout, the loop alone",
    ]
