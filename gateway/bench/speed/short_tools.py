"""Real tools cut to the size of those that MCP servers publish: a sentence, a few parameters, no schema of results."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.chat.tokens import TokenCounter
from indexer import ToolDefinition

_PARAMETERS: Final = 8
_DESCRIPTION: Final = 400
_PARAMETER_DESCRIPTION: Final = 160
_KEPT: Final = ("type", "enum", "default")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")


def shortened(tool: ToolDefinition) -> ToolDefinition:
    """The tool with its first sentence and its first eight parameters, each with its own first sentence."""
    parameters: dict[str, Any] = tool.input_schema.get("properties", {})
    kept = {name: _parameter(schema) for name, schema in list(parameters.items())[:_PARAMETERS]}
    required = [name for name in tool.input_schema.get("required", ()) if name in kept]
    schema = {"type": "object", "properties": kept, "required": required}
    description = _first_sentence(tool.description)[:_DESCRIPTION]
    return replace(tool, description=description, input_schema=schema, output_schema=None)


def mean_tokens(tools: Sequence[ToolDefinition]) -> float:
    """How many tokens of a prompt a tool is on average, as JSON of what a model sees of it."""
    counter = TokenCounter()
    seen = [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]
    return sum(counter.count_text(json.dumps(one)) for one in seen) / len(seen)


def _parameter(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {name: schema[name] for name in _KEPT if name in schema}
    description = _first_sentence(str(schema.get("description", "")))[:_PARAMETER_DESCRIPTION]
    return {"type": "string", **kept, "description": description}


def _first_sentence(text: str) -> str:
    return _SENTENCE.split(text.strip(), maxsplit=1)[0]
