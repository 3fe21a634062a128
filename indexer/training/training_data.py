"""All that the encoders learn from, read once, with its counts, versions, licences and digests."""

import os
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from indexer.training.catalog_texts import (
    CatalogTool,
    held_out_operations,
    held_out_texts,
    read_catalogs,
    without_held_out,
)
from indexer.training.daily_catalog import DAILY_CATALOG, read_daily_tools
from indexer.training.everyday_tools import EVERYDAY_PROGRAMS, read_everyday_tools
from indexer.training.packing import sha256_of
from indexer.training.translated_strings import PROGRAMS, Translation, download, read_translations
from indexer.training.written_pairs import LANGUAGES, PAIRS_FOLDER, Pair, load_pairs

CACHE: Final = Path(".toolscout/training")
"""Where downloaded wheels lie, unless told otherwise."""
PROGRESS_COLUMNS: Final = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


@dataclass(frozen=True)
class TrainingData:
    """All that the encoder learns from, and where it came from."""

    cache: Path

    @cached_property
    def pairs(self) -> list[Pair]:
        return load_pairs()

    @cached_property
    def tools(self) -> list[CatalogTool]:
        tools = (*read_daily_tools(), *read_catalogs(), *read_everyday_tools(self.everyday_wheels))
        return list(without_held_out(tools, held_out_texts(), held_out_operations()))

    @cached_property
    def everyday_wheels(self) -> list[Path]:
        return download(self.cache, EVERYDAY_PROGRAMS)

    @cached_property
    def wheels(self) -> list[Path]:
        return download(self.cache)

    @cached_property
    def translations(self) -> list[Translation]:
        return list(read_translations(self.wheels))

    def card(self) -> dict[str, Any]:
        """Counts, versions, licences and digests."""
        files = [PAIRS_FOLDER / f"{language}.jsonl" for language in LANGUAGES]
        return {
            "written_pairs": {
                "licence": "CC-BY-4.0",
                "pairs": len(self.pairs),
                "sha256": {path.name: sha256_of(path) for path in files if path.exists()},
            },
            "daily_catalog": {"licence": "CC-BY-4.0", "sha256": sha256_of(DAILY_CATALOG)},
            "catalogs": {
                "operations": len(self.tools),
                "packages": [f"{name}=={version(name)}" for name in ("botocore", "google-api-python-client")]
                + [program.requirement for program in EVERYDAY_PROGRAMS],
                "licence": "Apache-2.0",
                "sha256": {wheel.name: sha256_of(wheel) for wheel in self.everyday_wheels},
                "operations_in_test_sets_left_out": bool(os.environ.get("TOOLSCOUT_DATA")),
            },
            "translated_strings": {
                "strings": len(self.translations),
                "packages": {program.requirement: program.licence for program in PROGRAMS},
                "sha256": {wheel.name: sha256_of(wheel) for wheel in self.wheels},
            },
        }
