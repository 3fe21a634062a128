"""FastMCP's BM25 search transform: a search tool and a call tool in a list that never changes.

Behaviour, as read in fastmcp 4.2 (`server/transforms/search/{base,bm25}.py`): the server lists `search_tools` and
`call_tool` only; a search ranks name, description, parameter names and parameter descriptions by BM25, 5 results by
default; results can be written as compact Markdown, one heading a tool and one line a parameter, with types in short
labels instead of JSON Schema, which is what is done here; found tools are called through `call_tool`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from benchmarks.baselines.tool_text import whole_text_bm25
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView
from gateway.bench.tokens.delivery import DeliveryRun, Manner, SearchDialect, one_call, query_tool
from gateway.chat.messages import Message, ToolCall
from gateway.chat.prompt import ToolSpec

SEARCH_TOOL: Final = query_tool(
    "search_tools",
    "Search for tools with words of plain language. Gives each tool's description and parameters.",
    "What to search for.",
)
CALL_TOOL: Final = ToolSpec(
    name="call_tool",
    description="Call a tool by its name with the given arguments. Use search_tools to find tools.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the tool."},
            "arguments": {"type": "object", "description": "The arguments of the tool."},
        },
        "required": ["name"],
    },
)


class FastMcpProxy:
    """The delivery."""

    name = "FastMCP-style proxy"
    source = "fastmcp 4.2 server/transforms/search/{base,bm25}.py"
    manner = Manner(search=SearchDialect(SEARCH_TOOL.name, one_call("query")), call_proxy=CALL_TOOL.name)

    def __init__(self, catalog: BenchCatalog) -> None:
        self.catalog = catalog
        self.bm25 = whole_text_bm25(catalog)

    def open(self, view: CatalogView, *, k: int, seed: int) -> DeliveryRun:
        return _ProxyRun(self, view, k)


class _ProxyRun:
    def __init__(self, delivery: FastMcpProxy, view: CatalogView, k: int) -> None:
        self._delivery = delivery
        self._view = view
        self._k = k

    def offered(self, messages: Sequence[Message]) -> tuple[ToolSpec, ...]:
        return (SEARCH_TOOL, CALL_TOOL)

    async def answer_search(self, call: ToolCall) -> str:
        found = self._delivery.bm25.rank(json.loads(call.arguments)["query"], self._view, self._k)
        specs = self._delivery.catalog.specs
        return "\n\n".join(compact(specs[row]) for row in found) or "No tools matched."

    async def rank(self, user: str, query: str, k: int) -> Sequence[int]:
        return self._delivery.bm25.rank(query, self._view, k)


def compact(tool: ToolSpec) -> str:
    """A tool as a few lines of Markdown."""
    return "\n".join((f"### {tool.name}", tool.description, *_parameter_lines(tool.parameters)))


def _parameter_lines(schema: Mapping[str, Any]) -> Iterator[str]:
    required = cast("Sequence[str]", schema.get("required") or ())
    for name, member in cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {}).items():
        mark = ", required" if name in required else ""
        said = f": {member['description']}" if member.get("description") else ""
        yield f"- `{name}` ({_label(member)}{mark}){said}"


def _label(schema: Mapping[str, Any]) -> str:
    if schema.get("enum"):
        return "|".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"{_label(cast('Mapping[str, Any]', schema.get('items') or {}))}[]"
    return str(schema.get("type") or schema.get("$ref", "any")).rsplit("/", 1)[-1]
