"""A catalog tool that is asked for again before each call: the catalog may have changed since it was found."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.tools.callback import ToolCallback, ToolMetadata
from gateway.tools.context import ToolContext
from indexer import IndexerError, SearchScope, ToolIndex, ToolKey

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """Runs a tool only while the catalog lists it in the caller's view."""

    callback: ToolCallback
    key: ToolKey
    index: ToolIndex
    scope: SearchScope

    @property
    def spec(self) -> ToolSpec:
        return self.callback.spec

    @property
    def metadata(self) -> ToolMetadata:
        return self.callback.metadata

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """As the tool itself. Raises: ToolExecutionError for one that is gone, and what the tool raises."""
        if not await self._is_listed():
            raise ToolExecutionError(
                f"{self.spec.name} is gone: it was taken out of the catalog, or out of what you may use, since it was "
                "found. Do not call it again: search for another tool, or go on without it and say so."
            )
        return await self.callback.call(arguments, context)

    async def _is_listed(self) -> bool:
        try:
            stored = await self.index.get(self.key)
        except IndexerError as error:
            logger.warning("the catalog cannot say whether it still lists %s; it is run: %s", self.key, error)
            return True
        return stored is not None and stored.status == "active" and self.scope.admits(stored.definition)
