"""From what a tool returns to what the model reads."""

from typing import Protocol

from gateway.chat.messages import Content


class ToolCallResultConverter(Protocol):
    """Turns a tool's result into text or content parts for the model."""

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        """`returns_nothing` says that the tool is declared to return None."""
        ...


class JsonResultConverter:
    """Text as it is, anything else as compact JSON; "Done" where nothing was to be returned, "null" where None was."""

    def convert(self, result: object, *, returns_nothing: bool) -> Content:
        if result is None:
            return "Done" if returns_nothing else "null"
        if isinstance(result, str):
            return result
        # Knows dataclasses, pydantic models, dates and the like; imported late, for start-up does not need it.
        from pydantic_core import to_json

        return to_json(result, fallback=str).decode()
