"""The callbacks of catalog tools that need no connection: simulated ones and Python functions."""

import importlib
import json
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.registry.simulator import simulate
from gateway.threads import run_in_thread
from gateway.tools.callback import ToolCallback, ToolMetadata
from gateway.tools.context import ToolContext
from indexer import ToolDefinition

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedToolCallback:
    """Answers in the shape of the real operation and says that it is not it; the manager checks the arguments."""

    spec: ToolSpec
    definition: ToolDefinition
    metadata: ToolMetadata = field(default_factory=ToolMetadata)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """A marked result as JSON."""
        return json.dumps(simulate(self.definition, arguments), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnavailableTool:
    """A tool of a server that the gateway cannot tell any more; the log says why, and the model only that."""

    spec: ToolSpec
    metadata: ToolMetadata

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """Raises: ToolExecutionError."""
        raise ToolExecutionError(
            "This tool is not available: the gateway cannot read which server runs it. Do not call it again; go on "
            "without it and say so."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonToolCallback:
    """Runs a Python function that the operator registered, by its place `module:function`."""

    spec: ToolSpec
    target: str
    folder_of: Callable[[str], str | None] = field(default=lambda module: None)
    """The folder in which a module was found when it was indexed, if that is on nobody's path."""
    metadata: ToolMetadata = field(default_factory=lambda: ToolMetadata(checks_arguments=True))

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """As the function itself. Raises: ToolArgumentsError, ToolExecutionError, and whatever the function raises."""
        # Loaded by the first call, not with the catalog: one module that is gone must not break other tools.
        callback = await run_in_thread(self._load, name=f"loading the tool {self.spec.name}")
        return await callback.call(arguments, context)

    def _load(self) -> ToolCallback:
        return _loaded(self.target, self.folder_of(self.target.partition(":")[0]))


@cache
def _loaded(target: str, folder: str | None) -> ToolCallback:
    """The function behind `module:function`, as a tool. Raises: ToolExecutionError."""
    from gateway.tools.function import tool

    module_name, _, path = target.partition(":")
    if folder is not None and folder not in sys.path:
        sys.path.append(folder)  # at the end, so that nothing installed is hidden by a name in it
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
        return cast("ToolCallback", found) if hasattr(found, "spec") else tool(found)
    except (Exception, SystemExit) as error:  # importing runs code, which may fail in any way
        logger.warning(
            "the Python tool %r cannot be loaded (%s: %s); index it again from the folder that holds it, or install it",
            target,
            type(error).__name__,
            error,
        )
        raise ToolExecutionError(
            "This tool is not available: the gateway cannot load its code. Do not call it again; go on without it "
            "and say so."
        ) from error
