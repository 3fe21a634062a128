"""Answers as values of a Python type: the schema that asks for them, and the check that reads them."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from gateway.chat.json_text import encode_json
from gateway.chat.messages import Content, UserMessage
from gateway.chat.prompt import Prompt
from gateway.errors import StructuredOutputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

STRUCTURED_OUTPUT: Final = "structured_output"
"""Where a request's wanted output stands in its context."""

_FENCED: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class StructuredOutput(Generic[T]):
    """A type that an answer is to have."""

    type: type[T]

    @cached_property
    def adapter(self) -> "TypeAdapter[T]":
        from pydantic import TypeAdapter

        return TypeAdapter(self.type)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the answer."""
        return self.adapter.json_schema()

    def read(self, text: str) -> T:
        """The value that an answer holds, a code fence around it allowed.

        Raises: StructuredOutputError, worded so that a model can mend its answer.
        """
        from pydantic import ValidationError

        fenced = _FENCED.match(text)
        try:
            return self.adapter.validate_json(fenced[1] if fenced else text)
        except ValidationError as error:
            mistakes = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['msg']}"
                for one in error.errors(include_url=False, include_context=False)
            )
            raise StructuredOutputError(mistakes) from error

    def asked_in_words(self, prompt: Prompt) -> Prompt:
        """The prompt with the schema at the end of what the user says."""
        wanted = (
            "Answer with one JSON value that fits this JSON Schema, and with nothing else: no explanation, no code "
            f"fence.\n{encode_json(self.schema).decode()}"
        )
        last = max((place for place, one in enumerate(prompt.messages) if isinstance(one, UserMessage)), default=None)
        if last is None:
            return replace(prompt, messages=(*prompt.messages, UserMessage(content=wanted)))
        user = prompt.messages[last]
        assert isinstance(user, UserMessage)
        asked = replace(user, content=_with_text(user.content, wanted))
        return replace(prompt, messages=(*prompt.messages[:last], asked, *prompt.messages[last + 1 :]))

    def asked_of_provider(self, prompt: Prompt) -> Prompt:
        """The prompt with the schema as `response_format`, which OpenAI-compatible providers enforce themselves."""
        wanted = {
            "type": "json_schema",
            "json_schema": {"name": _name(self.type), "schema": self.schema},
        }
        options = prompt.options
        return replace(prompt, options=replace(options, extra={**options.extra, "response_format": wanted}))


def _with_text(content: Content, text: str) -> Content:
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    return (*content, {"type": "text", "text": text})


def _name(wanted: object) -> str:
    name = getattr(wanted, "__name__", "answer")
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
