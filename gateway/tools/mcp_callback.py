"""A tool of an upstream MCP server, as the loop calls it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.tools.callback import ToolMetadata
from gateway.tools.context import ToolContext

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_MAX_CHARACTERS: Final = 200_000


class McpToolCaller(Protocol):
    """A connection to one MCP server."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> "CallToolResult":
        """The server's own answer. Raises: ToolExecutionError when the server cannot be reached."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolCallback:
    """Runs one tool of an MCP server under the name the catalog gave it."""

    spec: ToolSpec
    tool_name: str
    """The server's own name for it."""
    caller: McpToolCaller
    metadata: ToolMetadata = field(default_factory=ToolMetadata)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Run it; text parts as they are, other parts described. Raises: ToolExecutionError."""
        result = await self.caller.call_tool(self.tool_name, arguments)
        text = result_text(result)
        if result.is_error:
            raise ToolExecutionError(text or f"{self.spec.name!r} failed and gave no reason.")
        return text


def result_text(result: "CallToolResult") -> str:
    """A result as a model reads it, cut at 200,000 characters with a note that says so."""
    text = "\n".join(_block_text(block) for block in result.content)
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}\n[cut here: {len(text) - _MAX_CHARACTERS} more characters]"


def _block_text(block: "ContentBlock") -> str:
    """The text of one part, or a line that says what the part is: bytes are of no use to a model."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
        case "resource_link":
            return f"[resource {block.uri}]"
        case "resource":
            text = getattr(block.resource, "text", None)
            return text if isinstance(text, str) else f"[resource {block.resource.uri}]"
