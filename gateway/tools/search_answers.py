"""What the search tool says to a model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from gateway.chat.json_text import decode_json, encode_json
from gateway.tools.search_tool import MAX_QUERIES, SearchQuery
from indexer import ToolReference, ToolSearchResponse, model_alias

_MAX_LINE: Final = 160
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """A found tool under the name by which the model may call it."""

    name: str
    reference: ToolReference


def found_text(query: SearchQuery, found: Sequence[FoundTool], *, is_new: bool = True) -> str:
    """The answer that lists what was found, one line a tool, as compact JSON; `is_new`: not all of it was known."""
    several = len(query.queries) > 1
    what = "These tools are now in your tool list." if is_new else "You have these tools already; nothing else matches."
    then = "search again only for something else." if is_new else "do not search for this again."
    return _text(
        {
            "tools": [_entry(tool, with_query=several) for tool in found],
            "next": f"{what} Call the one that fits by its name; {then}",
            **_left_out(query),
        }
    )


def repeated_text(found: Sequence[FoundTool]) -> str:
    """The answer to a search that was made before in the run."""
    if found:
        hint = (
            "STOP: you have already searched for this and the answer is the same. Do not search for it again: call one "
            "of these tools, or answer without."
        )
    else:
        hint = (
            "STOP: you have already searched for this and nothing was found. Do not search for it again: go on without "
            "such a tool, and tell the user what cannot be done."
        )
    return _text({"tools": [_entry(tool, with_query=False) for tool in found], "next": hint})


def empty_text(query: SearchQuery, response: ToolSearchResponse) -> str:
    """The answer that explains why nothing was found and what to do instead."""
    asked = f"namespace {query.namespace!r}" if query.namespace else "the tools you may use"
    match response.empty_reason:
        case "catalog_empty":
            why = "The catalog holds no tools yet. Do not search again: answer without tools."
        case "nothing_in_scope":
            why = f"There is nothing in {asked}. Do not repeat this search" + (
                ": leave `namespace` out, or use another one." if query.namespace else ": answer without such a tool."
            )
        case _:
            why = (
                f"No tool in {asked} does this. Do not repeat the same query. If you know another word for the need, "
                "search once with it; otherwise go on without, and tell the user what cannot be done."
            )
    body: dict[str, object] = {"tools": [], "why": why, **_left_out(query)}
    if response.namespaces:
        body["namespaces"] = list(response.namespaces)
    return _text(body)


def _left_out(query: SearchQuery) -> dict[str, object]:
    """A word on needs that were not searched for."""
    told = (
        f"Only the first {MAX_QUERIES} queries were searched for; ask for the other {query.left_out} in another call."
    )
    return {"not_searched": told} if query.left_out else {}


def full_text(most: int) -> str:
    """The answer to a search whose finds no longer fit in the tool list."""
    return _text(
        {
            "tools": [],
            "why": f"Your tool list is full: {most} found tools are the most that one conversation may have. Do not "
            "search again: use the tools you have, and tell the user what cannot be done.",
        }
    )


def withheld_text() -> str:
    """The answer to a search whose finds have no name of their own beside the caller's tools."""
    why = "What matches has the name of a tool of your list, and cannot be shown beside it. Use the tools you have."
    return _text({"tools": [], "why": why})


def listed_names(text: str) -> list[str]:
    """The names that an answer of the search tool lists; empty for any other text."""
    try:
        body: object = decode_json(text)
    except ValueError:
        return []
    tools = cast("Mapping[str, object]", body).get("tools") if isinstance(body, dict) else None
    entries = cast("Sequence[object]", tools) if isinstance(tools, list) else ()
    named = (cast("Mapping[str, object]", entry).get("name") for entry in entries if isinstance(entry, dict))
    return [name for name in named if isinstance(name, str)]


def _entry(tool: FoundTool, *, with_query: bool) -> dict[str, object]:
    entry: dict[str, object] = {"name": tool.name, "description": one_line(tool.reference.definition.description)}
    if tool.reference.also_in:
        # The model may search again with one of these as `namespace` if it wants the tool of another place.
        entry["also_in_namespaces"] = list(tool.reference.also_in)
    if tool.reference.also_as:
        # The same operation of other parents: the model may search for one of these names.
        entry["also_as"] = sibling_aliases(tool.reference)
    if with_query:
        entry["for"] = tool.reference.query
    return entry


def sibling_aliases(reference: ToolReference) -> list[str]:
    """The model-facing names of what stands under `also_as`: many namespaces may hold a tool of the same plain name."""
    return [model_alias(reference.definition.key._replace(name=name)) for name in reference.also_as]


def one_line(description: str) -> str:
    """The first sentence of a description, cut to a line."""
    text = " ".join(description.split())
    first = _SENTENCE_END.split(text, maxsplit=1)[0]
    return first if len(first) <= _MAX_LINE else first[: _MAX_LINE - 1].rstrip() + "…"


def _text(body: Mapping[str, object]) -> str:
    return encode_json(body).decode()
