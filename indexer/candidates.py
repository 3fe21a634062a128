"""The tools that a server found, as a small replica: they are ranked as rows of the whole catalog would be.

What takes the whole catalog to know is brought along: how rare each word is, how long fields are on average, what a
weak match is. Then a search of these few rows gives what a search of all rows gives, if the best are among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from indexer.confidence import Calibration
from indexer.embedders.base import Embedder, token_encoder_of
from indexer.lexical import LexicalMatches, LexicalSnapshot
from indexer.lexical.tokens import surfaces
from indexer.replica import Replica
from indexer.replica_state import ReplicaState
from indexer.stores.base import StoredTool

Floats: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeWords:
    """What the words of a catalog are like as a whole."""

    tools: int
    average_lengths: Floats
    """(fields,) terms of each field, in the order of `FIELDS`."""
    idf: Mapping[str, float]
    """Of the terms that are asked for; others weigh nothing."""


class PartWords(LexicalSnapshot):
    """The words of a few rows, scored as the whole catalog would score them."""

    def __init__(self, rows: LexicalSnapshot, whole: WholeWords) -> None:
        tools = max(whole.tools, rows.n_rows)
        super().__init__(
            parameters=rows._parameters,
            vocabulary=rows._vocabulary,
            segments=rows._segments,
            lengths=rows._lengths,
            length_sums=whole.average_lengths.astype(np.float64) * tools,
            traits=rows._traits,
            alive=rows._alive,
            live=tools,
        )
        self._idf = whole.idf

    @override
    def match(self, query: str) -> LexicalMatches:
        """As `LexicalSnapshot.match`: a posting's gain is its term's idf times what is the row's own."""
        found = super().match(query)
        idf = np.array([self._idf.get(term, 0.0) for term in surfaces(query)], dtype=np.float32)
        ratios = np.repeat(idf / found.idf, np.diff(found.ends, prepend=0))
        return replace(found, idf=idf, gains=np.asarray(found.gains * ratios, dtype=np.float32))

    @staticmethod
    def average_lengths(rows: LexicalSnapshot) -> Floats:
        """(fields,) of some rows."""
        return rows._average.astype(np.float32)


def replica_of(tools: Sequence[StoredTool], embedder: Embedder) -> ReplicaState:
    """Active tools, each key once, as the rows of a replica in the order in which they were registered."""
    replica = Replica(embedder.dimensions, token_encoder=token_encoder_of(embedder))
    replica.apply(sorted((tool for tool in tools if tool.vector is not None), key=lambda tool: tool.revision))
    return replica.state


def as_part(state: ReplicaState, whole: WholeWords, calibration: Calibration, revision: int) -> ReplicaState:
    """The same rows as those of a catalog of which they are a part."""
    return replace(state, revision=revision, lexical=PartWords(state.lexical, whole), calibration=calibration)
