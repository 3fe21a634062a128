"""The commands that read the catalog or take tools out of it."""

from collections.abc import Sequence
from typing import Any, Final

from gateway.cli.catalog import Catalog, open_catalog
from gateway.cli.exits import Exit
from gateway.cli.output import show_search, show_stats, show_tool, show_tools, write_error, write_json, write_line

_NAMESAKES: Final = 100
"""Results of one search, at most."""
_QUARANTINED: Final = 10_000
"""Tools in quarantine that are looked through for a name, at most."""
_PLACES: Final = 10
"""Namesakes that an error names."""


def search_catalog(
    queries: Sequence[str], k: int, namespaces: Sequence[str], tags: Sequence[str], *, as_json: bool
) -> Exit:
    """`toolscout search`."""
    if len(queries) > 5:
        write_error(f"{len(queries)} needs are too many for one search; ask for at most five")
        return Exit.USAGE
    if not all(query.strip() for query in queries):
        write_error("what should the tool do? Say it in words; a need was empty")
        return Exit.USAGE
    with open_catalog() as catalog:
        answer = catalog.search(queries, k, namespaces, tags)
    (write_json if as_json else show_search)(answer)
    return Exit.OK if answer["results"] else Exit.NOTHING


def list_catalog(
    namespaces: Sequence[str], tags: Sequence[str], offset: int, limit: int, *, quarantined: bool, as_json: bool
) -> Exit:
    """`toolscout list`."""
    with open_catalog() as catalog:
        tools = catalog.tools(namespaces, tags, offset, limit, quarantined=quarantined)
    if as_json:
        write_json({"tools": tools})
    elif tools:
        show_tools(tools)
    else:
        write_error(_none_listed(bool(namespaces or tags), offset, quarantined=quarantined))
    return Exit.OK if tools else Exit.NOTHING


def show_named(name: str, *, as_json: bool) -> Exit:
    """`toolscout show`."""
    with open_catalog() as catalog:
        found = tools_named(catalog, name)
    if len(found) != 1:
        write_error(_not_one(name, found))
        return Exit.NOTHING
    (write_json if as_json else show_tool)(found[0])
    return Exit.OK


def delete_named(names: Sequence[str], *, as_json: bool) -> Exit:
    """`toolscout delete`: all of what is there, and a word on what is not."""
    deleted: list[str] = []
    problems: list[str] = []
    with open_catalog() as catalog:
        for name in names:
            found = tools_named(catalog, name)
            if len(found) == 1 and catalog.delete(found[0]["namespace"], found[0]["name"]):
                deleted.append(f"{found[0]['namespace']}/{found[0]['name']}")
            else:
                problems.append(_not_one(name, found))
    if as_json:
        write_json({"deleted": deleted, "problems": problems})
    else:
        for name in deleted:
            write_line(f"deleted {name}")
        for problem in problems:
            write_error(problem)
    return Exit.NOTHING if problems else Exit.OK


def show_catalog_stats(*, as_json: bool) -> Exit:
    """`toolscout stats`."""
    with open_catalog() as catalog:
        record = {"catalog": catalog.where, **catalog.stats()}
    (write_json if as_json else show_stats)(record)
    return Exit.OK


def tools_named(catalog: Catalog, name: str) -> list[dict[str, Any]]:
    """The tools a person may mean: NAMESPACE/NAME, else whatever bears exactly that name or alias."""
    namespace, slash, rest = name.partition("/")
    if slash:
        exact = catalog.tool(namespace, rest)
        if exact is not None:
            return [exact]
    # An exact name or alias always comes first in a search, in whatever namespace it lies.
    found = catalog.search([name], _NAMESAKES, (), ())["results"]
    meant = [result for result in found if name in (result["name"], result["alias"])]
    tools = [catalog.tool(result["namespace"], result["name"]) for result in meant]
    held = catalog.tools((), (), 0, _QUARANTINED, quarantined=True)  # which no search finds
    return [tool for tool in tools if tool is not None] + [
        tool for tool in held if name in (tool["name"], tool["alias"])
    ]


def _not_one(name: str, found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return f"there is no tool {name!r}; look for it with `toolscout search` or `toolscout list`"
    places = sorted(f"{tool['namespace']}/{tool['name']}" for tool in found)
    more = f", and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return f"{name!r} is the name of {len(found)} tools; say which: {', '.join(places[:_PLACES])}{more}"


def _none_listed(narrowed: bool, offset: int, *, quarantined: bool) -> str:
    where = " of those namespaces and tags" if narrowed else ""
    if offset:
        return f"there are not more than {offset} tools{where}{' in quarantine' if quarantined else ''}"
    if quarantined:
        return f"no tool{where} is in quarantine"
    if narrowed:
        return f"there are no tools{where}; `toolscout stats` says how many there are"
    return "the catalog holds no tools; add some with `toolscout index`"
