"""Exact, incremental BM25F over the fields of tools, in numpy."""

from indexer.lexical.index import FIELD_CHUNKS, LexicalIndex
from indexer.lexical.matches import LexicalMatches, RowTerms
from indexer.lexical.snapshot import DEFAULT_BM25F, FIELDS, BM25FParameters, LexicalSnapshot
from indexer.lexical.tokens import tokenize

__all__ = [
    "DEFAULT_BM25F",
    "FIELDS",
    "FIELD_CHUNKS",
    "BM25FParameters",
    "LexicalIndex",
    "LexicalMatches",
    "LexicalSnapshot",
    "RowTerms",
    "tokenize",
]
