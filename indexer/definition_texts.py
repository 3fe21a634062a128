"""The JSON of the definitions by row: what the catalog hands out, and what a snapshot file keeps of it."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from indexer.definition import ToolDefinition
from indexer.stores.payload import decode_definition

_JOINED: Final = 1024
"""Definitions copied at once: to copy those of 10,000 tools holds the interpreter for 30 ms."""
_DECODED: Final = 2048
"""Definitions kept as objects: what is found often is not read from JSON each time. Some 10 KB each."""


class DefinitionTexts:
    """Append-only: the first rows lie in one array, of a snapshot file maybe, later ones each on its own."""

    def __init__(self, joined: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        """`joined`: (bytes,) of the first rows. `offsets`: (rows + 1,), where each begins and the last one ends.

        Raises: ValueError if they do not fit together.
        """
        if int(offsets[-1]) != len(joined):
            raise ValueError("definitions cut short")
        self._joined = joined
        self._offsets = offsets
        self._stored = len(offsets) - 1
        self._later: list[bytes] = []
        self._decoded: dict[int, ToolDefinition] = {}
        self.nbytes = joined.nbytes
        """Of all texts."""

    @classmethod
    def empty(cls) -> "DefinitionTexts":
        return cls(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))

    def __len__(self) -> int:
        return self._stored + len(self._later)

    def append(self, encoded: bytes) -> None:
        self._later.append(encoded)
        self.nbytes += len(encoded)

    def encoded(self, row: int) -> bytes:
        """The JSON of a row's definition."""
        if row >= self._stored:
            return self._later[row - self._stored]
        start, end = self._offsets[row : row + 2]
        return self._joined[start:end].tobytes()

    def definition(self, row: int) -> ToolDefinition:
        """A row's definition. Raises: StoreError if it cannot be read."""
        definition = self._decoded.get(row)
        if definition is None:
            if len(self._decoded) >= _DECODED:
                # The older half; in one step, for several threads read.
                for old in list(islice(self._decoded, _DECODED // 2)):
                    self._decoded.pop(old, None)
            definition = self._decoded[row] = decode_definition(self.encoded(row))
        return definition

    def to_arrays(self, rows: Sequence[int]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """As `__init__` takes them, of these rows in this order."""
        if not self._later and rows == list(range(self._stored)):
            return self._joined, self._offsets
        encoded = [self.encoded(row) for row in rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        return _joined(encoded, offsets), offsets


def _joined(parts: Sequence[bytes], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The parts one after the other; `offsets`, (parts + 1,), say where each begins and the last one ends."""
    joined = np.empty(int(offsets[-1]), dtype=np.uint8)
    for start in range(0, len(parts), _JOINED):
        block = np.frombuffer(b"".join(parts[start : start + _JOINED]), dtype=np.uint8)
        joined[offsets[start] : offsets[start] + len(block)] = block
    return joined
