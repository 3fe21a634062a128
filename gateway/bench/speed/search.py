"""Contenders for the whole search: from a request's text to ten tools with their definitions.

Settings: `requests`: [text, ...], `needed`: the row of the tool that each needs, `encoder`, and ours: `home`; tool
searches of others: `data`, `rows` and `peer`.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from gateway.bench.peers import ALL_PEERS
from gateway.bench.peers.base import installed_version
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.grown import DEPTH, Grower
from gateway.bench.speed.lanes import LaneError, Settings, TimedCalls, Turn
from gateway.bench.speed.machine import version_of
from indexer import IndexerSettings, ToolSearchRequest, make_embedder, open_index

_OTHER: int = -1
"""In place of the row of a tool that no request needs."""


class OwnSearch:
    """`ToolIndex.search` on an event loop that stays between turns."""

    def __init__(self, settings: Settings, home: Path, recall: float = 1.0) -> None:
        self._loop = asyncio.new_event_loop()
        opened = IndexerSettings(home=home, encoder=settings["encoder"], recall=recall)
        self._index = self._loop.run_until_complete(open_index(opened))
        self._requests = [ToolSearchRequest(queries=(text,), max_results=DEPTH) for text in settings["requests"]]
        data = BenchData(Path(settings["data"]))
        self._rows = {data.tool(row).key: row for row in settings["needed"]}
        self.notes: Mapping[str, Any] = {"version": f"toolscout {version_of('toolscout')}"}

    def turn(self, numbers: Sequence[int]) -> Turn:
        return self._loop.run_until_complete(self._turn(numbers))

    async def _turn(self, numbers: Sequence[int]) -> Turn:
        seconds: list[float] = []
        answers: list[list[int]] = []
        for number in numbers:
            started = time.perf_counter()
            response = await self._index.search(self._requests[number])
            seconds.append(time.perf_counter() - started)
            answers.append([self._rows.get(result.definition.key, _OTHER) for result in response.results])
        return Turn(seconds, answers)

    def close(self) -> None:
        self._loop.run_until_complete(self._index.aclose())
        self._loop.close()


def own(settings: Settings) -> OwnSearch:
    """The product, over a home that `catalogs.fill` made."""
    return OwnSearch(settings, Path(settings["home"]))


class OwnLikelySearch(OwnSearch):
    """The same where the operator allows a recall below 1, over a copy of the home: one process owns a catalog."""

    def __init__(self, settings: Settings) -> None:
        source = Path(settings["home"])
        self._copy = source.with_name(f"{source.name}.recall-{os.getpid()}")
        shutil.copytree(source, self._copy)
        super().__init__(settings, self._copy, settings["recall"])

    @override
    def close(self) -> None:
        super().close()
        shutil.rmtree(self._copy, ignore_errors=True)


def own_likely(settings: Settings) -> OwnLikelySearch:
    """The product with `TOOLSCOUT_RECALL` set."""
    return OwnLikelySearch(settings)


def system(settings: Settings) -> TimedCalls:
    """A tool search made by others, over the same tools; those without an encoder of their own are given ours."""
    peer = next((peer for peer in ALL_PEERS if peer.name == settings["peer"]), None)
    if peer is None:
        raise LaneError(f"no peer is called {settings['peer']!r}")
    tools = list(Grower(BenchData(Path(settings["data"]))).tools(settings["rows"]))
    started = time.perf_counter()
    search = peer.open(tools, make_embedder(settings["encoder"]))
    requests: Sequence[str] = settings["requests"]
    notes = {
        "version": f"{peer.package} {installed_version(peer)}",
        "build_seconds": round(time.perf_counter() - started, 1),
    }
    return TimedCalls(lambda number: search.rank(requests[number], DEPTH), notes)


def needed_check(needed: Sequence[int]) -> Callable[[Mapping[int, Sequence[int]]], tuple[str, float]]:
    """How often the tool that a request needs is among the ten that were found."""

    def check(answers: Mapping[int, Sequence[int]]) -> tuple[str, float]:
        return "needed tool in 10", sum(needed[number] in found for number, found in answers.items()) / len(answers)

    return check
