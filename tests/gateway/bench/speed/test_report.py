"""A record as tables, plots, and beside an earlier one."""

import pytest

from gateway.bench.speed.comparison import compare, comparison_section
from gateway.bench.speed.dense_rows import BITS
from gateway.bench.speed.report import render_markdown
from tests.gateway.bench.speed.small_record import small_record


def test_the_report_says_what_was_measured_skipped_missed_and_warned_of() -> None:
    text = render_markdown(small_record())

    assert "| faiss flat (lib 1.0) | 6 ms [5.4, 6.6] | 1.5 [1.5, 1.5] | recall@10: 1.000 of 64 | 12 ms | 70 |" in text
    assert "Skipped: usearch exact, not installed: pip install usearch." in text
    assert "| dense-100k-384: toolscout >= 1.40 x faiss flat, recall 1 | 1.5 | met |" in text
    assert "| load-100k >= 5,000 tools/s | 5,200 | met |" in text
    assert "The machine was busy." in text
    assert "http-10k: `toolscout serve` ended with code 1" in text


def test_growth_above_linear_is_marked_and_explained() -> None:
    text = render_markdown(small_record())

    assert "| whole search | 1 ms | 20 ms | 1.30 | 1.30 | ABOVE LINEAR: it reads memory |" in text
    assert "| growth of whole search: exponent <= 1.1 | 1.3 | MISSED |" in text


def test_a_lead_that_shrank_beyond_the_tolerance_is_a_regression() -> None:
    changes = {change.against: change for change in compare(small_record(faiss=1.0), small_record(faiss=1.5), 0.25)}

    assert changes["faiss flat"].is_regression
    assert changes["faiss flat"].relative == pytest.approx(2 / 3)
    assert not changes[BITS].is_regression


def test_a_shortcut_of_ours_that_takes_more_of_the_plain_scan_is_a_regression() -> None:
    changes = {change.against: change for change in compare(small_record(bits=0.8), small_record(bits=0.4), 0.25)}

    assert changes[BITS].is_regression
    assert changes[BITS].relative == pytest.approx(0.5)


def test_a_change_within_the_tolerance_is_none_and_rows_of_one_run_alone_are_left_out() -> None:
    old = small_record(faiss=1.6)
    old["races"].append({**old["races"][0], "key": "dense-1m-384"})

    changes = compare(small_record(faiss=1.5), old, 0.25)

    assert [change.row for change in changes] == ["dense-100k-384"] * 2
    assert not any(change.is_regression for change in changes)
    section = comparison_section(changes, old)
    assert section.rows[0] == ("dense-100k-384", "faiss flat", "1.60", "1.50", "0.94", "")


def test_plots_are_drawn_where_matplotlib_is_installed() -> None:
    pytest.importorskip("matplotlib")
    from gateway.bench.speed.plots import render_plots

    plots = render_plots(small_record())

    assert set(plots) == {"dense-100k-384", "growth"}
    assert all(text.startswith("<svg") for text in plots.values())
    assert "faiss flat" in plots["dense-100k-384"]
