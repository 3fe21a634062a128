"""What moves a tool beside the words and meaning of a query: its deed, what the user said, what was used before."""

from collections.abc import Sequence

import pytest

from indexer.definition import ToolDefinition
from indexer.document import document_of
from indexer.embedders.factory import make_embedder
from indexer.engine import embed_tools
from indexer.finding import find_tools
from indexer.replica import Replica
from indexer.replica_state import ReplicaState
from indexer.search import ToolSearchRequest
from indexer.stores.base import StoredTool

EMBEDDER = make_embedder("static")


def state_of(tools: Sequence[ToolDefinition]) -> ReplicaState:
    vectors = embed_tools(EMBEDDER, [document_of(one) for one in tools])
    replica = Replica(EMBEDDER.dimensions)
    replica.apply(
        [
            StoredTool(definition=one, content_hash=one.content_hash, revision=number, vector=vector)
            for number, (one, vector) in enumerate(zip(tools, vectors, strict=True), start=1)
        ]
    )
    return replica.state


def best(state: ReplicaState, request: ToolSearchRequest) -> str:
    return str(find_tools(state, request, EMBEDDER).results[0].definition.key)


OTHERS = [
    ToolDefinition(namespace="shop", name="refunds.insert", description="Gives a customer money back."),
    ToolDefinition(namespace="weather", name="forecast.get", description="Weather forecast for a city."),
    ToolDefinition(namespace="storage", name="buckets.list", description="Lists buckets of a project."),
    ToolDefinition(namespace="maps", name="routes.compute", description="Finds a way between two places."),
]
CALENDAR = state_of(
    [
        ToolDefinition(namespace="calendar", name="events.delete", description="Deletes an event from a calendar."),
        ToolDefinition(namespace="calendar", name="events.insert", description="Creates an event in a calendar."),
        *OTHERS,
    ]
)
MAILS = state_of(
    [
        *(
            ToolDefinition(namespace=name, name="SendEmail", description="Sends an e-mail message.")
            for name in ("ses", "pinpoint", "gmail")
        ),
        *OTHERS,
    ]
)


@pytest.mark.parametrize(
    ("query", "tool"),
    [("캘린더에 일정 추가", "calendar/events.insert"), ("일정 삭제", "calendar/events.delete")],
)
def test_a_tool_that_undoes_what_is_asked_for_stands_behind_one_that_does_it(query: str, tool: str) -> None:
    assert best(CALENDAR, ToolSearchRequest(queries=(query,))) == tool


def test_what_the_user_said_decides_where_the_query_leaves_it_open() -> None:
    said = "Write to lena@example.com from my Gmail that we are late."

    assert best(MAILS, ToolSearchRequest(queries=("send an e-mail message",), context=said)) == "gmail/SendEmail"


@pytest.mark.parametrize("used", ["ses", "pinpoint", "gmail"])
def test_a_service_that_the_conversation_has_used_is_preferred_among_equals(used: str) -> None:
    request = ToolSearchRequest(queries=("send an e-mail message",), used_namespaces=frozenset({used}))

    assert best(MAILS, request) == f"{used}/SendEmail"


def test_a_context_that_has_nothing_to_do_with_the_catalog_moves_nothing() -> None:
    plain = ToolSearchRequest(queries=("delete an event from my calendar",))
    told = ToolSearchRequest(queries=plain.queries, context="12345", used_namespaces=frozenset({"nowhere"}))

    assert best(CALENDAR, told) == best(CALENDAR, plain) == "calendar/events.delete"


def test_scores_stay_between_0_and_1_whatever_moves_them() -> None:
    request = ToolSearchRequest(
        queries=("send an e-mail message with Gmail",),
        context="send an e-mail message with Gmail, please",
        used_namespaces=frozenset({"gmail"}),
    )

    scores = [one.score for one in find_tools(MAILS, request, EMBEDDER).results]

    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            ToolDefinition(namespace="vm", name="ListInstances", description="Lists machines of a project."),
            ToolDefinition(
                namespace="vm", name="ListInstancesOfOtherKinds", description="Lists machines of a project."
            ),
        ),
        (
            ToolDefinition(namespace="vm", name="machines.list", description="Lists machines of a project."),
            ToolDefinition(namespace="vm", name="hosts.list", description="Deprecated: use machines.list."),
        ),
        (
            ToolDefinition(namespace="vmv2", name="ListMachines", description="Lists machines of a project."),
            ToolDefinition(namespace="vm", name="ListMachines", description="Lists machines."),
        ),
    ],
)
def test_a_plain_current_operation_comes_first(first: ToolDefinition, second: ToolDefinition) -> None:
    state = state_of([second, first, *OTHERS])

    assert best(state, ToolSearchRequest(queries=("list machines",))) == str(first.key)


def test_what_a_korean_request_names_is_found_by_its_english_word() -> None:
    found = find_tools(CALENDAR, ToolSearchRequest(queries=("버킷 목록",)), EMBEDDER).results[0]

    assert found.definition.name == "buckets.list"
    assert "words: bucket" in found.reasons
