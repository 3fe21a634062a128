"""The record as one HTML file that needs nothing else: no script, no style sheet, no font from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from gateway.bench.tokens.plots import render_plots
from gateway.bench.tokens.sweep import ALL_TOOLS, APPEND
from gateway.bench.tokens.text_report import COLUMNS, cells, headline_group, notes

Record = Mapping[str, Any]

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
.answer { font-size: 1.15rem; border-left: 4px solid #0b6e4f; padding: .4rem 1rem; background: #f1f8f5; }
table { border-collapse: collapse; font-size: .82rem; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
tr.own { background: #f1f8f5; font-weight: 600; } tr.plain { color: #666; }
figure { display: inline-block; margin: .5rem; max-width: 100%; } figure svg { max-width: 100%; height: auto; }
li { margin: .2rem 0; }
"""
_COST_HEADINGS: Final = (
    "tools", "delivery", "model", "uncached", "written", "read", "price-weighted", "saved", "saved, output included"
)  # fmt: skip


def render_html(record: Record) -> str:
    """The whole report."""
    body = "\n".join(_body(record))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Toolscout token benchmark</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(record: Record) -> Iterator[str]:
    yield "<h1>What tool search saves</h1>"
    yield f'<p class="answer">{escape(record["answer"])}</p>'
    group = headline_group(record)
    if group is not None:
        yield from _plots(group, record["break_even"][0]["tools"][0])
        yield from _break_even(record)
        for one in record["groups"]:
            opened = " open" if one is group else ""
            yield f"<details{opened}><summary>Conversations: {escape(one['group'])} ({one['conversations']})</summary>"
            yield from _table(COLUMNS, ((row["delivery"], cells(record, row)) for row in one["rows"]))
            yield "</details>"
        yield "<details><summary>How the prompt tokens are billed</summary>"
        yield from _table(_COST_HEADINGS, _costs(group))
        yield "</details>"
    yield "<h2>How it was measured</h2><ul>"
    for note in notes(record):
        yield f"<li>{escape(note.strip().removeprefix('- '))}</li>" if note.strip() else ""
    yield "</ul>"


def _plots(group: Record, break_even: float) -> Iterator[str]:
    try:
        plots = render_plots(group, break_even)
    except ImportError:
        yield "<p>No plots: matplotlib is not installed. Run <code>pip install 'toolscout[bench]'</code>.</p>"
        return
    for title, svg in plots:
        yield f"<figure><figcaption>{escape(title)}</figcaption>{svg}</figure>"


def _break_even(record: Record) -> Iterator[str]:
    yield "<h2>From which catalog on it pays</h2>"
    yield "<table><tr><th>by</th><th>tools</th><th>tokens of definitions</th></tr>"
    for one in record["break_even"]:
        tools, tokens = one["tools"], one["catalog_tokens"]
        yield (
            f"<tr><td>{escape(one['by'])}</td><td>{tools[0]:,.0f} ({tools[1]:,.0f} to {tools[2]:,.0f})</td>"
            f"<td>{tokens[0]:,.0f} ({tokens[1]:,.0f} to {tokens[2]:,.0f})</td></tr>"
        )
    yield "</table>"
    passed = record["passthrough"]
    yield (
        f"<p>Below it the gateway can send all tools as they are: with a passthrough budget of "
        f"{passed['budget_tokens']:,} tokens, the {passed['catalogs_below_budget']} catalogs below it cost at most "
        f"{passed['worst_ratio_to_all_tools']:.2%} of sending all tools.</p>"
    )


def _table(headings: Sequence[str], rows: Iterator[tuple[str, Sequence[str]]]) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr>"
    for delivery, texts in rows:
        kind = {APPEND: ' class="own"', ALL_TOOLS: ' class="plain"'}.get(delivery, "")
        yield f"<tr{kind}>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
    yield "</table>"


def _costs(group: Record) -> Iterator[tuple[str, Sequence[str]]]:
    for row in group["rows"]:
        for cost in row["cost"]:
            yield (
                row["delivery"],
                (
                    f"{row['tools']:,}",
                    row["delivery"],
                    cost["model"],
                    f"{cost['uncached']:,.0f}",
                    f"{cost['cache_written']:,.0f}",
                    f"{cost['cached_read']:,.0f}",
                    f"{cost['weighted_prompt_tokens'][0]:,.0f}",
                    f"{cost['weighted_saved'][0]:.2%}",
                    f"{cost['weighted_with_output_saved'][0]:.2%}",
                ),
            )
