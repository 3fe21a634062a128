"""Whether a call's arguments fit the tool's schema, said so that the model can correct itself."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gateway.errors import ToolArgumentsError
from indexer import ToolDefinition

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

_SHOWN_FAULTS: Final = 5
_SHOWN_CHARACTERS: Final = 300
_KEPT_VALIDATORS: Final = 512


def check_arguments(definition: ToolDefinition, arguments: Mapping[str, Any]) -> None:
    """Check arguments against a definition's input schema.

    Raises: ToolArgumentsError, which names every wrong argument, at most five.
    """
    faults: list[str] = []
    for error in _validator(_HashedDefinition(definition)).iter_errors(dict(arguments)):
        if len(faults) == _SHOWN_FAULTS:
            faults.append("and more")
            break
        faults.append(_fault(error))
    if faults:
        raise ToolArgumentsError(
            f"The arguments do not fit {definition.name!r}: {'; '.join(faults)}. "
            "Correct these arguments and call the tool again."
        )


def _fault(error: "ValidationError") -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path).lstrip(".")
    message = error.message
    if len(message) > _SHOWN_CHARACTERS:
        message = f"{message[:_SHOWN_CHARACTERS]}…"
    return f"{place}: {message}" if place else message


class _HashedDefinition:
    """A definition as a cache key: equal content, equal validator."""

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition

    def __hash__(self) -> int:
        return hash(self.definition.content_hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HashedDefinition) and self.definition.content_hash == other.definition.content_hash


@lru_cache(maxsize=_KEPT_VALIDATORS)
def _validator(hashed: _HashedDefinition) -> "Validator":
    from jsonschema_rs import Draft202012Validator, RegexOptions

    # Offline and with linear regular expressions: a registered schema must not make us fetch or hang.
    return Draft202012Validator(
        dict(hashed.definition.input_schema), offline=True, pattern_options=RegexOptions(), validate_formats=False
    )
