"""What the tables for people show."""

import pytest

from gateway.cli.output import show_search


def test_a_found_tool_names_the_other_namespaces_that_hold_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "name": "list_orders",
        "namespace": "east",
        "description": "List orders.",
        "score": 0.8,
        "reasons": ["words: orders"],
        "query": "orders",
        "also_in": ["west", "north\x1b[31m"],
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
    assert "\x1b[31m" not in out
    assert "not reranked: timeout" in out
