"""`toolscout index`: from sources to the catalog, with a progress bar."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.api.records import report_record
from gateway.cli.catalog import Catalog, open_catalog
from gateway.cli.exits import Exit
from gateway.cli.output import progress_bars, show_report, write_error, write_json
from gateway.demo.catalog import DEMO_SOURCES, note_indexed
from gateway.registry.remembered_sources import python_place, remember_source, server_place
from indexer import IndexerSettings, RegistrationReport, SourceError, merge_reports
from indexer.sources import Source, SourceOptions, open_source
from indexer.sources.mcp import McpSource
from indexer.sources.python_module import PythonSource

DEMO: Final = "demo"
"""Stands for all sources of the demo's catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRun:
    """What an index run did, over all its sources."""

    report: RegistrationReport
    errors: tuple[SourceError, ...] = ()
    """Sources that could not be read, or not to their end."""

    @property
    def exit_code(self) -> Exit:
        if self.errors:
            return Exit.FAILED
        return Exit.NOTHING if self.report.refused or self.report.quarantined else Exit.OK


def index_sources(specs: Sequence[str], namespace: str, *, as_json: bool) -> Exit:
    """`toolscout index`: every source that can be read is, whatever becomes of the others."""
    wanted = [one for spec in specs for one in (DEMO_SOURCES if spec == DEMO else (spec,))]
    sources = [open_source(spec, SourceOptions(namespace=namespace or None)) for spec in wanted]
    settings = IndexerSettings.from_environment()
    with open_catalog(settings) as catalog:
        run = register_sources(catalog, sources, settings)
    if DEMO in specs and not namespace and not run.errors:
        note_indexed(settings.home)
    if as_json:
        errors = [{"source": error.source, "reason": error.reason, "fix": error.fix} for error in run.errors]
        write_json({**report_record(run.report), "errors": errors})
    else:
        show_report(report_record(run.report))
        for error in run.errors:
            write_error(str(error))
    return run.exit_code


def register_sources(catalog: Catalog, sources: Sequence[Source], settings: IndexerSettings) -> IndexRun:
    """Register everything the sources yield, a progress bar each."""
    reports: list[RegistrationReport] = []
    errors: list[SourceError] = []
    for source in sources:
        with progress_bar(source.name, source.total) as advance:
            try:
                reports.append(catalog.register(source.entries(), advance))
            except SourceError as error:
                errors.append(error)
                continue
        if isinstance(source, McpSource):
            remember_source(settings.home, source.name, source.spec)
            if not source.is_url:
                remember_source(settings.home, server_place(source.name), str(Path.cwd()))
        elif isinstance(source, PythonSource) and source.folder is not None:
            remember_source(settings.home, python_place(source.module), source.folder)
    return IndexRun(report=merge_reports(reports), errors=tuple(errors))


@contextmanager
def progress_bar(name: str, total: int | None) -> Generator[Callable[[int], None]]:
    """A bar on stderr; what it yields is told how many are done."""
    from rich.text import Text

    with progress_bars() as progress:
        task = progress.add_task(Text(name).plain, total=total)
        yield lambda done: progress.update(task, completed=done)
        if total is None:
            done = progress.tasks[task].completed
            progress.update(task, total=done)
