"""What the commands print: tables for people, JSON for programs."""

import codecs
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

# A tool's texts come from whoever registered it: an escape sequence in one must not reach the terminal.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SHORT: Final = 160


def clean(text: object) -> str:
    """A text without control characters and without marks that change the direction of reading."""
    return _CONTROL.sub("\ufffd", str(text))


def write_json(record: object) -> None:
    """One JSON document on stdout; in ASCII where that is no UTF-8."""
    whole = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    sys.stdout.write(json.dumps(record, ensure_ascii=not whole, indent=2) + "\n")


def write_line(message: str) -> None:
    """One line on stdout."""
    sys.stdout.write(clean(message) + "\n")


def write_error(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"toolscout: {clean(message)}\n")


def console() -> "Console":
    """A console on stdout; a pipe gets plain text."""
    from rich.console import Console

    return Console(highlight=False)


def progress_bars(*, redirect_stdout: bool = True) -> "Progress":
    """Bars on stderr, so that stdout stays clean; what they are named is never read as markup."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), redirect_stdout=redirect_stdout)


def short(text: object, limit: int = _SHORT) -> "Text":
    """The first line of a text, cut with an ellipsis; never read as markup."""
    from rich.text import Text

    lines = clean(text).strip().splitlines()
    first = lines[0] if lines else ""
    return Text(first if len(first) <= limit else first[: limit - 1].rstrip() + "…")


def table(*columns: str, right: Iterable[str] = ()) -> "Table":
    """An empty table; columns named in `right` hold numbers."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = set(right)
    for column in columns:
        grid.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return grid


def show_search(answer: Mapping[str, Any]) -> None:
    """The results of a search, or why there are none."""
    from rich.text import Text

    out = console()
    results: Sequence[Mapping[str, Any]] = answer["results"]
    if not results:
        out.print(short(answer["empty"]["message"], 400))
        return
    room = max(out.width - 6, 20)
    several = len({result["query"] for result in results}) > 1
    for result in results:
        out.print(Text(f"{result['score']:.2f}  ") + found_name(result))
        out.print(Text("      ") + short(result["description"], room), style="dim")
        found_for = f" (for: {result['query']})" if several else ""
        also = f"; also in: {', '.join(result['also_in'])}" if result["also_in"] else ""
        also += f"; also as: {', '.join(result['also_as'])}" if result.get("also_as") else ""
        out.print(Text("      ") + short("; ".join(result["reasons"]) + also + found_for, room), style="cyan")
    notes = [f"{len(results)} found in {answer['took_ms']:.1f} ms, catalog revision {answer['catalog_revision']}"]
    if answer["degraded"] != "none":
        notes.append(f"degraded: {answer['degraded']} matches only")
    if answer["stale"]:
        notes.append(f"stale: the store has not answered for {answer.get('stale_seconds', 0):.0f} s")
    if answer.get("calibrating"):
        notes.append("what a weak match is in this catalog is still being measured")
    if answer["reranking"] in ("timeout", "failed"):
        notes.append(f"not reranked: {answer['reranking']}")
    out.print("; ".join(notes), style="dim", markup=False)


def found_name(tool: Mapping[str, Any]) -> "Text":
    """NAMESPACE/NAME, the name standing out."""
    from rich.text import Text

    return Text(clean(f"{tool['namespace']}/"), style="dim") + Text(clean(tool["name"]), style="bold")


def show_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    """Tools, one a line; the reason of those in quarantine."""
    grid = table("tool", "description", *(["quarantined because"] if any(tool["reason"] for tool in tools) else []))
    for tool in tools:
        cells = [short(f"{tool['namespace']}/{tool['name']}"), short(tool["description"], 100)]
        grid.add_row(*cells, *([short(tool["reason"], 300)] if len(grid.columns) > 2 else []))
    console().print(grid)


def show_tool(tool: Mapping[str, Any]) -> None:
    """Everything about one tool."""
    from rich.syntax import Syntax
    from rich.text import Text

    out = console()
    out.print(Text(clean(f"{tool['namespace']}/{tool['name']}"), style="bold"))
    for label in ("alias", "title", "status", "reason", "publisher", "trust", "version", "revision", "content_hash"):
        if tool.get(label) not in (None, ""):
            out.print(Text(f"  {label}: {clean(tool[label])}"))
    for label in ("tags", "example_queries"):
        if tool.get(label):
            out.print(Text(f"  {label}: {clean(', '.join(tool[label]))}"))
    out.print(Text(clean(tool["description"])))
    out.print(Syntax(clean(json.dumps(tool["input_schema"], ensure_ascii=False, indent=2)), "json", word_wrap=True))


def show_report(report: Mapping[str, Any]) -> None:
    """What a registration did, and why what was not taken was not taken."""
    from indexer.errors import sentences  # with all of the indexer, which `toolscout search` often does without

    out = console()
    counts = ", ".join(f"{report[label]} {label}" for label in ("added", "changed", "unchanged"))
    numbers = {label: len(report[label]) + report.get(f"unlisted_{label}", 0) for label in ("quarantined", "refused")}
    turned = ", ".join(f"{number} {label}" for label, number in numbers.items())
    out.print(f"{counts}, {turned} in {report['seconds']:.1f} s", markup=False)
    for label, number in numbers.items():
        if report[label]:
            grid = table(label, "field", "reason")
            for entry in report[label][:50]:
                where = entry["tool"] if not entry["place"] else f"{entry['place']} {entry['tool']}"
                grid.add_row(short(where), short(entry["field"]), short(sentences(entry["reason"], entry["fix"]), 300))
            out.print(grid)
            if number > 50:
                out.print(f"... and {number - 50} more; --json lists {len(report[label])} of them", markup=False)


def show_stats(stats: Mapping[str, Any]) -> None:
    """What the catalog holds and costs."""
    grid = table("", "")
    grid.show_header = False
    for label, value in stats.items():
        if label == "parts_bytes":
            for part, size in value.items():
                grid.add_row(short(f"memory, {part}"), short(f"{size / 1e6:.1f} MB"))
        elif not isinstance(value, dict | list):
            grid.add_row(short(label.replace("_", " ")), short(value))
    console().print(grid)
