"""What tokens cost: a dated table, and files that take its place."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from gateway.bench.tokens.prefix_cache import CACHE_RULES, CacheUse, RuleName
from gateway.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """US dollars per million tokens of one model, and the rule by which its provider caches."""

    model: str
    rule: RuleName
    input: float
    cached_read: float
    cache_write: float
    """Of tokens that go into the cache; as `input` where writing costs nothing extra."""
    output: float
    as_of: str
    source: str

    def weighted(self, use: CacheUse, output_tokens: int = 0) -> float:
        """The price of a prompt (and its answer) in plain input tokens: what as many of these would have cost."""
        dollars = use.plain * self.input + use.read * self.cached_read + use.written * self.cache_write
        return (dollars + output_tokens * self.output) / self.input


PRICES: Final = (
    ModelPrice(
        model="gpt-5.4",
        rule="openai",
        input=2.50,
        cached_read=0.25,
        cache_write=2.50,
        output=15.00,
        as_of="2026-03",
        source="docs.rs/crate/adk-model (src/openai/pricing.rs), from OpenAI's price page",
    ),
    ModelPrice(
        model="gpt-6-sol",
        rule="openai",
        input=2.00,
        cached_read=0.20,
        cache_write=2.50,
        output=10.00,
        as_of="2026-09-22",
        source="github.com/TheKrush/PromptFuel release v1.0.21, from OpenAI's price page",
    ),
    ModelPrice(
        model="claude-opus-4.5",
        rule="anthropic",
        input=5.00,
        cached_read=0.50,
        cache_write=6.25,
        output=25.00,
        as_of="2026-07-01",
        source="Anthropic, Prompt caching: reads at 0.1, writes at 1.25 of the input price",
    ),
)
"""The first one is the price that headlines are weighted with."""

_FIELDS: Final = ("input", "cached_read", "cache_write", "output")


def load_prices(path: Path) -> tuple[ModelPrice, ...]:
    """Prices from a JSON list of objects with the fields of `ModelPrice`. Raises: ConfigurationError."""
    try:
        records: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: no price table: {error}") from error
    if not isinstance(records, list) or not records:
        raise ConfigurationError(f"{path}: a price table is a JSON list of objects, one a model")
    entries = cast("list[object]", records)
    return tuple(_price(record, f"{path}, entry {number}") for number, record in enumerate(entries, start=1))


def _price(record: object, place: str) -> ModelPrice:
    entry: Mapping[str, Any] = cast("Mapping[str, Any]", record) if isinstance(record, dict) else {}
    missing = [name for name in ("model", "rule", *_FIELDS) if name not in entry]
    if missing:
        raise ConfigurationError(f"{place}: lacks {', '.join(missing)}")
    if entry["rule"] not in CACHE_RULES:
        raise ConfigurationError(f"{place}: `rule` must be one of {', '.join(CACHE_RULES)}")
    numbers = {name: entry[name] for name in _FIELDS}
    wrong = [name for name, value in numbers.items() if not isinstance(value, int | float) or value < 0]
    if wrong or not numbers["input"]:
        raise ConfigurationError(f"{place}: `{(wrong or ['input'])[0]}` must be dollars per million tokens")
    return ModelPrice(
        model=str(entry["model"]),
        rule=entry["rule"],
        as_of=str(entry.get("as_of", "not said")),
        source=str(entry.get("source", str(place))),
        **{name: float(value) for name, value in numbers.items()},
    )
