"""What is kept beside the data, and what is cleared away."""

import os
from pathlib import Path

from gateway.bench.speed.artefacts import kept, remove_leftovers

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

    remove_leftovers(tmp_path)

    assert set(tmp_path.iterdir()) == {own, own_words, young, living}
