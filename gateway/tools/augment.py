"""Extra arguments on any tool: the model fills them in, a consumer reads them, the tool does not see them."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from gateway.chat.messages import Content
from gateway.chat.prompt import ToolSpec
from gateway.errors import ConfigurationError, ToolArgumentsError
from gateway.tools.callback import ToolCallback, ToolMetadata
from gateway.tools.context import ToolContext

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentedArguments(Generic[M]):
    """What a model wrote into a call beside the tool's own arguments."""

    tool_name: str
    arguments: Mapping[str, Any]
    """The tool's own."""
    extra: M
    context: ToolContext


ArgumentConsumer = Callable[[AugmentedArguments[M]], Awaitable[None] | None]


class AugmentedToolCallback(Generic[M]):
    """A tool with the fields of a pydantic model in front of its parameters."""

    def __init__(
        self,
        callback: ToolCallback,
        extra: type[M],
        *,
        argument_consumer: ArgumentConsumer[M] | None = None,
        remove_extra_arguments_after_processing: bool = True,
    ) -> None:
        """Raises: ConfigurationError if the model and the tool share the name of an argument."""
        self._callback = callback
        self._extra = extra
        self._consumer = argument_consumer
        self._remove = remove_extra_arguments_after_processing
        schema = extra.model_json_schema()
        self._names = frozenset(schema.get("properties", {}))
        self._spec = _augmented(callback.spec, schema, extra.__name__)

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def metadata(self) -> ToolMetadata:
        return self._callback.metadata

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Content:
        """Hand the extra arguments to the consumer, then run the tool. Raises: ToolError."""
        from pydantic import ValidationError

        own = {name: value for name, value in arguments.items() if name not in self._names}
        try:
            extra = self._extra.model_validate({name: arguments[name] for name in self._names & arguments.keys()})
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)
            )
            raise ToolArgumentsError(
                f"the arguments of {self._spec.name} do not fit: {wrong}. Correct them and call it again"
            ) from error
        if self._consumer is not None:
            told = self._consumer(
                AugmentedArguments(tool_name=self._spec.name, arguments=own, extra=extra, context=context)
            )
            if inspect.isawaitable(told):
                await told
        return await self._callback.call(own if self._remove else arguments, context)


class AugmentedToolCallbackProvider(Generic[M]):
    """The same extra arguments on several tools."""

    def __init__(
        self,
        callbacks: Iterable[ToolCallback],
        extra: type[M],
        *,
        argument_consumer: ArgumentConsumer[M] | None = None,
        remove_extra_arguments_after_processing: bool = True,
    ) -> None:
        """Raises: ConfigurationError if the model and a tool share the name of an argument."""
        self.callbacks: tuple[AugmentedToolCallback[M], ...] = tuple(
            AugmentedToolCallback(
                callback,
                extra,
                argument_consumer=argument_consumer,
                remove_extra_arguments_after_processing=remove_extra_arguments_after_processing,
            )
            for callback in callbacks
        )


def _augmented(spec: ToolSpec, extra: Mapping[str, Any], model_name: str) -> ToolSpec:
    """The extra properties first: a model writes arguments in order, and is to think before it acts."""
    own = spec.parameters
    properties = cast("Mapping[str, Any]", own.get("properties", {}))
    for part in ("properties", "$defs"):
        shared = sorted(set(extra.get(part, {})) & set(own.get(part, {})))
        if shared:
            raise ConfigurationError(
                f"{model_name} and the tool {spec.name!r} both define {', '.join(shared)}: rename it in {model_name}"
            )
    parameters: dict[str, Any] = {
        **own,
        "properties": {**extra.get("properties", {}), **properties},
        "required": [*extra.get("required", ()), *own.get("required", ())],
    }
    if extra.get("$defs") or own.get("$defs"):
        parameters["$defs"] = {**own.get("$defs", {}), **extra.get("$defs", {})}
    return ToolSpec(name=spec.name, description=spec.description, parameters=parameters)
