"""What the rows of a quick run need, made before the first of them: two things at once, since nothing is timed."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from gateway.bench.speed.artefacts import lexical_file
from gateway.bench.speed.bench import Bench
from gateway.bench.speed.lanes import LaneError
from gateway.bench.speed.text_rows import search_settings

_CATALOG: Final = 10_000
_CATALOG_ROWS: Final = ("write-10k", "search-10k")
_WORDS: Final = 100_000
_WORDS_ROWS: Final = ("lexical-add-100k", "lexical-100k")


def prepare(bench: Bench) -> None:
    """Fill the catalog in a process of its own, and index the words in this one meanwhile."""
    if not (any(map(bench.options.wants, _CATALOG_ROWS)) and any(map(bench.options.wants, _WORDS_ROWS))):
        return
    with ThreadPoolExecutor(1) as pool:
        filling = pool.submit(search_settings, bench, _CATALOG, undisturbed=False)
        lexical_file(bench.data, _WORDS, bench.heard)
        with suppress(LaneError):  # the row that needs the catalog says so itself
            filling.result()
