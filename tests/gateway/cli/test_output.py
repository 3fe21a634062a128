"""What the tables for people show."""

from typing import Any

import pytest

from gateway.cli.output import show_report, show_search


def test_a_found_tool_names_the_other_namespaces_that_hold_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "name": "list_orders",
        "namespace": "east",
        "description": "List orders.",
        "score": 0.8,
        "reasons": ["words: orders"],
        "query": "orders",
        "also_in": ["west", "north\x1b[31m"],
        "also_as": ["folders.list_orders"],
    }
    answer = {
        "results": [found],
        "took_ms": 1.0,
        "catalog_revision": 1,
        "degraded": "none",
        "stale": False,
        "reranking": "timeout",
    }
    show_search(answer)
    out = capsys.readouterr().out
    assert "also in: west, north" in out
    assert "also as: folders.list_orders" in out
    assert "\x1b[31m" not in out
    assert "not reranked: timeout" in out
    del found["also_as"]  # a gateway that was started before it was updated
    show_search(answer)
    assert "also as" not in capsys.readouterr().out


def test_a_report_counts_what_it_does_not_list(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"place": "line 1", "tool": "x", "field": "name", "reason": "is missing", "fix": ""}
    report: dict[str, Any] = {
        "added": 1,
        "changed": 0,
        "unchanged": 0,
        "seconds": 1.0,
        "quarantined": [],
        "unlisted_quarantined": 0,
    }
    show_report({**report, "refused": [entry] * 60, "unlisted_refused": 500})
    out = capsys.readouterr().out
    assert "0 quarantined, 560 refused" in out
    assert "... and 510 more; --json lists 60 of them" in out


def test_a_reason_and_its_cure_are_two_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"place": "", "tool": "odd", "field": "name", "reason": "is no name", "fix": "Rename it."}
    report: dict[str, Any] = dict.fromkeys(("added", "changed", "unchanged"), 0)
    show_report({**report, "quarantined": [], "refused": [entry, {**entry, "reason": "Why?", "fix": ""}], "seconds": 0})
    out = " ".join(capsys.readouterr().out.split())
    assert "is no name. Rename it." in out
    assert out.endswith("Why?")
