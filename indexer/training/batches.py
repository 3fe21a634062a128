"""What the student sees: written pairs, pairs that catalogs make by themselves, and translated strings."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from indexer.document import ToolDocument, dense_text, name_text, short_text
from indexer.training.catalog_texts import CatalogTool, self_supervised_pair
from indexer.training.translated_strings import Translation
from indexer.training.written_pairs import Pair

_QUERY_TOKENS: Final = 64
_TEXT_TOKENS: Final = 96
_GROUPS: Final = 4
"""Languages, or services, that share a batch: neighbours make harder negatives than the whole world does."""
_LANGUAGE_SHARES: Final[Mapping[str, float]] = {
    "ko": 0.30, "zh": 0.14, "ja": 0.12, "es": 0.05, "de": 0.05, "fr": 0.05, "ru": 0.05, "ar": 0.05, "zh-Hant": 0.04,
    "pt": 0.04, "it": 0.03, "tr": 0.03, "th": 0.02, "pl": 0.02, "nl": 0.01,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of token ids; equal labels mark pairs that answer each other and are no negatives."""

    queries: Sequence[Sequence[int]]
    documents: Sequence[Sequence[int]]
    labels: npt.NDArray[np.int64]


class Tokenizer(Protocol):
    """Text to the ids that an encoder reads."""

    def encode(self, text: str) -> list[int]: ...


class Example(NamedTuple):
    """A request and a text that answers it, as token ids."""

    query: Sequence[int]
    text: Sequence[int]
    label: int
    """Equal for examples whose texts answer each other's queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """What share of the batches each kind of pair has, and how many examples a batch has; the kinds never mix."""

    written: float = 0.4
    catalog: float = 0.2
    translated: float = 0.4
    batch: int = 256


class TrainingBatches:
    """An endless, seeded stream of batches."""

    def __init__(
        self,
        *,
        tokenizer: Tokenizer,
        pairs: Sequence[Pair],
        tools: Sequence[CatalogTool],
        translations: Sequence[Translation],
        mixture: Mixture,
        seed: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._mixture = mixture
        self._random = random.Random(seed)
        self._tools = tools
        numbers = {tool.id: number for number, tool in enumerate(tools)}
        self._written = [(pair.query, numbers[tool]) for pair in pairs for tool in pair.tools if tool in numbers]
        self._services: defaultdict[str, list[int]] = defaultdict(list)
        for tool, number in numbers.items():
            self._services[tool.partition("/")[0]].append(number)
        self._translations: defaultdict[str, list[Translation]] = defaultdict(list)
        for translation in translations:
            self._translations[translation.language].append(translation)
        self._encode = lru_cache(maxsize=500_000)(self._encode_uncached)

    def __iter__(self) -> Iterator[Batch]:
        kinds = (self._written_batch, self._catalog_batch, self._translated_batch)
        shares = (self._mixture.written, self._mixture.catalog, self._mixture.translated)
        while True:
            (kind,) = self._random.choices(kinds, shares)
            examples = [example for example in kind() if example.query and example.text]
            yield Batch(
                queries=[example.query for example in examples],
                documents=[example.text for example in examples],
                labels=np.array([example.label for example in examples], dtype=np.int64),
            )

    def _written_batch(self) -> list[Example]:
        chosen = self._random.sample(self._written, min(self._mixture.batch, len(self._written)))
        return [self._example(query, self._view(self._tools[tool].document), tool) for query, tool in chosen]

    def _view(self, document: ToolDocument) -> str:
        """One of the texts that the product embeds a tool by."""
        (view,) = self._random.choices((dense_text, short_text, name_text), (0.6, 0.3, 0.1))
        return view(document)

    def _catalog_batch(self) -> list[Example]:
        examples: list[Example] = []
        services = list(self._services)
        sizes = [len(self._services[service]) for service in services]
        while len(examples) < self._mixture.batch:
            (service,) = self._random.choices(services, sizes)
            members = self._services[service]
            chosen = self._random.sample(members, min(len(members), self._mixture.batch // _GROUPS))
            made = ((tool, self_supervised_pair(self._tools[tool].document, self._random)) for tool in chosen)
            examples += [self._example(*pair, tool) for tool, pair in made if pair]
        return examples[: self._mixture.batch]

    def _translated_batch(self) -> list[Example]:
        examples: list[Example] = []
        languages = [language for language in _LANGUAGE_SHARES if language in self._translations]
        shares = [_LANGUAGE_SHARES[language] for language in languages]
        labels: dict[str, int] = {}
        for language in self._random.choices(languages, shares, k=_GROUPS):
            strings = self._translations[language]
            for string in self._random.sample(strings, min(len(strings), self._mixture.batch // _GROUPS)):
                label = labels.setdefault(string.english.lower(), len(labels))
                examples.append(self._example(string.foreign, string.english, label))
        return examples

    def _example(self, query: str, text: str, label: int) -> Example:
        return Example(self._encode(query)[:_QUERY_TOKENS], self._encode(text)[:_TEXT_TOKENS], label)

    def _encode_uncached(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text)[:_TEXT_TOKENS])
