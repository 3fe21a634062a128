"""Answers to searches as JSON, with each tool's schema written once: it is most of an answer's size."""

from functools import partial
from typing import final
from weakref import ref

import orjson

from gateway.api.records import search_record
from gateway.chat.json_text import encode_json
from indexer import ToolDefinition, ToolSearchResponse


@final
class WrittenSchemas:
    """The JSON of input schemas, for as long as the catalog keeps their definitions as objects."""

    def __init__(self) -> None:
        self._written: dict[int, tuple[ref[ToolDefinition], orjson.Fragment]] = {}

    def __len__(self) -> int:
        return len(self._written)

    def answer(self, response: ToolSearchResponse) -> bytes:
        """The JSON of `search_record`."""
        record = search_record(response)
        for result, reference in zip(record["results"], response.results, strict=True):
            result["input_schema"] = self._schema_of(reference.definition)
        try:
            return orjson.dumps(record)
        except TypeError:  # a text that holds half of a surrogate pair, which only the slower writer takes
            return encode_json(search_record(response))

    def _schema_of(self, definition: ToolDefinition) -> orjson.Fragment:
        place = id(definition)
        known = self._written.get(place)
        if known is not None and known[0]() is definition:
            return known[1]
        # Copied: what orjson returns holds on to the larger buffer that it was written in.
        schema = orjson.Fragment(memoryview(encode_json(definition.input_schema)).tobytes())
        self._written[place] = ref(definition, partial(self._forget, place)), schema
        return schema

    def _forget(self, place: int, gone: "ref[ToolDefinition]") -> None:
        # Another definition may lie there by now.
        if place in self._written and self._written[place][0] is gone:
            del self._written[place]
