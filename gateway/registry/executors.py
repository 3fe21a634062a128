"""The callbacks of catalog tools that need no connection: simulated ones, Python callables, and the caller's own."""

import asyncio
import importlib
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolArgumentsError, ToolExecutionError
from gateway.registry.simulator import simulate
from gateway.tools.callback import ToolMetadata
from gateway.tools.context import ToolContext
from indexer import ToolDefinition, arguments_problem

logger = logging.getLogger(__name__)


def spec_of(definition: ToolDefinition, alias: str) -> ToolSpec:
    """A definition as a model sees it, under its model-facing name."""
    return ToolSpec(
        name=alias, description=definition.description or definition.title, parameters=definition.input_schema
    )


def check_arguments(definition: ToolDefinition, arguments: Mapping[str, Any]) -> None:
    """Raises: ToolArgumentsError, written for the model, if the arguments do not fit the definition's schema."""
    problem = arguments_problem(definition.input_schema, arguments)
    if problem is not None:
        raise ToolArgumentsError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientToolCallback:
    """A tool that nobody here can run: its call is returned to the caller."""

    spec: ToolSpec
    metadata: ToolMetadata = field(default_factory=lambda: ToolMetadata(runs_here=False))

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Never succeeds. Raises: ToolExecutionError."""
        raise ToolExecutionError(f"{self.spec.name!r} is run by the caller, not by the gateway.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedToolCallback:
    """Answers in the shape of the real operation and says that it is not it."""

    spec: ToolSpec
    definition: ToolDefinition
    metadata: ToolMetadata = field(default_factory=ToolMetadata)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """A marked result as JSON. Raises: ToolArgumentsError."""
        check_arguments(self.definition, arguments)
        return json.dumps(simulate(self.definition, arguments), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonToolCallback:
    """Runs a Python callable that the operator registered; a plain function runs in a worker thread."""

    spec: ToolSpec
    definition: ToolDefinition
    metadata: ToolMetadata = field(default_factory=ToolMetadata)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """The result as JSON. Raises: ToolArgumentsError, ToolExecutionError, and whatever the function raises."""
        check_arguments(self.definition, arguments)
        # Loaded by the first call, not with the catalog: one module that is gone must not break other tools.
        function = await asyncio.to_thread(_imported, str(self.definition.executor.config.get("target", "")))
        if inspect.iscoroutinefunction(function):
            result = await function(**arguments)
        else:
            result = await asyncio.to_thread(function, **arguments)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


@cache
def _imported(target: str) -> Callable[..., Any]:
    """The function behind `module:function`. Raises: ToolExecutionError."""
    module_name, _, function_name = target.partition(":")
    try:
        function: object = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as error:
        logger.warning("Python tool %r cannot be loaded: %s", target, error)
        raise ToolExecutionError(
            "This tool is not available: its code cannot be loaded by the gateway. Go on without it and say so."
        ) from error
    return cast("Callable[..., Any]", function)
