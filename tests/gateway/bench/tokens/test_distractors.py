"""Which tools stand around a needed one."""

from gateway.bench.tokens.distractors import HardDistractors, verb_of
from indexer import ToolDefinition
from tests.gateway.bench.tokens.shop import shop_catalog


async def test_catalogs_are_nested_and_begin_with_the_needed_tools() -> None:
    catalog = await shop_catalog()
    needed = [catalog.rows["order/refund_order"], catalog.rows["parcel/list_parcel"]]

    order = HardDistractors(catalog).order(needed, seed=1)

    assert set(order[:2].tolist()) == set(needed)
    assert sorted(order.tolist()) == list(range(len(catalog.tools)))


async def test_the_hardest_come_first_same_namespace_or_same_verb() -> None:
    catalog = await shop_catalog()
    needed = catalog.rows["order/refund_order"]

    order = HardDistractors(catalog).order([needed], seed=1)
    nearest = [catalog.tools[int(row)] for row in order[1:9]]

    assert all(tool.namespace == "order" or tool.name.startswith("refund") for tool in nearest)


async def test_a_seed_gives_the_same_order_again_and_another_seed_another() -> None:
    distractors = HardDistractors(await shop_catalog())

    assert distractors.order([3], seed=1).tolist() == distractors.order([3], seed=1).tolist()
    assert distractors.order([3], seed=1).tolist() != distractors.order([3], seed=2).tolist()


def test_the_verb_of_a_name_is_its_first_word_or_that_of_its_last_part() -> None:
    names = ("RunInstances", "list_orders", "spreadsheets.values.append", "2")

    assert [verb_of(ToolDefinition(name=name)) for name in names] == ["run", "list", "append", ""]
