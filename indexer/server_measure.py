"""What a catalog on a server is like as a whole, and where that is kept over a restart."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from indexer.candidates import Floats, WholeWords
from indexer.confidence import UNCALIBRATED, Calibration
from indexer.errors import CorruptSnapshotError, StoreError
from indexer.lexical import FIELDS
from indexer.replica import MOVED_SHARE
from indexer.search import SearchScope
from indexer.snapshot import SNAPSHOT_FORMAT
from indexer.sparse import AVERAGE_TERMS

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CatalogMeasure:
    """A catalog as it was at one revision."""

    catalog_id: str = ""
    """Of which catalog, as its ledger has it; empty for one that was not looked at yet."""
    encoder_id: str = ""
    revision: int = 0
    tools: int = 0
    tenants: int = 1
    average_lengths: Floats
    """(fields,) terms of each field, in the order of `FIELDS`."""
    calibration: Calibration = UNCALIBRATED

    def is_outgrown_by(self, tools: int) -> bool:
        """Whether a catalog that has so many tools now is another than the one that was measured."""
        return abs(tools - self.tools) > MOVED_SHARE * self.tools

    def is_whole(self, scope: SearchScope) -> bool:
        """Whether a scope leaves nothing out, so that cosines in it lie as those of the catalog do."""
        every = scope.namespaces is None and scope.trust is None and scope.tools is None and not scope.tags
        return every and self.tenants <= 1

    def words(self, idf: Mapping[str, float]) -> WholeWords:
        return WholeWords(tools=self.tools, average_lengths=self.average_lengths, idf=idf)


def unmeasured(tools: int) -> CatalogMeasure:
    """What is taken for granted of a catalog that was not looked at yet."""
    return CatalogMeasure(tools=tools, average_lengths=np.array(AVERAGE_TERMS, dtype=np.float32))


def save_measure(path: Path, measure: CatalogMeasure) -> None:
    """Write a measure beside `path`, then move it there. Raises: StoreError."""
    arrays: dict[str, Any] = {
        "formats": np.array([_FORMAT, SNAPSHOT_FORMAT], dtype=np.int64),
        "names": np.array([measure.catalog_id, measure.encoder_id]),
        "counts": np.array([measure.revision, measure.tools, measure.tenants], dtype=np.int64),
        "average_lengths": measure.average_lengths,
    }
    if measure.calibration.scale is not None:
        arrays |= measure.calibration.to_arrays()
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            np.savez(file, **arrays)
        scratch.replace(path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise StoreError(f"Cannot write the measure of the catalog {path}: {error.strerror}.") from error


def load_measure(path: Path, *, catalog_id: str, encoder_id: str, dimensions: int) -> CatalogMeasure | None:
    """What `save_measure` wrote of this catalog; None where there is none, or one of another catalog.

    Raises: CorruptSnapshotError.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if arrays["formats"].tolist() != [_FORMAT, SNAPSHOT_FORMAT]:
            return None
        if arrays["names"].tolist() != [catalog_id, encoder_id]:
            return None
        revision, tools, tenants = arrays["counts"].tolist()
        average = arrays["average_lengths"]
        if average.shape != (len(FIELDS),):
            raise CorruptSnapshotError(f"{path} holds {average.shape} lengths, not {len(FIELDS)}")
    except FileNotFoundError:
        return None
    except (OSError, BadZipFile, KeyError, ValueError, TypeError) as error:
        raise CorruptSnapshotError(f"{path} cannot be read: {error!r}") from error
    return CatalogMeasure(
        catalog_id=catalog_id,
        encoder_id=encoder_id,
        revision=revision,
        tools=tools,
        tenants=tenants,
        average_lengths=np.asarray(average, dtype=np.float32),
        calibration=Calibration.from_arrays(arrays, dimensions) if "mean" in arrays else UNCALIBRATED,
    )
