"""Contenders in processes of their own: they answer, fail and time out one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.bench.speed.lanes import LaneError
from gateway.bench.speed.processes import RemoteLane, Worker


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("dense")
    rows = np.eye(16, dtype=np.float32)
    np.save(folder / "vectors.npy", rows)
    np.save(folder / "queries.npy", rows)
    return {"vectors": str(folder / "vectors.npy"), "queries": str(folder / "queries.npy"), "rows": 16}


def _lane(worker: Worker, number: int, maker: str, settings: dict[str, Any]) -> RemoteLane:
    return RemoteLane(worker, number, maker, settings, open_seconds=60, turn_seconds=60)


def test_a_lane_goes_on_after_another_one_failed_and_after_its_process_was_ended(settings: dict[str, Any]) -> None:
    worker = Worker()
    try:
        ours, broken = _lane(worker, 0, "dense:full_scan", settings), _lane(worker, 1, "dense:nonesuch", settings)
        ours.open()

        with pytest.raises(LaneError, match="AttributeError"):
            broken.open()
        assert ours.turn([3]).answers[0][0] == 3

        with pytest.raises(LaneError, match="cut after 0 s"):
            worker.ask({"op": "turn", "lane": 0, "numbers": [1]}, seconds=0.0)
        turn = ours.turn([5, 6])
        assert [found[0] for found in turn.answers] == [5, 6]
        assert all(seconds > 0 for seconds in turn.seconds)
    finally:
        worker.stop()


def test_a_python_that_cannot_run_a_worker_is_a_reason_and_not_a_crash(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no module named numpy >&2\nexit 1\n")
    python.chmod(0o755)
    worker = Worker(str(python))

    with pytest.raises(LaneError, match="ended with code 1: no module named numpy"):
        worker.ask({"op": "close", "lane": 0}, seconds=60)
