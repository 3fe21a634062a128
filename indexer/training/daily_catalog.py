"""An everyday catalog of our own: services that people ask assistants for, invented for this corpus (CC BY 4.0)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from indexer.document import ToolDocument
from indexer.training.catalog_texts import CatalogTool

DAILY_CATALOG: Final = Path(__file__).parent / "catalogs" / "daily.jsonl"
"""One tool a line: namespace, name, description, and its parameters with what each of them is."""


def read_daily_tools(path: Path = DAILY_CATALOG) -> Iterator[CatalogTool]:
    """Every tool of the catalog, as `daily:<namespace>/<name>`."""
    with path.open("rb") as lines:
        for line in lines:
            tool = orjson.loads(line)
            document = ToolDocument(
                name=tool["name"],
                namespace=tool["namespace"],
                description=tool["description"],
                parameter_names="\n".join(tool["parameters"]),
                parameter_descriptions="\n".join(tool["parameters"].values()),
            )
            yield CatalogTool(f"daily:{tool['namespace']}/{tool['name']}", document)
