"""Answers to searches as JSON, with what a tool says of itself written once: it is nearly all of an answer's size."""

from functools import partial
from typing import Final, NamedTuple, final
from weakref import ref

import orjson

from gateway.api.records import match_record, named_record, outcome_record, search_record
from gateway.chat.json_text import encode_json
from indexer import ToolDefinition, ToolReference, ToolSearchResponse

_SCHEMA: Final = b',"input_schema":'


class _Written(NamedTuple):
    """The JSON of a tool, without what one search says of it."""

    definition: "ref[ToolDefinition]"
    alias: str
    named: bytes
    """`named_record`, without its closing brace."""
    schema: bytes
    """The input schema under its name, and the closing brace."""


@final
class WrittenTools:
    """The JSON of tools, for as long as the catalog keeps their definitions as objects."""

    def __init__(self) -> None:
        self._written: dict[int, _Written] = {}

    def __len__(self) -> int:
        return len(self._written)

    def answer(self, response: ToolSearchResponse) -> bytes:
        """The JSON of `search_record`."""
        parts = [b'{"results":[']
        try:
            for reference in response.results:
                tool = self._tool_of(reference)
                parts += (tool.named, b",", orjson.dumps(match_record(reference))[1:-1], tool.schema, b",")
            if response.results:
                parts.pop()
            parts += (b"],", orjson.dumps(outcome_record(response))[1:])
        except TypeError:  # a text that holds half of a surrogate pair, which only the slower writer takes
            return encode_json(search_record(response))
        return b"".join(parts)

    def _tool_of(self, reference: ToolReference) -> _Written:
        """Raises: TypeError if it names itself with half of a surrogate pair."""
        definition = reference.definition
        place = id(definition)
        known = self._written.get(place)
        if known is not None and known.definition() is definition and known.alias == reference.alias:
            return known
        written = self._written[place] = _Written(
            ref(definition, partial(self._forget, place)),
            reference.alias,
            orjson.dumps(named_record(reference))[:-1],
            b"".join((_SCHEMA, encode_json(definition.input_schema), b"}")),
        )
        return written

    def _forget(self, place: int, gone: "ref[ToolDefinition]") -> None:
        # Another definition may lie there by now.
        if place in self._written and self._written[place].definition is gone:
            del self._written[place]
