"""A second look at the best rows, token by token: each token of a query meets the nearest token of a tool.

One vector for a whole text says what it is about on the whole; a tool that has an answer to each word of a request, and
whose name the request speaks of, may still lie a few places below the best. Late interaction by the highest similarity:
Khattab & Zaharia (2020), "ColBERT". Here the tokens' vectors are those of the static table, without context.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from indexer.columns import Column, Rows
from indexer.document import ToolDocument, dense_text, name_text
from indexer.embedders.base import ClosenessWeights, TokenEncoder
from indexer.errors import CorruptSnapshotError

Floats: TypeAlias = npt.NDArray[np.float32]

NAME_TOKENS: Final = 12
TEXT_TOKENS: Final = 36
"""Of a tool's name, and of the rest of its text those that say most; more gain nothing (design/retrieval.md)."""
WIDTH: Final = NAME_TOKENS + TEXT_TOKENS
QUERY_TOKENS: Final = 64
_REMEMBERED_QUERIES: Final = 512
"""At most 16 KB each, mostly 4."""
_NO_WEIGHT: Final = np.float32(1e-12)
"""Of a query or a name none of whose tokens says anything: no division by zero."""
_NOTHING: Final = 0
"""The slot of a place without a token: its vector and its weight are zero."""


class Closeness(NamedTuple):
    """How near each of some rows is to a query, 0 to 1. Both (m,) float32."""

    text: Floats
    """Weighted mean over the query's tokens of the cosine of the nearest token of the tool."""
    name: Floats
    """Weighted mean over the tokens of the tool's name of the cosine of the nearest token of the query."""


class QueryTokens(NamedTuple):
    """A query's distinct tokens: at most `QUERY_TOKENS` of them, and maybe none."""

    vectors: Floats
    """(d, t) C-contiguous, unit columns: a product with rows of tools takes half the time that it does with rows."""
    weights: Floats
    """(t,) how much each says, 1 in sum."""


def closeness(cosines: Floats, query_weights: Sequence[Floats], name_weights: Floats) -> list[Closeness]:
    """Of m tools to each of some queries.

    `cosines`: (`WIDTH` x m, t) of the first tokens of m tools, then of the second ones, and so on, those of the name
    first, with the t tokens of all queries, one after the other. `query_weights`: those of each query, 1 in sum.
    `name_weights`: (`NAME_TOKENS`, m), zero where there is no token.
    """
    places, count = name_weights.shape
    # Maxima of whole rows, element by element, with SIMD: along the last axis they take three times as long.
    in_tool = np.maximum.reduce(cosines.reshape(WIDTH, count * cosines.shape[1])).reshape(count, cosines.shape[1])
    of_names = np.ascontiguousarray(cosines[: places * count].T)
    shares = name_weights / np.maximum(np.add.reduce(name_weights), _NO_WEIGHT)
    found: list[Closeness] = []
    start = 0
    for weights in query_weights:
        end = start + len(weights)
        if start == end:
            found.append(Closeness(np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)))
            continue
        in_query = np.maximum.reduce(of_names[start:end]).reshape(places, count)
        in_query *= shares
        found.append(Closeness(in_tool[:, start:end] @ weights, np.add.reduce(in_query)))
        start = end
    return found


class TokenSnapshot:
    """The tokens of every row as they were at one moment."""

    def __init__(
        self,
        read: Callable[[str], QueryTokens],
        closeness_weights: ClosenessWeights,
        tokens: npt.NDArray[np.int32],
        vectors: Floats,
        weights: Floats,
    ) -> None:
        """`tokens`: (n, `WIDTH`) slots. `vectors`: (slots, d) unit rows. `weights`: (slots,)."""
        self._read = read
        self.closeness_weights = closeness_weights
        self._tokens = tokens
        self._vectors = vectors
        self._weights = weights

    def closeness(self, queries: Sequence[str], rows: Rows) -> list[Closeness]:
        """Of (m,) rows to each query; a query without any known token is near to nothing."""
        asked = [self._read(query) for query in queries]
        slots = self._tokens[rows].T
        vectors = asked[0].vectors if len(asked) == 1 else np.concatenate([one.vectors for one in asked], axis=1)
        cosines = self._vectors.take(slots.ravel(), axis=0) @ vectors
        return closeness(cosines, [one.weights for one in asked], self._weights[slots[:NAME_TOKENS]])


