"""An index over an index: whatever a wrapper does not change reaches the one within."""

import inspect

from indexer.forwarding import ForwardingToolIndex
from indexer.index import ToolIndex
from indexer.search import SearchScope, ToolSearchRequest
from tests.indexer.catalogs import BROKEN, SHOP, make_index


def test_everything_that_an_index_can_do_is_handed_on() -> None:
    promised = {name for name, _ in inspect.getmembers(ToolIndex, inspect.isfunction) if not name.startswith("_")}
    assert promised == {name for name in vars(ForwardingToolIndex) if not name.startswith("_")}
    for name in promised:
        wanted = inspect.signature(getattr(ToolIndex, name))
        assert inspect.signature(getattr(ForwardingToolIndex, name)) == wanted, name


async def test_answers_are_those_of_the_index_within() -> None:
    index = make_index()
    wrapped: ToolIndex = ForwardingToolIndex(index)
    heard: list[int] = []
    report = await wrapped.register([*SHOP, BROKEN], progress=heard.append)
    assert (report.added, len(report.quarantined), heard) == (5, 1, [6])
    scope = SearchScope(namespaces=frozenset({"shop"}))
    asked = ToolSearchRequest(queries=("cancel_order",), scope=scope)
    assert (await wrapped.search(asked)).results == (await index.search(asked)).results
    assert await wrapped.get(SHOP[0].key) == await index.get(SHOP[0].key)
    assert await wrapped.resolve(["shop__refund_order"], scope) == {"shop__refund_order": SHOP[0]}
    assert await wrapped.list_tools(scope, offset=1, limit=1) == (await index.list_tools(scope))[1:]
    assert [held.definition for held in await wrapped.list_tools(SearchScope(), quarantined=True)] == [BROKEN]
    assert await wrapped.namespaces(scope) == {"shop": 2}
    assert await wrapped.pinned(SearchScope()) == [SHOP[3]]
    assert (await wrapped.stats()).tools == 5
    assert await wrapped.delete([SHOP[0].key]) == 1
    await wrapped.aclose()
