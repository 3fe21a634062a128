"""A gateway in a process of its own: loaded, written to while it is searched, and in front of a model."""

from pathlib import Path

import pytest

from gateway.bench.speed.bench import Bench, Options
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.http_figures import HttpPlan, search_figures, stream_figures, writing_figures
from gateway.bench.speed.lanes import LaneError
from gateway.bench.speed.serving import served
from tests.gateway.bench.speed.small_data import ENCODER, silent

_PLAN = HttpPlan(rows=120, connections=4, rate=50.0, seconds=0.5, calls=5)


@pytest.mark.slow
def test_every_figure_over_http_is_measured_with_right_answers(data: BenchData) -> None:
    bench = Bench(data=data, encoder=ENCODER, options=Options(), heard=silent)

    figures = [*search_figures(bench, _PLAN), *writing_figures(bench, _PLAN), *stream_figures(bench, _PLAN)]
    found = {figure.key: figure for figure in figures}

    assert set(found) == {
        "http-closed-0k", "http-open-p50-0k", "http-open-p99-0k", "http-writes-p50-0k", "http-writes-p99-0k",
        "http-writes-health-0k", "stream-overhead",
    }  # fmt: skip
    for key in ("http-closed-0k", "http-open-p50-0k", "http-writes-p99-0k"):
        assert found[key].value > 0
        assert "0 failed, needed tool in 10: 1.000" in found[key].check
    assert found["http-writes-health-0k"].details["written"] > 0
    assert found["stream-overhead"].details["through_ms"] > found["stream-overhead"].details["direct_ms"] > 0
    assert list(data.folder.glob("*.served-*")) == []


@pytest.mark.slow
def test_a_gateway_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()

    with (
        pytest.raises(LaneError, match="ended with code 2.*nonesuch"),
        served(tmp_path / "home", {"TOOLSCOUT_ENCODER": "nonesuch"}),
    ):
        pass

    assert list(tmp_path.glob("*.served-*")) == []
