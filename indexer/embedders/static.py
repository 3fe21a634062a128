"""The default encoder: a text is the sum of its tokens' vectors. No network, no accelerator, no torch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from indexer.embedders.base import ClosenessWeights, Vectors
from indexer.embedders.token_table import TokenTable
from indexer.embedders.unigram import UnigramTokenizer
from indexer.errors import EmbeddingError

TOKEN_DIMENSIONS: Final = 64
"""Of a token alone: 128 and 256 rank no better (design/retrieval.md)."""
CLOSENESS: Final = ClosenessWeights(text=np.float32(0.3), name=np.float32(0.2))
"""Beside its own vectors; design/retrieval.md, "Tokens again"."""
_REMEMBERED_TEXTS: Final = 2048
"""Texts whose tokens are kept for whoever reads them again soon: a few batches of three views of a tool, 4 MB."""
_KEPT_LENGTH: Final = 1_000
"""Characters of a text that is kept; a view of a tool has 800 at most."""
SHIPPED_TABLE: Final = Path(__file__).parent / "data" / "static"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table in its folder."""

    folder: Path

    @property
    def rows(self) -> Path:
        return self.folder / "rows.npy"

    @property
    def scales(self) -> Path:
        return self.folder / "scales.npy"

    @property
    def pieces(self) -> Path:
        return self.folder / "pieces.txt"

    @property
    def log_probabilities(self) -> Path:
        return self.folder / "log_probabilities.npy"

    @property
    def card(self) -> Path:
        return self.folder / "card.json"


class StaticEmbedder:
    """Normalised sum of token vectors; token weights are inside the vectors, queries and documents are alike."""

    def __init__(
        self,
        *,
        name: str,
        tokenizer: UnigramTokenizer,
        table: TokenTable,
        closeness_weights: ClosenessWeights = CLOSENESS,
    ) -> None:
        """`closeness_weights`: another encoder's, where this one's tokens stand beside its vectors."""
        self._name = name
        self._tokenizer = tokenizer
        self._table = table
        self._just_read: dict[str, list[int]] = {}
        """Tokens of the documents that were encoded last: the index of tokens asks for the same ones."""
        self._closeness_weights = closeness_weights

    @classmethod
    def load(cls, folder: Path = SHIPPED_TABLE, *, closeness_weights: ClosenessWeights = CLOSENESS) -> Self:
        """Map a table from its folder, by default the one shipped with the package. Raises: EmbeddingError."""
        files = TableFiles(folder)
        try:
            card = json.loads(files.card.read_text(encoding="utf-8"))
            pieces = files.pieces.read_text(encoding="utf-8").split("\n")
            log_probabilities: list[float] = np.load(files.log_probabilities).tolist()
            rows, scales = np.load(files.rows, mmap_mode="r"), np.load(files.scales).astype(np.float32)
            name = str(card["name"])
        except (OSError, ValueError, KeyError) as error:
            raise EmbeddingError(
                f"the encoder table in {folder} cannot be read ({error}). Reinstall toolscout, or make the table "
                "again with `python -m indexer.training.base_table`."
            ) from error
        if not len(pieces) == len(log_probabilities) == len(rows) == len(scales):
            raise EmbeddingError(
                f"the encoder table in {folder} is damaged: {len(pieces)} pieces, {len(log_probabilities)} "
                f"log-probabilities, {len(rows)} rows and {len(scales)} scales should be equally many. "
                "Reinstall toolscout."
            )
        return cls(
            name=name,
            tokenizer=UnigramTokenizer(pieces, log_probabilities),
            table=TokenTable(np.asarray(rows), scales),
            closeness_weights=closeness_weights,
        )

    @property
    def embedder_id(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._table.dimensions

    @property
    def token_encoder(self) -> Self:
        return self

    @property
    def token_encoder_id(self) -> str:
        return self._name

    @property
    def token_dimensions(self) -> int:
        return min(TOKEN_DIMENSIONS, self._table.dimensions // 2)

    @property
    def closeness_weights(self) -> ClosenessWeights:
        return self._closeness_weights

    def tokens(self, text: str) -> Sequence[int]:
        known = self._just_read.get(text)
        return self._tokenizer.encode(text) if known is None else known

    def token_vectors(self, tokens: npt.NDArray[np.int64]) -> tuple[Vectors, npt.NDArray[np.float32]]:
        """As `TokenTable.leading`."""
        return self._table.leading(tokens, self.token_dimensions)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 rows of unit norm; a text without any known token gives a zero row."""
        encode = self._tokenizer.encode
        read = [encode(text) for text in texts]
        if len(self._just_read) + len(texts) > _REMEMBERED_TEXTS:
            self._just_read = {}  # replaced, not emptied: other threads look into it
        last = zip(texts[-_REMEMBERED_TEXTS:], read[-_REMEMBERED_TEXTS:], strict=True)
        self._just_read.update((text, ids) for text, ids in last if len(text) <= _KEPT_LENGTH)
        return self._table.unit_sums(read)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`; one query takes a shorter way to the same vector."""
        if len(texts) == 1:
            return self._table.unit_sum(self._tokenizer.encode(texts[0]))
        return self._table.unit_sums([self._tokenizer.encode(text) for text in texts])
