"""What searches on a server have learnt of its catalog and need again: how rare words are, how wide scopes are."""

from typing import Final, final

from indexer.rarity import Rarities
from indexer.search import SearchScope
from indexer.search_plan import GATHER_SHARE
from indexer.server_measure import CatalogMeasure
from indexer.server_reading import ServerReader
from indexer.stores.qdrant_query import scope_filter

_CHANGED_SHARE: Final = 64
"""What is remembered is worthless once one tool in so many has changed."""
_MOST_WORDS: Final = 1 << 16
_MOST_SCOPES: Final = 256


@final
class CatalogMemory:
    """Belongs to a catalog from one revision on, until it is outgrown; used in one thread."""

    def __init__(self, reader: ServerReader, revision: int) -> None:
        self._reader = reader
        self._since = revision
        self._sizes: dict[SearchScope, int] = {}
        self.rarities = Rarities()

    def is_outgrown(self, revision: int, tools: int) -> bool:
        """Whether a catalog of so many tools has changed too much by this revision, or all this became too much."""
        changed = not 0 <= revision - self._since <= tools // _CHANGED_SHARE
        return changed or len(self.rarities) > _MOST_WORDS or len(self._sizes) > _MOST_SCOPES

    async def is_narrow(self, scope: SearchScope, measure: CatalogMeasure) -> bool:
        """Whether cosines in a scope have a scale of their own, as the replica has it.

        Asks the server how many tools there are in it, once for each scope that leaves any out.
        Raises: StoreUnavailableError, StoreError.
        """
        if measure.is_whole(scope):
            return False
        size = self._sizes.get(scope)
        if size is None:
            size = self._sizes[scope] = await self._reader.count(scope_filter(scope))
        return size < GATHER_SHARE * measure.tools
