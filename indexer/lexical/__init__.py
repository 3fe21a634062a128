"""Exact, incremental BM25F over the fields of tools, in numpy."""

from indexer.lexical.index import DEFAULT_BM25F, FIELDS, BM25FParameters, LexicalIndex, LexicalMatches, LexicalSnapshot
from indexer.lexical.tokens import tokenize

__all__ = [
    "DEFAULT_BM25F",
    "FIELDS",
    "BM25FParameters",
    "LexicalIndex",
    "LexicalMatches",
    "LexicalSnapshot",
    "tokenize",
]
