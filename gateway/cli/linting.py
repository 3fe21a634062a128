"""`toolscout lint`: what to mend in tool definitions before a model reads them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Final

from gateway.cli.exits import Exit
from gateway.cli.indexing import progress_bar
from gateway.cli.output import console, short, table, write_error, write_json, write_line
from indexer import LintFinding, RejectedTool, SourceError, ToolDefinition, lint_tools
from indexer.errors import sentences
from indexer.sources import Source, SourceOptions, open_source

_SHOWN: Final = 200
"""Findings in the table; `--json` has them all."""


def lint_sources(specs: Sequence[str], *, strict: bool, as_json: bool) -> Exit:
    """Look at every tool of the sources; nothing is registered, and no catalog is opened.

    NOTHING (1) for an error, with `strict` for a warning too; FAILED (4) for a source that cannot be read.
    """
    sources = [open_source(spec, SourceOptions()) for spec in specs]
    reading = _Reading(sources)
    findings = list(lint_tools(reading))
    if as_json:
        errors = [{"source": error.source, "reason": error.reason, "fix": error.fix} for error in reading.errors]
        write_json({"tools": reading.count, "findings": [asdict(one) for one in findings], "errors": errors})
    else:
        _show(findings, reading.count)
        for error in reading.errors:
            write_error(str(error))
    if reading.errors:
        return Exit.FAILED
    return Exit.NOTHING if any(strict or finding.level == "error" for finding in findings) else Exit.OK


class _Reading:
    """The entries of several sources, counted; one that cannot be read does not stop the others."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.count = 0
        self.errors: list[SourceError] = []

    def __iter__(self) -> Iterator[ToolDefinition | RejectedTool]:
        for source in self._sources:
            with progress_bar(source.name, source.total) as advance:
                try:
                    for done, entry in enumerate(source.entries(), 1):
                        self.count += 1
                        yield entry
                        advance(done)
                except SourceError as error:
                    self.errors.append(error)


def _show(findings: Sequence[LintFinding], tools: int) -> None:
    if findings:
        grid = table("tool", "", "what to mend")
        for tool, group in groupby(findings[:_SHOWN], key=lambda finding: finding.tool):
            name = tool
            for finding in group:
                text = short(sentences(finding.message, finding.fix), 300)
                grid.add_row(short(name), "!!" if finding.level == "error" else "", text)
                name = ""
        console().print(grid)
    if len(findings) > _SHOWN:
        write_line(f"... and {len(findings) - _SHOWN} more; --json lists them all")
    levels = Counter(finding.level for finding in findings)
    counts = ", ".join(_counted(levels[level], level) for level in ("error", "warning"))
    write_line(f"{_counted(tools, 'tool')}: {counts}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
