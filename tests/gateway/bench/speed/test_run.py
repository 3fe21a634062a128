"""A whole run over small data: what it records, and what it says of rows and peers that it could not measure."""

from datetime import UTC, datetime
from typing import Any

from gateway.bench.speed.bench import Bench, Options
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.figures import short_load_figures
from gateway.bench.speed.report import render_markdown
from gateway.bench.speed.run import run_speed
from gateway.bench.speed.text_rows import filled, search_settings
from tests.gateway.bench.speed.small_data import ENCODER, silent

_STARTED = datetime(2026, 11, 30, tzinfo=UTC)


def _run(data: BenchData, options: Options, encoder: str = ENCODER) -> dict[str, Any]:
    bench = Bench(data=data, encoder=encoder, options=options, heard=silent)
    return run_speed(bench, now=lambda: _STARTED)


def test_a_run_records_its_rows_with_right_answers_and_names_the_peers_it_left_out(data: BenchData) -> None:
    record = _run(data, Options(quick=False, only=("dense-1k-256",)))

    (race,) = record["races"]
    results = {result["name"]: result for result in race["results"]}
    assert list(results) == ["toolscout", "numpy X.max(), the memory limit", "numpy X@q + argpartition"]
    assert results["toolscout"]["check"] == ["recall@10", 1.0]
    assert results["toolscout"]["ratio"] == [1.0, 1.0, 1.0]
    assert results["numpy X@q + argpartition"]["ms"][0] > 0
    assert race["skipped"]["faiss flat"] == "not asked for: --peers"
    assert record["started"] == "2026-11-30T00:00:00+00:00"
    assert record["failed"] == {}
    assert "10 nearest of 1,000 x 256" in render_markdown(record)


def test_a_run_that_is_interrupted_keeps_what_it_has(data: BenchData) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if "x 384" in stage:
            raise KeyboardInterrupt

    bench = Bench(data=data, encoder=ENCODER, options=Options(only=("dense-1k-256", "batch-10k")), heard=interrupt)

    record = run_speed(bench)

    assert [race["key"] for race in record["races"]] == ["dense-1k-256"]
    assert "not measured" in record["failed"]["interrupted"]


def test_a_row_that_fails_is_named_and_the_others_are_measured(data: BenchData) -> None:
    record = _run(data, Options(only=("write-10k", "dense-1k-384")), encoder="nonesuch")

    assert [race["key"] for race in record["races"]] == ["dense-1k-384"]
    assert "UnknownEncoderError" in record["failed"]["write-10k"]


def test_a_catalog_that_was_filled_beside_other_work_is_filled_anew_where_that_time_counts(data: BenchData) -> None:
    bench = Bench(data=data, encoder=ENCODER, options=Options(quick=True), heard=silent)
    given = search_settings(bench, 60, undisturbed=False)
    assert not list(data.folder.glob("home-60-*/filled.json"))

    record = filled(bench, given)

    assert record["tools"] == 60
    assert record["tools_per_second"] > 0
    assert filled(bench, given) == record


def test_short_tools_are_registered_and_said_to_be_as_short_as_they_are(data: BenchData) -> None:
    bench = Bench(data=data, encoder=ENCODER, options=Options(), heard=silent)
    (figure,) = short_load_figures(bench, 60)
    assert figure.check == "60 of 60 tools taken"
    assert figure.details["refused"] == 0
    assert f"cut to {figure.details['tokens']:.0f} tokens each" in figure.title
    assert not list(data.folder.glob("*.short"))
