"""From a typed Python function to the schema of its arguments: hints say the types, the docstring the meaning."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_args, get_origin, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from indexer.errors import InvalidToolError

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue, JsonSchemaWarningKind
    from pydantic_core import CoreSchema

_TAKES_MANY: Final = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


@dataclass(frozen=True, slots=True)
class ToolParam:
    """What a model is told of a parameter: `days: Annotated[int, ToolParam("how many days")]`.

    Wins over pydantic's `Field`, that over the hint, and that over the default. On a field of a nested type it gives
    the description, where `Field` gives none.
    """

    description: str = ""
    required: bool | None = None
    """True: the model must give it, whatever its default. False: it may be left out, so it needs a default or a hint
    that allows None. None: a `Field` with a default, a hint that allows None, or a default makes it optional."""

    def __get_pydantic_json_schema__(
        self, core_schema: "CoreSchema", handler: GetJsonSchemaHandler
    ) -> "JsonSchemaValue":
        schema = handler(core_schema)
        return {**schema, "description": self.description} if self.description else schema


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a function says about itself."""

    name: str
    description: str
    """The docstring without its parameters: summary, text, what it returns."""
    input_schema: Mapping[str, Any]
    """JSON Schema 2020-12 of the arguments; unknown arguments are not allowed."""
    model: type[BaseModel]
    """Checks and converts arguments; `bind` uses it."""
    _fields: Mapping[str, str]
    _filled: Collection[str]
    """Fields whose default Python does not know."""

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """JSON arguments -> the keyword arguments to call with, converted to the hinted types.

        Raises: pydantic.ValidationError.
        """
        checked = self.model.model_validate(dict(arguments))
        bound = {*checked.model_fields_set, *self._filled}
        return {name: getattr(checked, field) for field, name in self._fields.items() if field in bound}


def schema_of_function(function: Callable[..., Any], *, skip: Collection[type] = ()) -> FunctionSchema:
    """Read a function's hints and docstring (Google, NumPy or reST) as a tool.

    What describes a parameter, the first that does: `ToolParam`, pydantic's `Field`, `Annotated[int, "meaning"]`, the
    docstring. What makes it optional: see `ToolParam`. Parameters hinted as one of `skip` are the caller's to fill and
    never shown.
    Raises: InvalidToolError naming the parameter that has no hint, or one that no JSON can express.
    """
    name = getattr(function, "__name__", type(function).__name__)
    docs = _Docs(function)
    hints = _hints(function, name)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    filled: set[str] = set()
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, inspect.Parameter.empty)
        if _is_one_of(hint, skip):
            continue
        _check_parameter(parameter, hint, name)
        # Fields have names of their own, so that no argument can collide with an attribute of pydantic's models.
        field = f"argument_{len(fields)}"
        names[field] = parameter.name
        described = _field(parameter, hint, docs.parameters.get(parameter.name), name)
        fields[field] = (described.hint, described.field)
        if described.is_filled:
            filled.add(field)
    model, schema = _model_and_schema(name, fields, names)
    return FunctionSchema(name, docs.description, schema, model, names, filled)


class _Docs:
    """A docstring taken apart."""

    def __init__(self, function: Callable[..., Any]) -> None:
        text = inspect.getdoc(function) or ""
        self.parameters: dict[str, str] = {}
        try:
            parsed = docstring_parser.parse(text)
        except docstring_parser.ParseError:
            self.description = text
            return
        parts = [parsed.short_description, parsed.long_description]
        if parsed.returns and parsed.returns.description:
            parts.append(f"Returns: {parsed.returns.description}")
        self.description = "\n\n".join(part.strip() for part in parts if part)
        self.parameters = {param.arg_name: param.description for param in parsed.params if param.description}


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise InvalidToolError(
            "parameters", f"a type hint cannot be resolved: {error}", fix="Import the type at run time.", tool=name
        ) from error


def _is_one_of(hint: object, types: Collection[type]) -> bool:
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return any(plain is kind or kind in get_args(plain) for kind in types)


def _check_parameter(parameter: inspect.Parameter, hint: object, tool: str) -> None:
    where = f"parameters.{parameter.name}"
    if stars := _TAKES_MANY.get(parameter.kind):
        raise InvalidToolError(
            where, f"{stars}{parameter.name} takes any number of arguments", fix="Name each argument.", tool=tool
        )
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise InvalidToolError(where, "can only be passed by position", fix="Remove the '/'.", tool=tool)
    if hint is inspect.Parameter.empty:
        raise InvalidToolError(
            where, "has no type hint", fix=f"Write `{parameter.name}: str`, or the type it has.", tool=tool
        )


