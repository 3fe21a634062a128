"""Which tools stand around the needed ones: the hardest first, so that a small catalog is no easier than it must be."""

import random
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from gateway.bench.tokens.catalog import BenchCatalog, Rows
from gateway.bench.tokens.conversations import Conversation
from indexer import ToolDefinition

_VERB: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SAME_NAMESPACE: Final = 0.3
_SAME_VERB: Final = 0.2
_JITTER: Final = 0.05
"""Standard deviation of what the seed adds to a cosine: seeds differ in which of the near tools come first."""


class HardDistractors:
    """Orders a catalog around the tools that a conversation needs."""

    def __init__(self, catalog: BenchCatalog) -> None:
        self._catalog = catalog
        self._namespaces = _codes([tool.namespace for tool in catalog.tools])
        self._verbs = _codes([verb_of(tool) for tool in catalog.tools])

    def around(self, conversation: Conversation, seed: int) -> Rows:
        """`order` around the tools that a conversation needs, drawn anew for each conversation and seed."""
        needed = [self._catalog.rows[tool] for tool in conversation.tools]
        return self.order(needed, random.Random(f"{conversation.id}/{seed}/order").getrandbits(32))

    def order(self, needed: Sequence[int], seed: int) -> Rows:
        """(n,) every row once: the needed ones, then by hardness, each need in turn giving its next hardest.

        The first `m` rows are a part of the first `m + 1`, so catalogs of growing size are nested. Hardness is the
        cosine to the needed tool, 0.3 more in its namespace and 0.2 more for its verb.
        """
        count = len(self._catalog.tools)
        drawn = np.random.default_rng(seed)
        if not len(needed):
            return drawn.permutation(count)
        ranks = np.full(count, count, dtype=np.int64)
        for row in needed:
            hardness = self._catalog.vectors @ self._catalog.vectors[row]
            hardness += _SAME_NAMESPACE * (self._namespaces == self._namespaces[row])
            hardness += _SAME_VERB * (self._verbs == self._verbs[row])
            hardness += drawn.normal(0, _JITTER, count).astype(np.float32)
            places = np.empty(count, dtype=np.int64)
            places[np.argsort(-hardness, kind="stable")] = np.arange(count)
            np.minimum(ranks, places, out=ranks)
        ranks[np.asarray(needed)] = -1
        return np.argsort(ranks, kind="stable")


def verb_of(tool: ToolDefinition) -> str:
    """The verb of a tool's name: its first word, or its last one where the name is a dotted path of resources."""
    words = _VERB.findall(tool.name.rsplit(".", 1)[-1])
    return words[0].lower() if words else ""


def _codes(names: Sequence[str]) -> Rows:
    """(n,) a number for each distinct name."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
