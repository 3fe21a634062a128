"""A vector for each token in four bits a value, mapped from disk: rows are widened only when a text asks for them."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from indexer.embedders.base import Vectors

PackedRows = npt.NDArray[np.uint8]
"""(tokens, dimensions / 2) uint8: first half of the dimensions in the low four bits, second half in the high ones."""
RowScales = npt.NDArray[np.float32]
"""(tokens,) float32: a value is (code - 7.5) x scale of its row."""

CODE_CENTRE: Final = 7.5
_TOKENS_AT_ONCE: Final = 4_096
"""Tokens widened in one go: 4 MB of float32 at 256 dimensions, which stays in a core's cache."""


class TokenTable:
    """Sums the rows of a text's tokens; holds nothing in memory beyond what the operating system maps."""

    def __init__(self, rows: PackedRows, scales: RowScales) -> None:
        self._rows = rows
        self._scales = scales
        self.dimensions = rows.shape[1] * 2

    def unit_sum(self, ids: Sequence[int]) -> Vectors:
        """(1, dimensions): as `unit_sums` for one text, with the fewest array operations: a query waits for it."""
        numbers = np.array(ids, dtype=np.int64)
        scales, packed = self._scales[numbers], self._rows[numbers]
        half = packed.shape[1]
        summed = np.empty((1, self.dimensions), dtype=np.float32)
        np.dot(scales, (packed & 15).astype(np.float32), out=summed[0, :half])
        np.dot(scales, (packed >> 4).astype(np.float32), out=summed[0, half:])
        summed -= CODE_CENTRE * scales.sum()
        norm = math.sqrt(np.dot(summed[0], summed[0]))
        return summed / np.float32(norm) if norm > 0 else summed

    def unit_sums(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """(len(texts), dimensions): the normalised sum of the rows of each text's tokens; zero where it has none."""
        sums = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        first = tokens = 0
        for last, text in enumerate(texts):
            if last > first and tokens + len(text) > _TOKENS_AT_ONCE:
                self._sum_into(sums[first:last], texts[first:last])
                first, tokens = last, 0
            tokens += len(text)
        self._sum_into(sums[first:], texts[first:])
        norms = np.sqrt(np.vecdot(sums, sums))[:, None]
        return np.divide(sums, norms, out=sums, where=norms > 0)

    def leading(self, ids: npt.NDArray[np.int64], dimensions: int) -> tuple[Vectors, npt.NDArray[np.float32]]:
        """((n, dimensions) unit rows of the first dimensions, at most half of all, of each token's vector; (n,) their
        lengths before).

        The first are the principal directions of the untrained table: cosines of single tokens need no more.
        """
        codes = (self._rows[ids, :dimensions] & 15).astype(np.float32)
        codes -= CODE_CENTRE
        lengths = np.sqrt(np.vecdot(codes, codes))  # at least .5 a dimension: a code is never at the centre
        codes /= lengths[:, None]
        return codes, lengths * self._scales[ids]

    def _sum_into(self, sums: Vectors, texts: Sequence[Sequence[int]]) -> None:
        ids = np.array([*chain.from_iterable(texts)], dtype=np.int64)
        packed = self._rows[ids]
        codes = np.empty((len(ids), self.dimensions), dtype=np.float32)
        codes[:, : packed.shape[1]] = packed & 15
        codes[:, packed.shape[1] :] = packed >> 4
        codes -= CODE_CENTRE
        scales = self._scales[ids]
        start = 0
        # A vector-matrix product scales and sums a text's rows in one pass; `np.add.reduceat` takes six times as long.
        for row, text in zip(sums, texts, strict=True):
            end = start + len(text)
            np.dot(scales[start:end], codes[start:end], out=row)
            start = end
