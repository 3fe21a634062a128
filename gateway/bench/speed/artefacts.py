"""What is made once of the data and kept beside it: lexical indexes, token lists for others, and whole catalogs.

A catalog is kept under a fingerprint of the indexer's code, an index of words under one of what the code makes of some
tools: it is made anew where words are read or kept otherwise, and not for every other change.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

import indexer
from gateway.bench.progress import Progress
from gateway.bench.speed.data import BenchData
from gateway.bench.speed.grown import Grower
from indexer import LexicalIndex, ToolDocument, document_of
from indexer.lexical import FIELDS
from indexer.lexical.tokens import tokenize

_STEP: Final = 1000
_BATCH: Final = 512
_SAMPLE: Final = 256
_STALE_SECONDS: Final = 86_400.0
_UNREAD: Final = ("sources", "training")
"""Rooms of the indexer that leave no trace in what is kept."""


@cache
def source_fingerprint() -> str:
    """Of the indexer's code, as far as it decides what a catalog on disk is."""
    room = Path(indexer.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(room.rglob("*.py")):
        if file.relative_to(room).parts[0] not in _UNREAD:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def words_fingerprint(folder: Path, make_index: Callable[[], LexicalIndex] = LexicalIndex) -> str:
    """Of the index of some real tools of a data folder and some grown ones."""
    data = BenchData(folder)
    grower, index = Grower(data), make_index()
    rows = (*range(min(_SAMPLE, data.tools)), *range(data.tools, data.tools + _SAMPLE // 4))
    index.add([document_of(grower.tool(row)) for row in rows])
    digest = hashlib.sha256()
    for name, array in sorted(index.to_arrays().items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:12]


def kept(folder: Path, name: str, suffix: str) -> Path:
    """Where the artefact of this code lies."""
    return folder / f"{name}-{source_fingerprint()}{suffix}"


def _words_file(data: BenchData, rows: int) -> Path:
    return data.folder / f"lexical-{rows}-{words_fingerprint(data.folder)}.npz"


def remove_leftovers(folder: Path, fingerprints: Collection[str]) -> None:
    """Delete artefacts under other fingerprints that are a day old, and copies of homes without a living maker.

    The names of the latter end with a pid.
    """
    for path in (*folder.glob("home-*"), *folder.glob("lexical-*")):
        pid = path.name.rpartition("-")[2] if ".new" not in path.name and "." in path.name else ""
        orphaned = pid.isdigit() and not Path(f"/proc/{pid}").exists()
        other = not any(one in path.name for one in fingerprints)
        if orphaned or (other and time.time() - path.stat().st_mtime > _STALE_SECONDS):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def documents(data: BenchData, rows: int, heard: Progress, stage: str) -> Iterator[ToolDocument]:
    """The texts of the first so many tools."""
    for number, document in enumerate(Grower(data).documents(rows), start=1):
        yield document
        if number % _STEP == 0:
            heard(stage, number, rows)


def lexical_file(data: BenchData, rows: int, heard: Progress) -> Path:
    """Our lexical index over so many tools, as its arrays."""
    file = _words_file(data, rows)
    if not file.exists():
        index = LexicalIndex()
        for batch in _batches(documents(data, rows, heard, f"indexing the words of {rows:,} tools")):
            index.add(batch)
        _save(file, index.to_arrays())
    return file


def load_lexical(file: str) -> LexicalIndex:
    """Read back what `lexical_file` wrote."""
    with np.load(file) as arrays:
        return LexicalIndex.from_arrays(dict(arrays.items()))


def token_file(data: BenchData, rows: int, heard: Progress) -> Path:
    """The words of so many tools for the indexes of others, as `word_files` writes them."""
    file = data.folder / f"tokens-{rows}.npz"
    return file if file.exists() else word_files(data, rows, heard)[1]


def word_files(data: BenchData, rows: int, heard: Progress) -> tuple[Path, Path]:
    """Our lexical index over so many tools, and the same words for the indexes of others.

    The latter are a tool's terms as our analyser makes them, all fields together.
    """
    index_file, token_file = _words_file(data, rows), data.folder / f"tokens-{rows}.npz"
    if token_file.exists():
        return lexical_file(data, rows, heard), token_file
    index, numbers, flat = LexicalIndex(), dict[str, int](), list[npt.NDArray[np.int32]]()
    for batch in _batches(documents(data, rows, heard, f"indexing the words of {rows:,} tools")):
        index.add(batch)
        for document in batch:
            terms = [term for field in FIELDS for term in tokenize(cast(str, getattr(document, field)))]
            flat.append(np.array([numbers.setdefault(term, len(numbers)) for term in terms], dtype=np.int32))
    _save(index_file, index.to_arrays())
    arrays = {
        "terms": np.concatenate(flat),
        "ends": np.cumsum([len(one) for one in flat]),
        "words": np.frombuffer("\n".join(numbers).encode(), dtype=np.uint8),
    }
    _save(token_file, arrays)
    return index_file, token_file


def _batches(documents: Iterable[ToolDocument]) -> Iterator[list[ToolDocument]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def load_tokens(file: str) -> list[list[str]]:
    """Read back the words that `word_files` wrote: a list of terms for each tool."""
    numbers, ends, words = load_token_numbers(file)
    return [[words[number] for number in part.tolist()] for part in np.split(numbers, ends[:-1])]


def load_token_numbers(file: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], list[str]]:
    """The same as numbers of words, one tool after the other, with the end of each; and the words."""
    with np.load(file) as arrays:
        return arrays["terms"], arrays["ends"], arrays["words"].tobytes().decode().split("\n")


def _save(file: Path, arrays: dict[str, Any]) -> None:
    """Write whole: a file that is there is complete."""
    draft = file.with_suffix(".new.npz")
    np.savez(draft, **arrays)
    draft.rename(file)
