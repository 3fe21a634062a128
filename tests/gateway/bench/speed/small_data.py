"""A data folder of forty tools, made as the real one is."""

from pathlib import Path
from typing import Any

from gateway.bench.speed.data import BenchData, make_data
from indexer.embedders.hashing import HashingEmbedder
from tests.gateway.bench.tokens.shop import shop_tools, single

ENCODER = "hashing"


def small_data(folder: Path) -> BenchData:
    """Of the shop's tools, with one request."""
    origin: dict[str, Any] = {"encoder": ENCODER, "wide": "", "packages": {}}
    make_data(folder, shop_tools(), HashingEmbedder(), [single()], origin=origin)
    return BenchData(folder)


def silent(stage: str, done: int, total: int) -> None:
    """Hears and says nothing."""
