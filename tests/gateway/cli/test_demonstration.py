"""`toolscout demo` over a small catalog that stands for the real one."""

import os
from pathlib import Path

import pytest

from gateway.demo.catalog import note_indexed
from gateway.demo.requests import DEMO_REQUESTS
from tests.gateway.cli.conftest import Run


@pytest.fixture
def noted(catalog: str) -> str:
    """The home says that the demo's catalog has been indexed: reading the real one takes minutes."""
    note_indexed(Path(os.environ["TOOLSCOUT_HOME"]))
    return catalog


def test_the_demo_ends_with_what_was_saved(noted: str, run: Run) -> None:
    shown = run("demo")
    assert shown.code == 0, shown.out + shown.err
    assert "a scripted one plays the part" in shown.out
    for request in DEMO_REQUESTS:
        assert request in shown.out
    assert "in all" in shown.out
    assert "TypeScript namespace" in " ".join(shown.out.split())


def test_the_demo_as_json_adds_up(noted: str, run: Run) -> None:
    record = run("demo", "--json").json
    assert record["scripted"] is True
    assert record["catalog"]["tools"] == 4
    assert [entry["request"] for entry in record["requests"]] == list(DEMO_REQUESTS)
    for entry in record["requests"]:
        assert sum(one["prompt_tokens"] for one in entry["rounds"]) == entry["prompt_tokens_with_tool_search"]
    total = sum(entry["prompt_tokens_with_tool_search"] for entry in record["requests"])
    assert record["total"]["prompt_tokens_with_tool_search"] == total