class _Field(NamedTuple):
    """A parameter as pydantic is to read it."""

    hint: Any
    field: Any
    is_filled: bool
    """It has a default that Python does not know."""


def _field(parameter: inspect.Parameter, hint: Any, documented: str | None, tool: str) -> _Field:  # noqa: ANN401 - hints are any value
    """Raises: InvalidToolError for a parameter that may be left out and has no default."""
    own = parameter.default
    if isinstance(own, FieldInfo):
        hint, own = Annotated[hint, own], inspect.Parameter.empty
    stated = FieldInfo.from_annotation(hint)
    param = _tool_param(hint)
    described = param.description or stated.description or _said_in_hint(hint) or documented
    extra: dict[str, Any] = {"description": described} if described else {}
    if param.required:
        if not stated.is_required():
            hint, kept = _without_default(hint, stated)
            extra = {**kept, **extra}
        return _Field(hint, Field(alias=parameter.name, **extra), is_filled=False)
    if not stated.is_required():
        return _Field(hint, Field(alias=parameter.name, **extra), is_filled=True)
    if own is not inspect.Parameter.empty:
        return _Field(hint, Field(alias=parameter.name, default=own, **extra), is_filled=False)
    if _allows_none(hint):
        return _Field(hint, Field(alias=parameter.name, default=None, **extra), is_filled=True)
    if param.required is False:
        raise InvalidToolError(
            f"parameters.{parameter.name}",
            "may be left out and has no default",
            fix="Give it a default, or let its hint allow None.",
            tool=tool,
        )
    return _Field(hint, Field(alias=parameter.name, **extra), is_filled=False)


def _marks(hint: object) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _tool_param(hint: object) -> ToolParam:
    return next((mark for mark in _marks(hint) if isinstance(mark, ToolParam)), ToolParam())


def _said_in_hint(hint: object) -> str | None:
    """The text in `Annotated[int, "how many days"]`."""
    return next((mark for mark in _marks(hint) if isinstance(mark, str)), None)


def _allows_none(hint: object) -> bool:
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return plain is NoneType or NoneType in get_args(plain)


def _without_default(hint: object, stated: FieldInfo) -> tuple[Any, dict[str, Any]]:
    """The hint with the constraints of its `Field` in that one's place, and what else the `Field` says."""
    others = [mark for mark in _marks(hint) if not isinstance(mark, FieldInfo) and mark not in stated.metadata]
    bare: Any = get_args(hint)[0]
    for mark in (*others, *stated.metadata):
        bare = Annotated[bare, mark]
    said = {"title": stated.title, "examples": stated.examples, "json_schema_extra": stated.json_schema_extra}
    return bare, {name: value for name, value in said.items() if value is not None}


class _PlainSchema(GenerateJsonSchema):
    """Without the titles that only repeat names, and quiet about defaults that no JSON can express."""

    ignored_warning_kinds: "set[JsonSchemaWarningKind]" = {
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's own signature
        return False


def _model_and_schema(
    tool: str, fields: dict[str, Any], names: Mapping[str, str]
) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_PlainSchema)
    except PydanticUserError as error:
        raise _unsupported(tool, fields, names, error) from error
    schema.pop("title", None)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    schema.setdefault("properties", {})
    return model, schema


def _unsupported(
    tool: str, fields: Mapping[str, Any], names: Mapping[str, str], error: PydanticUserError
) -> InvalidToolError:
    fix = "Use str, int, float, bool, list, dict, Literal, an enum, a dataclass, a TypedDict or a pydantic model."
    for field, (hint, _) in fields.items():
        try:
            TypeAdapter(hint).json_schema(schema_generator=_PlainSchema)
        except PydanticUserError as cause:
            if cause.code == "typed-dict-version":
                fix = "Import TypedDict from typing_extensions, which Python before 3.12 needs for this."
            shown = hint.__name__ if isinstance(hint, type) else str(hint)
            return InvalidToolError(f"parameters.{names[field]}", f"no JSON is a {shown}", fix=fix, tool=tool)
    return InvalidToolError("parameters", error.message.split("\n", 1)[0], fix=fix, tool=tool)
