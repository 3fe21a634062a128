"""What the baselines read of a tool; made once for all that read the same."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from benchmarks.baselines.bm25 import ViewBm25
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView, Floats
from indexer.top_k import block_top_k

_BATCH = 1024


def whole_texts(catalog: BenchCatalog) -> Iterator[str]:
    """Name, description, parameter names and parameter descriptions of each tool."""
    for spec, document in zip(catalog.specs, catalog.documents, strict=True):
        name = spec.name.replace("_", " ").replace("-", " ")
        yield f"{name} {spec.description} {document.parameter_names} {document.parameter_descriptions}"


@lru_cache(maxsize=1)
def whole_text_bm25(catalog: BenchCatalog) -> ViewBm25:
    """BM25 over `whole_texts`."""
    return ViewBm25(whole_texts(catalog))


@lru_cache(maxsize=1)
def description_vectors(catalog: BenchCatalog) -> Floats:
    """(n, d) unit rows of the descriptions alone, by the product's own encoder."""
    texts = [tool.description for tool in catalog.tools]
    batches = [
        catalog.embedder.embed_documents(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)
    ]
    return np.concatenate(batches) if batches else np.zeros((0, catalog.embedder.dimensions), dtype=np.float32)


def nearest_descriptions(
    catalog: BenchCatalog, text: str, view: CatalogView, k: int, *, minimum_cosine: float
) -> list[int]:
    """Rows of the view with the nearest descriptions, best first; none below the minimum."""
    cosines = _cosines(catalog, text)[view.rows]
    best = block_top_k(cosines, k)
    return [int(view.rows[place]) for place in best if cosines[place] >= minimum_cosine]


@lru_cache(maxsize=64)
def _cosines(catalog: BenchCatalog, text: str) -> Floats:
    """(n,) of every description; the same text is asked of catalogs of every size."""
    return description_vectors(catalog) @ catalog.embedder.embed_queries([text])[0]
