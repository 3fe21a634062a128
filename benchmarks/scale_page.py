"""The figures of a plan as the tables of docs/scale.md, between marks that say which is which."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.bench.markdown import markdown_table

Record = Mapping[str, Any]

_MARK: Final = re.compile(r"(<!-- figures: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def text_tables(plan: Record) -> str:
    """All tables, for a terminal."""
    return "\n\n".join(table(plan) for table in _TABLES.values())


def written(page: str, plan: Record) -> str:
    """The page with the plan's figures between its marks. Raises: ValueError for a mark nobody knows."""
    return _MARK.sub(lambda mark: f"{mark[1]}{_table(mark[2], plan)}\n{mark[4]}", page)


def agrees(page: str, plan: Record) -> str:
    """What is wrong with the page's figures; empty where they are the plan's, each table once."""
    marks = [mark[2] for mark in _MARK.finditer(page)]
    if sorted(marks) != sorted(_TABLES):
        return f"the page has the tables {', '.join(marks)}, not each of {', '.join(_TABLES)} once"
    for mark in _MARK.finditer(page):
        if mark[3].strip() != _table(mark[2], plan):
            return f"the table {mark[2]!r} differs from the kept plan; run `python -m benchmarks.scale_plan --write`"
    return ""


def _table(name: str, plan: Record) -> str:
    if name not in _TABLES:
        raise ValueError(f"there is no table {name!r}; known: {', '.join(_TABLES)}")
    return _TABLES[name](plan)


def _demand(plan: Record) -> str:
    demand, machine = plan["demand"], plan["machine"]
    return markdown_table(
        ("demand", "figure"),
        [
            ("tools", f"{demand['tools']:,}"),
            ("agents, each with a connection", f"{demand['agents']:,}"),
            ("searches a second", f"{demand['searches_per_second']:,.0f}"),
            ("tools changed a second", f"{demand['changes_per_second']:g}"),
            ("a process is busy at most", f"{demand['busy_at_most']:.0%} of the time"),
            (
                "costs measured on",
                f"{machine['processor']}, {machine['cores']} cores, load {machine['load']} before, "
                f"Python {machine['python']}",
            ),
        ],
    )


def _costs(plan: Record) -> str:
    rows = [
        (
            f"{one['tools']:,}",
            f"{search['view_rows']:,}" + ("" if search["recall"] == 1 else f" (recall {search['recall']:g})"),
            f"{search['milliseconds']['1']:.2f}",
            f"{min(search['milliseconds'].values()):.2f}",
            f"{one['bytes_per_tool']:,}",
            f"{one['changes_applied_per_second']:,.0f}",
            f"{one['start_seconds']:.2f}",
            f"{one['snapshot_gigabytes']:.2f}",
            f"{one['snapshot_processor_seconds']:.1f}",
            "" if (compaction := one["compaction_processor_seconds"]) is None else f"{compaction:.1f}",
        )
        for one in plan["measured"]
        for search in one["searches"]
    ]
    first = plan["measured"][0]
    beside = (
        f"A search over HTTP costs {first['http_milliseconds']:.2f} ms of processor time beside this. While a second "
        f"process searches on the other core, a search takes {first['slower_beside_another']:.2f} times as long."
    )
    heads = (
        "tools held", "a search sees", "ms alone", "ms in the best batch", "bytes a tool", "changes applied a second",
        "start, s", "snapshot, GB", "to write it, s", "compaction, s",
    )  # fmt: skip
    return f"{markdown_table(heads, rows)}\n\n{beside}"


def _layouts(plan: Record) -> str:
    rows = [
        (
            one["name"],
            f"{one['searches_per_second_of_a_process']:,.0f}",
            f"{one['processes']:,}",
            f"{one['nodes']:,}",
            f"{one['memory_of_a_process_gigabytes']:.1f}",
            f"{one['memory_of_a_node_gigabytes']:.1f}",
            f"{one['busy']:.0%}",
            f"{one['headroom']:.2f}",
        )
        for one in plan["layouts"]
    ]
    heads = (
        "layout", "searches a second, a process", "processes", "nodes of two cores", "GB a process", "GB a node",
        "busy", "headroom",
    )  # fmt: skip
    return markdown_table(heads, rows)


def _answers(plan: Record) -> str:
    rows = [
        (
            one["name"],
            f"{one['p50_milliseconds']:,.1f}",
            f"{one['p99_milliseconds']:,.1f}",
            f"{one['p999_milliseconds']:,.1f}",
            f"{one['target_milliseconds']:,}" + ("" if one["kept"] else " (missed)"),
            f"{one['p99_as_a_node_fails_milliseconds']:,.1f}",
            f"{one['p99_without_it_milliseconds']:,.1f}",
            f"{one['tried_again']:,}",
            f"{one['back_after_seconds']:.1f}",
            f"{one['follower_lag_seconds']['p50']:.2f} / {one['follower_lag_seconds']['p99']:.2f}",
        )
        for one in plan["layouts"]
    ]
    heads = (
        "layout", "p50, ms", "p99, ms", "p99.9, ms", "p99 wanted, ms", "p99 as a node fails, ms",
        "p99 without it, ms", "searches tried again", "back after, s", "lag p50 / p99, s",
    )  # fmt: skip
    return markdown_table(heads, rows)


def _store(plan: Record) -> str:
    store = plan["store"]
    return markdown_table(
        ("Qdrant", "figure"),
        [
            ("nodes", f"{store['nodes']}"),
            ("shards, and how often each is kept", f"{store['shards']}, {store['replicas']} times"),
            ("shards on a node", f"{store['shards_of_a_node']}"),
            ("bytes a tool, on disk, as the embedded engine keeps it", f"{store['bytes_per_tool']:,.0f}"),
            ("gigabytes on a node", f"{store['gigabytes_of_a_node']:.1f}"),
            ("nodes that may fail at the same time", f"{store['nodes_that_may_fail']}"),
        ],
    )


_TABLES: Final[dict[str, Callable[[Record], str]]] = {
    "demand": _demand,
    "costs": _costs,
    "layouts": _layouts,
    "answers": _answers,
    "store": _store,
}
