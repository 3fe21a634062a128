"""What an MCP client can do with the catalog, apart from the protocol: search it, and read tools in full."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from gateway.errors import ToolArgumentsError
from gateway.tools.context import ToolContext
from gateway.tools.search_answers import sibling_aliases
from gateway.tools.search_tool import SEARCH_TOOL_NAME, SEARCH_TOOL_SPEC, ToolSearchTool
from indexer import SearchScope, ToolIndex, ToolReference, ToolSearchResponse, arguments_problem

SEARCH_TOOLS: Final = SEARCH_TOOL_NAME
GET_TOOL_DETAILS: Final = "get_tool_details"

_NAMESPACES_SHOWN: Final = 20

SEARCH_SCHEMA: Final = dict(SEARCH_TOOL_SPEC.parameters)
"""The same parameters as the search tool of the tool loop."""

DETAILS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "names": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "minItems": 1,
            "maxItems": 20,
            "description": "Names of tools as search_tools returned them.",
        }
    },
    "required": ["names"],
    "additionalProperties": False,
}

_FOUND_TOOL_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "description": {"type": "string"},
        "score": {"type": "number"},
        "query": {"type": "string"},
        "also_in_namespaces": {"type": "array", "items": {"type": "string"}},
        "also_as": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "namespace", "description", "score"],
}

SEARCH_OUTPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": _FOUND_TOOL_SCHEMA},
        "catalog_revision": {"type": "integer"},
        "note": {"type": "string"},
    },
    "required": ["tools", "catalog_revision"],
}

DETAILS_OUTPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "namespace": {"type": "string"},
                    "description": {"type": "string"},
                    "input_schema": {"type": "object"},
                },
                "required": ["name", "namespace", "description", "input_schema"],
            },
        },
        "unknown": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["tools", "unknown"],
}


class CatalogTools:
    """What the two tools do, apart from any protocol."""

    def __init__(self, index: ToolIndex, *, max_results: int = 5) -> None:
        """`max_results` is the operator's cap on tools per search."""
        self._index = index
        self._search_tool = ToolSearchTool(index, max_results=max_results)

    async def call(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The structured result. Raises: ToolArgumentsError, written for a model."""
        schema = SEARCH_SCHEMA if name == SEARCH_TOOLS else DETAILS_SCHEMA
        problem = arguments_problem(schema, arguments)
        if problem is not None:
            raise ToolArgumentsError(problem)
        if name == SEARCH_TOOLS:
            return await self._search(arguments, context)
        return await self._details(arguments["names"], context)

    async def _search(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        query = self._search_tool.parse(arguments)
        found = await self._search_tool.search(query, SearchScope(tenant=context.tenant))
        answer: dict[str, Any] = {
            "tools": [_found_tool(reference) for reference in found.results],
            "catalog_revision": found.catalog_revision,
        }
        if found.empty_reason == "nothing_in_scope":
            # The index keeps to the namespace it was given; the caller may see the others.
            held = await self._index.namespaces(SearchScope(tenant=context.tenant))
            found = replace(found, namespaces=tuple(sorted(held, key=lambda name: -held[name])[:_NAMESPACES_SHOWN]))
        if note := empty_note(found):
            answer["note"] = note
        return answer

    async def _details(self, names: list[str], context: ToolContext) -> dict[str, Any]:
        found = await self._index.resolve(names, SearchScope(tenant=context.tenant))
        return {
            "tools": [
                {
                    "name": name,
                    "namespace": definition.namespace,
                    "description": definition.description,
                    "input_schema": without_transport_hints(definition.input_schema),
                }
                for name, definition in ((name, found[name]) for name in dict.fromkeys(names) if name in found)
            ],
            "unknown": [name for name in dict.fromkeys(names) if name not in found],
        }


def _found_tool(reference: ToolReference) -> dict[str, Any]:
    return {
        "name": reference.alias,
        "namespace": reference.definition.namespace,
        "description": reference.definition.description,
        "score": round(reference.score, 4),
        "query": reference.query,
        **({"also_in_namespaces": list(reference.also_in)} if reference.also_in else {}),
        **({"also_as": sibling_aliases(reference)} if reference.also_as else {}),
    }


def empty_note(found: ToolSearchResponse) -> str:
    """Why an answer is empty and what to do, for a model; the empty string where there are results."""
    match found.empty_reason:
        case "":
            return ""
        case "catalog_empty":
            return "The catalog holds no tools yet. Go on without tools and say so."
        case "nothing_in_scope":
            return "No tool lies in that namespace. " + _elsewhere(found.namespaces)
        case "no_match":
            return (
                "No tool matches with confidence. Say once more what you need in other words, or go on without a tool. "
                + _elsewhere(found.namespaces)
            )
        case "all_already_found":
            return "Every matching tool has been returned before. Use those; do not search for this again."


def _elsewhere(namespaces: tuple[str, ...]) -> str:
    return f"Namespaces there are: {', '.join(namespaces)}." if namespaces else ""


def without_transport_hints(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without `x-mcp-header`: it binds the hop to the tool's own server, not the one to our client."""
    return {name: _without_hints(value) for name, value in schema.items() if name != "x-mcp-header"}


def _without_hints(value: object) -> object:
    if isinstance(value, Mapping):
        return without_transport_hints(cast("Mapping[str, Any]", value))
    if isinstance(value, list | tuple):
        return [_without_hints(inner) for inner in cast("list[object]", value)]
    return value
