"""When two ranked tools are one."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from indexer.definition import ToolDefinition, ToolKey
from indexer.duplicates import collapse_duplicates
from indexer.top_k import Floats

SAME = np.array([[1, 0], [1, 0]], dtype=np.float32)
OTHER = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)


def definition(namespace: str, **changes: Any) -> ToolDefinition:
    fields: dict[str, Any] = {"name": "list_orders", "description": "List orders."} | changes
    parameters: tuple[str, ...] = fields.pop("parameters", ("customer",))
    schema: dict[str, Any] = {"type": "object", "properties": dict.fromkeys(parameters, {"type": "string"})}
    return ToolDefinition(namespace=namespace, input_schema=schema, **fields)


def collapsed(
    *tools: ToolDefinition,
    vectors: Floats = SAME,
    query: str = "orders",
    preferred: Collection[ToolKey] = (),
    held: Collection[ToolKey] = (),
) -> dict[int, tuple[int, ...]]:
    return collapse_duplicates(
        range(len(tools)),
        definition_of=tools.__getitem__,
        key_of=lambda row: tools[row].key,
        vectors=vectors,
        query=query,
        preferred=preferred,
        held=held,
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"description": "  list  ORDERS. "}, {"name": "v2.listOrders"}, {"name": "shop__list-orders"}],
)
def test_the_same_tool_elsewhere_is_a_duplicate(changes: dict[str, Any]) -> None:
    assert collapsed(definition("one"), definition("two", **changes)) == {0: (1,)}


@pytest.mark.parametrize(
    ("changes", "vectors"),
    [
        ({}, OTHER),
        ({"name": "list_invoices"}, SAME),
        ({"name": "list_orders#"}, SAME),
        ({"parameters": ("country",)}, SAME),
        ({"description": ""}, SAME),
    ],
)
def test_what_differs_in_name_parameters_or_meaning_is_another_tool(changes: dict[str, Any], vectors: Floats) -> None:
    assert collapsed(definition("one"), definition("two", **changes), vectors=vectors) == {0: (), 1: ()}


def test_tools_without_description_never_collapse() -> None:
    assert collapsed(definition("one", description=""), definition("two", description="")) == {0: (), 1: ()}


def test_tools_of_one_namespace_never_collapse() -> None:
    assert collapsed(definition("one", name="v1.list"), definition("one", name="v2.list")) == {0: (), 1: ()}


def test_a_preferred_tool_stands_for_a_better_one_unless_the_query_names_that() -> None:
    one, two = definition("one"), definition("two")
    assert collapsed(one, two, preferred={two.key}) == {1: (0,)}
    assert collapsed(one, two, preferred={two.key}, query="orders of one") == {0: (), 1: ()}


def test_no_copy_and_no_next_version_stands_for_a_tool_that_is_trusted_more() -> None:
    trusted = definition("pay", trust="trusted")
    copy, next_version = definition("paying"), definition("payv2", description="Pays me.", parameters=("to",))

    assert collapsed(copy, trusted) == {1: (0,)}
    assert collapsed(trusted, copy, preferred={copy.key}) == {0: (1,)}
    assert collapsed(next_version, trusted) == {1: (0,)}
    assert collapsed(definition("pay"), definition("payv2", trust="verified", parameters=("to",))) == {1: (0,)}


def test_only_what_sets_a_namespace_apart_counts_as_naming_it() -> None:
    tools = definition("shop-v1"), definition("shop-v2")
    assert collapsed(*tools, query="orders of the shop") == {1: (0,)}
    assert collapsed(*tools, query="orders of the shop v2") == {1: (0,)}
    assert collapsed(*tools, query="orders of the shop v1") == {0: (), 1: ()}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("ses", "sesv2"),
        ("shop", "shop-v2"),
        ("shop-v1", "shop-v2"),
        ("shop.v9", "shop.v10"),
        ("inspector", "inspector2"),
    ],
)
def test_of_two_versions_of_an_operation_the_newer_one_stands_for_both(older: str, newer: str) -> None:
    one, two = definition(older, parameters=("source",)), definition(newer, parameters=("destination",))

    assert collapsed(one, two, vectors=OTHER) == {1: (0,)}
    assert collapsed(two, one, vectors=OTHER) == {0: (1,)}
    assert collapsed(one, two, vectors=OTHER, preferred={one.key}) == {1: (0,)}


@pytest.mark.parametrize("other", ["shop2-v2", "shops", "db3", "x.v2"])
def test_a_namespace_that_only_ends_in_a_number_is_no_version_of_another(other: str) -> None:
    tools = definition("db2"), definition("shop"), definition("t"), definition(other)

    assert collapsed(*tools[:3], vectors=np.eye(3, dtype=np.float32)) == {0: (), 1: (), 2: ()}
    assert collapsed(*tools, vectors=np.eye(4, dtype=np.float32)) == {0: (), 1: (), 2: (), 3: ()}


def test_a_version_that_the_query_names_keeps_its_place() -> None:
    tools = definition("ses"), definition("sesv2")

    assert collapsed(*tools, vectors=OTHER, query="orders by ses") == {0: (), 1: ()}
    assert collapsed(definition("ses"), definition("sesv2", name="list_order"), vectors=OTHER) == {0: (), 1: ()}


# One operation of several parents, in one namespace.

SINKS = ("sinks.create", "folders.sinks.create", "projects.sinks.create", "billingAccounts.sinks.create")
SECRETS = ("projects.locations.secrets.create", "projects.secrets.create")


def siblings(
    *names: str,
    query: str = "orders",
    preferred: Collection[ToolKey] = (),
    held: Collection[ToolKey] = (),
    **changes: Any,
) -> list[str]:
    tools = [definition("logging", name=name, **changes) for name in names]
    vectors = np.tile(np.array([[1, 0]], dtype=np.float32), (len(tools), 1))
    kept = collapsed(*tools, vectors=vectors, query=query, preferred=preferred, held=held)
    assert sorted([row for first, others in kept.items() for row in (first, *others)]) == list(range(len(tools)))
    return [tools[row].name for row in kept]


def test_of_one_operation_of_several_parents_the_plainest_stands_for_the_others() -> None:
    assert siblings(*SINKS) == ["projects.sinks.create"]
    assert siblings(*SECRETS) == ["projects.secrets.create"]
    assert siblings("folders.sinks.create", "sinks.create") == ["sinks.create"]
    assert siblings("s.sinks.create", "sinks.create") == ["sinks.create"]


@pytest.mark.parametrize("query", ["a sink for a folder", "sinks of my Folders", "폴더에 로그 싱크 만들기"])
def test_an_operation_whose_parent_is_named_keeps_its_place(query: str) -> None:
    assert set(siblings(*SINKS, query=query)) == {"projects.sinks.create", "folders.sinks.create"}


def test_an_operation_whose_parent_is_named_keeps_its_place_beside_one_of_a_mirror() -> None:
    tools = definition("logging", name="projects.sinks.create"), definition("mirror", name="folders.sinks.create")
    assert collapsed(*tools, query="a sink for a folder") == {0: (), 1: ()}
    assert collapsed(*tools, query="a sink") == {0: (1,)}


def test_a_caller_that_has_the_plainest_is_shown_another() -> None:
    had = definition("logging", name="projects.sinks.create")
    assert siblings(*SINKS, preferred={had.key}, held={had.key}) == ["sinks.create", "projects.sinks.create"]


def test_one_that_another_need_of_the_request_found_stands_for_its_siblings() -> None:
    found = definition("logging", name="projects.sinks.create")
    assert siblings(*SINKS, preferred={found.key}) == ["projects.sinks.create"]


@pytest.mark.parametrize(
    "names",
    [
        ("folders.sinks.create", "projects.sinks.delete"),
        ("folders.sinks.create", "projects.views.create"),
        ("sinks.create", "views.create"),
        ("create", "sinks.create"),
    ],
)
def test_other_operations_and_other_resources_are_no_siblings(names: tuple[str, str]) -> None:
    assert siblings(*names) == list(names)


def test_no_sibling_stands_for_one_of_other_parameters_meaning_or_higher_trust() -> None:
    one, two = (definition("logging", name=name) for name in SECRETS)
    assert collapsed(one, definition("logging", name=SECRETS[1], parameters=("x", "y"))) == {0: (), 1: ()}
    assert collapsed(one, two, vectors=OTHER) == {0: (), 1: ()}
    assert collapsed(definition("logging", name=SECRETS[0], trust="trusted"), two) == {0: (1,)}
