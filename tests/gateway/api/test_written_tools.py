"""Answers to searches, written with the tools that are known."""

import gc
from dataclasses import replace

import pytest

from gateway.api.records import search_record
from gateway.api.written_tools import WrittenTools
from gateway.chat.json_text import encode_json
from indexer import ToolDefinition, ToolReference, ToolSearchResponse
from tests.gateway.api.conftest import REFUND


def found(*definitions: ToolDefinition) -> ToolSearchResponse:
    references = (
        ToolReference(definition=one, alias=one.name, score=0.5, reasons=("exact name",), query="q")
        for one in definitions
    )
    return ToolSearchResponse(results=tuple(references), catalog_revision=3)


@pytest.mark.parametrize(
    "definition",
    [
        REFUND,
        ToolDefinition(name="plain"),
        ToolDefinition(name="half", description="half of a pair: \ud83d"),
        ToolDefinition(name="inside", input_schema={"type": "object", "title": "half of a pair: \ud83d"}),
        ToolDefinition(name="large", input_schema={"type": "object", "properties": {"n": {"maximum": 2**70}}}),
        ToolDefinition(name="korean", input_schema={"type": "object", "title": "주문 환불"}),
    ],
)
def test_an_answer_is_what_is_written_without_known_tools(definition: ToolDefinition) -> None:
    written = WrittenTools()
    response = found(definition, REFUND)
    for _ in range(2):
        assert written.answer(response) == encode_json(search_record(response))


def test_what_one_search_says_of_a_tool_does_not_stay_with_it() -> None:
    written = WrittenTools()
    asked = ToolReference(
        definition=REFUND,
        alias="refund",
        score=0.1234,
        reasons=('words: },{"score":1', "meaning: 0.61"),
        query='a "refund"\n',
        also_in=("other", "주문"),
    )
    for reference in (
        asked,
        replace(asked, query="money back", reasons=(), score=1.0),
        replace(asked, alias="refund_2"),
    ):
        response = ToolSearchResponse(results=(reference, reference), catalog_revision=3)
        assert written.answer(response) == encode_json(search_record(response))
    assert len(written) == 1


def test_a_written_tool_is_kept_no_longer_than_its_definition() -> None:
    written = WrittenTools()
    gone = ToolDefinition(name="gone", input_schema={"type": "object", "title": "old"})
    written.answer(found(gone, REFUND))
    assert len(written) == 2

    del gone
    gc.collect()

    assert len(written) == 1


def test_an_empty_answer_explains_itself_still() -> None:
    response = ToolSearchResponse(results=(), catalog_revision=0, empty_reason="catalog_empty")
    assert WrittenTools().answer(response) == encode_json(search_record(response))
