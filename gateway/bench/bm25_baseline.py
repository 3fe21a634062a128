"""The two BM25 baselines that every set is compared with: fixed, so that they do not move when the product does.

k1 = 1.5, b = 0.75, English stems, Lucene's English stop words, one bag of words a tool. `json`: the definition's
JSON text in plain word tokens. `fields`: name, namespace, description, parameter names and descriptions, identifiers
split, character bigrams for Chinese, Japanese and Korean.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from indexer import ToolDefinition, document_of

Variant = Literal["json", "fields"]

_K1: Final = 1.5
_B: Final = 0.75
_STOP_TEXT: Final = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
_STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
_WORD: Final = re.compile(r"\w+")
_PIECE: Final = re.compile(
    r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+|[^\W\d_A-Za-z]+"
)
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


class Bm25Baseline:
    """A catalog scored as one bag of words a tool."""

    def __init__(self, tools: Sequence[ToolDefinition], variant: Variant) -> None:
        import Stemmer  # only the benchmark needs it here

        self._variant: Variant = variant
        self._stemmer: Any = Stemmer.Stemmer("english")  # pyright: ignore[reportUnknownMemberType]  # it has no stubs
        bags = [Counter(self._tokens(_text(tool, variant))) for tool in tools]
        lengths = np.array([sum(bag.values()) for bag in bags], dtype=np.float64)
        self._size = len(bags)
        norms = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0)) if self._size else lengths
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for row, bag in enumerate(bags):
            for term, frequency in bag.items():
                rows, frequencies = postings.setdefault(term, ([], []))
                rows.append(row)
                frequencies.append(frequency)
        self._gains: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        for term, (rows, frequencies) in postings.items():
            places, counts = np.array(rows), np.array(frequencies, dtype=np.float64)
            idf = np.log1p((self._size - len(rows) + 0.5) / (len(rows) + 0.5))
            self._gains[term] = places, idf * counts * (_K1 + 1) / (counts + norms[places])

    def rank(self, query: str, k: int) -> list[int]:
        """Rows of the k best tools that share a word with the query, best first."""
        scores = np.zeros(self._size)
        for term in self._tokens(query):
            if term in self._gains:
                rows, gains = self._gains[term]
                scores[rows] += gains
        best: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
        return [row for row in best if scores[row] > 0]

    def _tokens(self, text: str) -> list[str]:
        if self._variant == "json":
            return self._stems(_WORD.findall(text.lower()))
        tokens: list[str] = []
        for piece in _PIECE.findall(text):
            if _UNSPACED.match(piece) and len(piece) > 1:
                tokens.extend(piece[place : place + 2] for place in range(len(piece) - 1))
            else:
                tokens.append(piece.lower())
        return self._stems(tokens)

    def _stems(self, words: list[str]) -> list[str]:
        stems: list[str] = self._stemmer.stemWords([word for word in words if word not in _STOP_WORDS])
        return stems


def _text(tool: ToolDefinition, variant: Variant) -> str:
    if variant == "json":
        fields = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        return json.dumps(fields, ensure_ascii=False)
    document = document_of(tool)
    fields = (
        document.name, document.namespace, document.description, document.parameter_names,
        document.parameter_descriptions,
    )  # fmt: skip
    return " ".join(fields)