class TokenIndex:
    """The tokens of each tool, 192 bytes, and the vectors of all tokens that some tool has, 256 bytes each.

    Rows are numbered as `VectorMatrix` does; one writer, any number of readers of its snapshots.
    """

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._read_query = lru_cache(_REMEMBERED_QUERIES)(partial(_read_query, encoder))
        self._tokens = Column(np.empty((0, WIDTH), dtype=np.int32))
        self._slots: dict[int, int] = {}
        self._vectors = Column(np.zeros((1, encoder.token_dimensions), dtype=np.float32))
        self._weights = Column(np.zeros(1, dtype=np.float32))
        self._weight_of = [0.0]

    @property
    def n_rows(self) -> int:
        return len(self._tokens)

    @property
    def nbytes(self) -> int:
        return self._tokens.nbytes + self._vectors.nbytes + self._weights.nbytes

    def add(self, documents: Sequence[ToolDocument]) -> None:
        """Append tools; the next snapshot shows them."""
        read = self._encoder.tokens
        names = [list(dict.fromkeys(read(name_text(document))))[:NAME_TOKENS] for document in documents]
        texts = [
            dict.fromkeys(read(dense_text(document))).keys() - name
            for document, name in zip(documents, names, strict=True)
        ]
        self._learn(chain(*names, *texts))
        rows = np.full((len(documents), WIDTH), _NOTHING, dtype=np.int32)
        slot_of, weight_of = self._slots.__getitem__, self._weight_of.__getitem__
        for row, name, text in zip(rows, names, texts, strict=True):
            row[: len(name)] = [*map(slot_of, name)]
            others = [*map(slot_of, text)]
            if len(others) > TEXT_TOKENS:
                others = sorted(others, key=weight_of, reverse=True)[:TEXT_TOKENS]
            row[NAME_TOKENS : NAME_TOKENS + len(others)] = others
        self._tokens.extend(rows)

    def _learn(self, tokens: Iterable[int]) -> None:
        slots = self._slots
        # Not as a difference of keys: that goes through all tokens of the catalog.
        new = list(dict.fromkeys([token for token in tokens if token not in slots]))
        if new:
            self._take_slots(new)

    def _take_slots(self, tokens: Sequence[int]) -> None:
        self._slots.update(zip(tokens, range(len(self._slots) + 1, len(self._slots) + 1 + len(tokens)), strict=True))
        vectors, weights = self._encoder.token_vectors(np.array(tokens, dtype=np.int64))
        self._vectors.extend(vectors)
        self._weights.extend(weights)
        self._weight_of.extend(weights.tolist())

    def snapshot(self) -> TokenSnapshot:
        """What is there now, unmoved by later writes."""
        return TokenSnapshot(
            self._read_query,
            self._encoder.closeness_weights,
            self._tokens.view(),
            self._vectors.view(),
            self._weights.view(),
        )

    def compacted(self, keep_rows: Rows) -> "TokenIndex":
        """A new index of these rows, in this order; the old one and its snapshots stay."""
        return TokenIndex.from_arrays(self.to_arrays() | {"tokens": self._tokens.view()[keep_rows]}, self._encoder)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a snapshot file."""
        name = self._encoder.token_encoder_id.encode("utf-8")
        return {
            "tokens": self._tokens.view(),
            "slots": np.fromiter(self._slots, dtype=np.int32, count=len(self._slots)),
            "encoder": np.frombuffer(name, dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], encoder: TokenEncoder) -> "TokenIndex":
        """Take over what `to_arrays` gave, made with the same encoder. Raises: CorruptSnapshotError."""
        try:
            tokens, slots, name = (arrays[part] for part in ("tokens", "slots", "encoder"))
        except KeyError as error:
            raise CorruptSnapshotError(f"token snapshot cannot be read: {error}") from error
        if name.tobytes().decode("utf-8", "replace") != encoder.token_encoder_id:
            raise CorruptSnapshotError("token snapshot: its tokens are those of another encoder")
        index = cls(encoder)
        if tokens.shape[1:] != (WIDTH,) or (len(tokens) and not 0 <= tokens.min() <= tokens.max() <= len(slots)):
            raise CorruptSnapshotError("token snapshot: its arrays do not fit together")
        index._tokens = Column(np.asarray(tokens, dtype=np.int32))
        if len(slots):
            index._take_slots(slots.tolist())
        return index


def _read_query(encoder: TokenEncoder, query: str) -> QueryTokens:
    tokens = list(dict.fromkeys(encoder.tokens(query)))[:QUERY_TOKENS]
    vectors, weights = encoder.token_vectors(np.array(tokens, dtype=np.int64))
    return QueryTokens(np.ascontiguousarray(vectors.T), weights / max(np.add.reduce(weights), _NO_WEIGHT))
