"""What is kept beside the data, and what is cleared away."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from gateway.bench.speed.artefacts import kept, lexical_file, remove_leftovers, source_fingerprint, words_fingerprint
from gateway.bench.speed.data import BenchData
from indexer import LexicalIndex, ToolDocument
from tests.gateway.bench.speed.small_data import silent

_LONG_AGO = 1_000_000_000


def test_old_artefacts_of_other_code_and_copies_without_a_maker_are_removed(tmp_path: Path) -> None:
    own, own_words = kept(tmp_path, "home-10", ""), kept(tmp_path, "lexical-10", ".npz")
    young, old, words = (tmp_path / name for name in ("home-10-young0", "home-10-old000", "lexical-10-old000.npz"))
    orphan, living = (own.with_name(f"{own.name}.served-{pid}") for pid in (2**22 + 1, os.getpid()))
    for folder in (own, young, old, orphan, living):
        folder.mkdir()
    for file in (own_words, words):
        file.touch()
    for path in (own, own_words, old, words):
        os.utime(path, (_LONG_AGO, _LONG_AGO))

    remove_leftovers(tmp_path, {source_fingerprint()})

    assert set(tmp_path.iterdir()) == {own, own_words, young, living}


class OtherIndex(LexicalIndex):
    """Reads other words than the real one."""

    @override
    def add(self, documents: Sequence[ToolDocument]) -> range:
        return super().add([replace(document, description="") for document in documents])


def test_an_index_of_words_is_kept_under_what_is_read_of_some_tools(data: BenchData) -> None:
    known = words_fingerprint(data.folder)
    words_fingerprint.cache_clear()

    assert words_fingerprint(data.folder) == known
    assert words_fingerprint(data.folder, OtherIndex) != known
    assert lexical_file(data, 50, silent).name == f"lexical-50-{known}.npz"
