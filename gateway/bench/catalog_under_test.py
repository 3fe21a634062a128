"""A set's tools, searched through the functions that the product searches with; nothing is tuned here."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import numpy.typing as npt

from indexer import (
    Embedder,
    LexicalIndex,
    RankedRows,
    ToolDefinition,
    VectorMatrix,
    calibrate,
    document_of,
    embed_tools,
    name_candidates,
    search_rows,
)
from indexer.document import ToolDocument
from indexer.embedders.base import token_encoder_of
from indexer.late_interaction import TokenIndex, TokenSnapshot


class CatalogUnderTest:
    """A catalog searched as the product does it, without store and scope."""

    def __init__(self, tools: Sequence[ToolDefinition], embedder: Embedder) -> None:
        documents = [document_of(tool) for tool in tools]
        lexical, matrix = LexicalIndex(), VectorMatrix(embedder.dimensions)
        lexical.add(documents)
        matrix.append(embed_tools(embedder, documents))
        self._embedder = embedder
        self._lexical, self._matrix = lexical.snapshot(), matrix.snapshot()
        self._tokens = _tokens_of(documents, embedder)
        self._calibration = calibrate(embedder, matrix=self._matrix, lexical=self._lexical, tokens=self._tokens)
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        for row, tool in enumerate(tools):
            self._named[tool.name.casefold()].append(row)

    def rank(self, query: str, k: int) -> list[int]:
        """Rows of the k best tools, best first; exact names before all others."""
        ranked: list[int] = self._search(query, k).rows.tolist()
        exact = [row for name in name_candidates(query) for row in self._named.get(name.casefold(), ())]
        return list(dict.fromkeys((*exact, *ranked)))[:k]

    def confidence(self, query: str, without: AbstractSet[int] = frozenset()) -> float:
        """Of the best result, 0 where there is none; `without`: tools that are not in the catalog this time."""
        rows = np.setdiff1d(np.arange(self._matrix.n_rows), np.fromiter(without, np.int64)) if without else None
        found = self._search(query, 1, rows)
        return float(found.confidence[0]) if len(found.rows) else 0.0

    def _search(self, query: str, k: int, rows: npt.NDArray[np.int64] | None = None) -> RankedRows:
        return search_rows(
            query,
            self._embedder,
            matrix=self._matrix,
            lexical=self._lexical,
            tokens=self._tokens,
            k=k,
            rows=rows,
            calibration=self._calibration,
        )


def _tokens_of(documents: Sequence[ToolDocument], embedder: Embedder) -> TokenSnapshot | None:
    encoder = token_encoder_of(embedder)
    if encoder is None:
        return None
    tokens = TokenIndex(encoder)
    tokens.add(documents)
    return tokens.snapshot()
