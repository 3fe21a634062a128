"""The process that the kill test kills: registers a catalog and acknowledges each batch on standard output."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from indexer.definition import ToolDefinition
from indexer.embedders.hashing import HashingEmbedder
from indexer.opening import open_index
from indexer.settings import IndexerSettings

DIMENSIONS = 32
TOOLS = 3072


def catalog() -> Iterator[ToolDefinition]:
    """The same tools in the same order each time; every hundredth is broken."""
    for number in range(TOOLS):
        schema = {"type": 7} if number % 100 == 99 else {"type": "object"}
        yield ToolDefinition(
            name=f"tool_{number}",
            namespace=f"space_{number % 7}",
            description=f"Handles case {number}.",
            input_schema=schema,
        )


def acknowledge(done: int) -> None:
    sys.stdout.write(f"{done}\n")
    sys.stdout.flush()


async def main(home: Path, *, apart: bool) -> None:
    index = await open_index(IndexerSettings(home=home), embedder=HashingEmbedder(DIMENSIONS), for_long=apart)
    await index.register(catalog(), progress=acknowledge)
    await index.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), apart=sys.argv[2] == "apart"))
