"""The callbacks of catalog tools that need no connection: simulated ones and Python functions."""

import importlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import anyio.to_thread

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.registry.simulator import simulate
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
class PythonToolCallback:
    """Runs a Python function that the operator registered, by its place `module:function`."""

    spec: ToolSpec
    target: str
    metadata: ToolMetadata = field(default_factory=lambda: ToolMetadata(checks_arguments=True))

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """As the function itself. Raises: ToolArgumentsError, ToolExecutionError, and whatever the function raises."""
        # Loaded by the first call, not with the catalog: one module that is gone must not break other tools.
        callback = await anyio.to_thread.run_sync(_loaded, self.target)
        return await callback.call(arguments, context)


@cache
def _loaded(target: str) -> ToolCallback:
    """The function behind `module:function`, as a tool. Raises: ToolExecutionError."""
    from gateway.tools.function import tool

    module_name, _, path = target.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
        return cast("ToolCallback", found) if hasattr(found, "spec") else tool(found)
    except (Exception, SystemExit) as error:  # importing runs code, which may fail in any way
        logger.warning("the Python tool %r cannot be loaded: %s", target, error)
        raise ToolExecutionError(
            "This tool is not available: the gateway cannot load its code. Do not call it again; go on without it "
            "and say so."
        ) from error
