"""The everyday catalog: whole, and found by its ids."""

from indexer.training.catalog_lookup import Catalog
from indexer.training.daily_catalog import read_daily_tools


def test_every_tool_has_an_id_of_its_own_a_name_and_a_description() -> None:
    tools = list(read_daily_tools())
    assert len({tool.id for tool in tools}) == len(tools) > 1_800
    assert all(tool.document.name and tool.document.namespace and tool.document.description for tool in tools)


def test_each_parameter_keeps_its_description() -> None:
    for tool in read_daily_tools():
        names, descriptions = tool.document.parameter_names, tool.document.parameter_descriptions
        assert names.count("\n") == descriptions.count("\n"), tool.id


def test_a_tool_is_found_by_its_id_on_any_machine() -> None:
    catalog = Catalog({})
    first = next(read_daily_tools())
    assert catalog.covers(first.id)
    found = catalog.find(first.id)
    assert found is not None
    assert found.summary and first.document.description.startswith(found.summary)
    assert catalog.find("daily:nowhere/nothing") is None
