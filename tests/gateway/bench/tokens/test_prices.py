"""Weighted tokens, and price tables from files."""

import json
from pathlib import Path

import pytest

from gateway.bench.tokens.prefix_cache import CACHE_RULES, CacheUse
from gateway.bench.tokens.prices import PRICES, ModelPrice, load_prices
from gateway.errors import ConfigurationError

_PRICE = {"model": "m", "rule": "anthropic", "input": 4, "cached_read": 0.4, "cache_write": 5, "output": 20}


def test_tokens_are_weighted_by_what_they_cost_beside_plain_input() -> None:
    price = ModelPrice(
        model="m", rule="anthropic", input=4, cached_read=0.4, cache_write=5, output=20, as_of="today", source="here"
    )

    assert price.weighted(CacheUse(read=1000, written=200, plain=50)) == pytest.approx(1000 * 0.1 + 200 * 1.25 + 50)
    assert price.weighted(CacheUse(0, 0, 50), output_tokens=10) == pytest.approx(50 + 10 * 5)


def test_every_price_in_the_table_says_when_and_where_it_was_read() -> None:
    assert all(price.as_of and price.source and price.rule in CACHE_RULES for price in PRICES)
    assert PRICES[0].cached_read == pytest.approx(PRICES[0].input / 10)


def test_a_file_takes_the_place_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps([_PRICE]))

    (price,) = load_prices(file)

    assert (price.model, price.cache_write) == ("m", 5.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no price table"),
        ("[]", "one a model"),
        (json.dumps([{**_PRICE, "rule": "acme"}]), "entry 1: `rule` must be one of openai, anthropic"),
        (json.dumps([{"model": "m", "rule": "openai"}]), "lacks input, cached_read, cache_write, output"),
        (json.dumps([{**_PRICE, "output": "much"}]), "`output` must be dollars"),
        (json.dumps([{**_PRICE, "input": 0}]), "`input` must be dollars"),
    ],
)
def test_a_broken_price_table_is_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(content)

    with pytest.raises(ConfigurationError, match=message):
        load_prices(file)
