"""Peers beside the product: installed ones are measured, others named, slow ones cut."""

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pytest

from gateway.bench.peers import ALL_PEERS, Peer
from gateway.bench.peers.base import RankedBy, installed_version, row_names
from gateway.bench.peers.time_limit import TimeLimitError, time_limit
from gateway.bench.quality import run_quality
from gateway.bench.quality_report import render_markdown
from indexer import Embedder, ToolDefinition, make_embedder

_TOOLS = [
    ToolDefinition(name="refund", namespace="shop", description="Give money back for an order"),
    ToolDefinition(name="weather", description="Forecast the weather of a city"),
    ToolDefinition(name="weather", namespace="archive", description="Past climate data"),
]


class _InOrder:
    """Numpy is surely installed: it stands for a distribution that is."""

    name = "in-order"
    package = "numpy"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        return RankedBy(lambda query, k: range(len(tools)))


class _Absent(_InOrder):
    name = "absent"
    package = "no-such-distribution"


class _Failing(_InOrder):
    name = "failing"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        raise ValueError("cannot index")


class _Endless(_InOrder):
    name = "endless"

    def open(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> RankedBy:
        while True:
            pass


def _data(folder: Path) -> Path:
    (folder / "tools.jsonl").write_text(
        "\n".join(json.dumps({"id": name, "name": name, "description": name}) for name in ("refund", "weather"))
    )
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q1", "text": "weather in Rome"}))
    (folder / "qrels.tsv").write_text("q1\tweather\t1\n")
    return folder


def test_a_peer_is_measured_and_one_that_cannot_be_is_named_with_the_reason(tmp_path: Path) -> None:
    peers = (_InOrder(), _Absent(), _Failing(), _Endless())

    report = run_quality(_data(tmp_path), encoder="hashing", peers=peers, peer_seconds=0.05)
    (entry,) = report.sets
    text = render_markdown(report)

    assert set(entry.peers) == {"in-order"}
    assert entry.peers["in-order"].means["mrr"] == 50
    assert entry.skipped["absent"] == "not installed: pip install no-such-distribution"
    assert entry.skipped["failing"] == "failed: ValueError: cannot index"
    assert entry.skipped["endless"].startswith("cut after")
    assert "## Peers" in text
    assert "- failing: failed: ValueError: cannot index" in text


def test_time_is_up_only_inside_the_block() -> None:
    started = perf_counter()
    with pytest.raises(TimeLimitError), time_limit(0.01):
        while perf_counter() - started < 5:
            pass
    assert perf_counter() - started < 5


def test_names_that_occur_twice_are_told_apart() -> None:
    names = row_names(_TOOLS)
    assert names[:2] == ["refund", "weather"]
    assert len(set(names)) == 3


@pytest.mark.parametrize("peer", ALL_PEERS, ids=lambda peer: peer.name)
def test_a_peer_that_is_installed_finds_a_tool_by_its_words(peer: Peer) -> None:
    if installed_version(peer) is None:
        pytest.skip(f"{peer.package} is not installed")
    assert peer.open(_TOOLS, make_embedder("hashing")).rank("weather of a city", 2)[0] == 1
