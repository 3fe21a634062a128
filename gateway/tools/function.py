"""Python functions as tools: the schema comes from their type hints and docstring."""

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast, get_args, get_type_hints, overload

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolArgumentsError, ToolExecutionError
from gateway.threads import Cancellation, run_in_thread
from gateway.tools.callback import CompletionKeys, ToolMetadata
from gateway.tools.context import ToolContext
from gateway.tools.converter import JsonResultConverter, ToolCallResultConverter
from indexer.errors import cut

if TYPE_CHECKING:
    from pydantic import ValidationError

_MAX_SHOWN_VALUE: Final = 80


class FunctionToolCallback:
    """A function the model can call; still callable from Python as it was written.

    Synchronous functions run in a worker thread, which cannot be stopped: a run that is cancelled waits for it as long
    as the tool may take, and a function that takes long should look at `ToolContext.cancellation`. A parameter hinted
    as ToolContext receives the run's context and is not part of what the model sees.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        repeatable: bool = False,
        completion: CompletionKeys | None = None,
        converter: ToolCallResultConverter | None = None,
    ) -> None:
        """Raises: InvalidToolError for a function that no schema can describe, naming the parameter."""
        self._function: Callable[..., Any] = function
        if isinstance(function, FunctionToolCallback):  # a tool made once more, under another name say
            self._function = function = function._function
        # Schemas need pydantic, which start-up without Python tools does not.
        from indexer.sources.python_schema import schema_of_function

        described = schema_of_function(function, skip=(ToolContext,))
        functools.update_wrapper(self, function)
        self._bind = described.bind
        self._context_parameters = _context_parameters(function)
        self._returns_nothing = _returns_nothing(function)
        self._converter = converter or JsonResultConverter()
        self._spec = ToolSpec(
            name=name or described.name,
            description=described.description if description is None else description,
            parameters=described.input_schema,
        )
        self._metadata = ToolMetadata(
            return_direct=return_direct, checks_arguments=True, repeatable=repeatable, completion=completion
        )

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the wrapped function's own signature
        return self._function(*args, **kwargs)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """Check and convert the arguments, run, convert the result. Raises: ToolArgumentsError, and what it raises."""
        from pydantic import ValidationError

        try:
            bound = self._bind(arguments)
        except ValidationError as error:
            raise ToolArgumentsError(_what_is_wrong(self._spec.name, error)) from error
        context = replace(context, cancellation=Cancellation())  # of this call only: others of the run may go on
        bound.update(dict.fromkeys(self._context_parameters, context))
        result = await self._run(bound, context.cancellation)
        return self._converter.convert(result, returns_nothing=self._returns_nothing)

    async def _run(self, arguments: dict[str, Any], cancellation: Cancellation) -> object:
        try:
            if inspect.iscoroutinefunction(inspect.unwrap(self._function)):
                return await self._function(**arguments)
            call = functools.partial(_yielded, self._function, arguments)
            result = await run_in_thread(call, name=f"the tool {self._spec.name}", cancellation=cancellation)
            if inspect.isasyncgen(result):
                return [one async for one in cast("AsyncGenerator[object]", result)]
            return await result if inspect.isawaitable(result) else result
        except SystemExit as error:  # code written as a script leaves so; it would end the whole process
            raise ToolExecutionError(f"{self._spec.name} tried to exit the program (code {error.code})") from error


def _yielded(function: Callable[..., Any], arguments: Mapping[str, Any]) -> object:
    """What the function returns, or all that it yields: a generator's work is done here too, not where it is read."""
    result = function(**arguments)
    return list(cast("Generator[object]", result)) if inspect.isgenerator(result) else result


@overload
def tool(function: Callable[..., Any], /) -> FunctionToolCallback: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    repeatable: bool = False,
    completion: CompletionKeys | None = None,
    converter: ToolCallResultConverter | None = None,
) -> Callable[[Callable[..., Any]], FunctionToolCallback]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    repeatable: bool = False,
    completion: CompletionKeys | None = None,
    converter: ToolCallResultConverter | None = None,
) -> FunctionToolCallback | Callable[[Callable[..., Any]], FunctionToolCallback]:
    """Make a function a tool: `@tool`, or `@tool(return_direct=True)`; the rest is explained at `ToolMetadata`.

    Raises: InvalidToolError for a function that no schema can describe, naming the parameter.
    """

    def make(target: Callable[..., Any]) -> FunctionToolCallback:
        return FunctionToolCallback(
            target,
            name=name,
            description=description,
            return_direct=return_direct,
            repeatable=repeatable,
            completion=completion,
            converter=converter,
        )

    return make if function is None else make(function)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function if inspect.isroutine(function) else type(function).__call__)


def _context_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    hints = _hints(function)
    return tuple(
        name
        for name in inspect.signature(function).parameters
        if hints.get(name) is ToolContext or ToolContext in get_args(hints.get(name))
    )


def _returns_nothing(function: Callable[..., Any]) -> bool:
    return _hints(function).get("return") is type(None)


def _what_is_wrong(tool_name: str, error: "ValidationError") -> str:
    """The mistakes in a call, each with the argument's name, what was expected and what came."""
    lines: list[str] = []
    for mistake in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in mistake["loc"]) or "arguments"
        match mistake["type"]:
            case "missing":
                lines.append(f"{place} is missing")
            case "extra_forbidden":
                lines.append(f"{place} is not a parameter of this tool")
            case _:
                lines.append(f"{place}: {mistake['msg']}, got {cut(repr(mistake['input']), _MAX_SHOWN_VALUE)}")
    return (
        f"the arguments of {tool_name} do not fit: {'; '.join(lines)}. Correct them and call it again; do not repeat "
        "the same arguments."
    )
