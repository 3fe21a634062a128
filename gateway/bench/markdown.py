"""Tables in markdown."""

from collections.abc import Iterable, Sequence


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, rule: Sequence[str] | None = None) -> str:
    """Lines of one width; `rule` aligns the columns: without it, the first one holds names and all others numbers."""
    rule = rule or ["---", *(["---:"] * (len(heads) - 1))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))
