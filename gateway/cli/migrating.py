"""`toolscout migrate`: to another encoder, and back."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from gateway.cli.exits import Exit
from gateway.cli.output import progress_bars, write_error, write_json, write_line
from indexer import IndexerSettings

if TYPE_CHECKING:
    from indexer.migration import MoveReport, Progress


def migrate_catalog(encoder: str | None, *, keep_old: bool, rollback: bool, as_json: bool) -> Exit:
    """`toolscout migrate --encoder NAME`, or `--rollback`."""
    from indexer.moving import move_back, move_catalog

    if rollback and encoder is not None:
        write_error("--rollback goes back to the encoder before the last move; leave --encoder out")
        return Exit.USAGE
    settings = IndexerSettings.from_environment()
    with _progress_bar("embedding again") as progress:
        if rollback:
            report = move_back(settings, progress=progress)
        else:
            report = move_catalog(settings, encoder or settings.encoder, keep_old=keep_old, progress=progress)
    if as_json:
        write_json(asdict(report))
    else:
        _show(report)
    return Exit.OK


def _show(report: "MoveReport") -> None:
    if report.note:
        write_line(report.note)
    if report.before == report.after:
        return
    write_line(f"{report.before or 'an empty catalog'} -> {report.after} in {report.seconds:.1f} s")
    write_line(f"{report.embedded} tools embedded, {report.reused} had vectors of it already")
    if report.kept:
        write_line(f"kept for `toolscout migrate --rollback`: {report.kept}")
    write_line(f"From now on set TOOLSCOUT_ENCODER={report.encoder} for whatever opens the catalog.")


@contextmanager
def _progress_bar(name: str) -> "Generator[Progress]":
    """A bar on stderr whose length may change."""
    with progress_bars() as bar:
        task = bar.add_task(name, total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield progress
