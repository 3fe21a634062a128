"""A tool's words, and a query's, as sparse vectors for an engine that searches by itself; pure.

BM25F as in `lexical`, but for what only the whole catalog can tell: rarity is left to the engine (its IDF modifier),
and average lengths are constants, because a vector is written once and a catalog changes.
"""

import zlib
from collections import defaultdict
from functools import lru_cache
from typing import Final

import numpy as np

from indexer.document import ToolDocument
from indexer.glossary import with_english_names
from indexer.lexical import DEFAULT_BM25F, FIELD_CHUNKS, FIELDS
from indexer.lexical.tokens import analyse, chunks
from indexer.stores.base import SparseTerms

AVERAGE_TERMS: Final = (4.0, 7.0, 3.0, 23.0, 13.0, 57.0, 8.0, 2.0)
"""Of each field, in the order of `FIELDS`: means of 3,458 AWS and Google operations; those have no examples."""


def document_terms(document: ToolDocument) -> SparseTerms:
    """(t,) terms of a tool, each weighed by its frequency in the fields, saturated: between 0 and k1 + 1."""
    frequencies: defaultdict[int, float] = defaultdict(float)
    parameters = DEFAULT_BM25F
    for name, weight, b, average in zip(FIELDS, parameters.weights, parameters.b, AVERAGE_TERMS, strict=True):
        terms = [term for chunk in chunks(getattr(document, name))[:FIELD_CHUNKS] for term in _hashed_terms(chunk)]
        share = weight / (1.0 - b + b * len(terms) / average) if terms else 0.0
        for term in terms:
            frequencies[term] += share
    k1 = parameters.k1
    values = np.fromiter(frequencies.values(), dtype=np.float32, count=len(frequencies))
    indices = np.fromiter(frequencies.keys(), dtype=np.uint32, count=len(frequencies))
    return SparseTerms(indices, np.asarray(values * (k1 + 1) / (k1 + values), dtype=np.float32))


def query_terms(query: str) -> SparseTerms:
    """(t,) terms of a query and of the English names of what it names, each once, all of weight 1."""
    terms = {term for chunk in chunks(with_english_names(query)) for term in _hashed_terms(chunk)}
    indices = np.array(sorted(terms), dtype=np.uint32)
    return SparseTerms(indices, np.ones(len(indices), dtype=np.float32))


@lru_cache(maxsize=1 << 15)
def _hashed_terms(chunk: str) -> tuple[int, ...]:
    return tuple(hashed(term) for term, _ in analyse(chunk))


def hashed(term: str) -> int:
    """32 bits, the same in every process; two of 100,000 terms share them about once."""
    return zlib.crc32(term.encode())
