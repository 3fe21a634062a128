"""`toolscout bench speed`: opens the data, runs the benchmark with a progress line, and writes its outputs."""

import json
import os
import signal
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.bench.checkout import CONVERSATIONS
from gateway.bench.progress import Progress
from gateway.bench.speed.bench import Bench, Options
from gateway.bench.speed.comparison import TOLERANCE, compare, comparison_section
from gateway.bench.speed.data import open_data
from gateway.bench.speed.minilm import open_minilm
from gateway.bench.speed.report import Section, render_markdown, sections
from gateway.bench.speed.run import row_keys, run_speed
from gateway.cli.exits import Exit
from gateway.cli.output import console, progress_bars, table, write_error, write_json
from gateway.cli.output_files import require_writable
from gateway.demo.catalog import require_packages
from gateway.errors import ConfigurationError
from indexer import IndexerSettings, make_embedder

PYTHONS_VARIABLE: Final = "TOOLSCOUT_PEER_PYTHONS"
_BENCH: Final = "bench"
_PIPE_WIDTH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOptions:
    """What the command line said."""

    quick: bool = False
    peers: bool = False
    peer_pythons: tuple[str, ...] = ()
    million: bool = False
    only: tuple[str, ...] = ()
    json_file: str | None = None
    markdown_file: Path | None = None
    plots: Path | None = None
    baseline: Path | None = None
    tolerance: float = TOLERANCE
    fail_on_regression: bool = False


def measure_speed(options: SpeedOptions) -> Exit:
    """`toolscout bench speed`."""
    pythons = _pythons(options.peer_pythons)
    baseline = _baseline(options.baseline)
    require_writable({"--json": options.json_file, "--markdown": options.markdown_file})
    require_packages()
    settings = IndexerSettings.from_environment()
    asked = Options(
        quick=options.quick,
        peers=options.peers or bool(pythons),
        pythons=pythons,
        million=options.million,
        only=options.only,
    )
    if not any(asked.wants(key) for key in row_keys()):
        raise ConfigurationError(
            f"--only {', '.join(options.only)}: no row has that in its key: {', '.join(row_keys())}"
        )
    # As an interrupt: what was measured is handed over, and no gateway of a measurement is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _progress() as heard:
        conversations = CONVERSATIONS if any(CONVERSATIONS.glob("*.jsonl")) else None
        encoder, folder = make_embedder(settings.encoder), settings.home / _BENCH
        data = open_data(folder, encoder, conversations, wide=open_minilm(), progress=heard)
        record = run_speed(Bench(data=data, encoder=settings.encoder, options=asked, heard=heard))
    return hand_over(record, baseline, options)


def hand_over(record: Mapping[str, Any], baseline: Mapping[str, Any] | None, options: SpeedOptions) -> Exit:
    """Write a run's outputs; 1 where nothing was measured, or where a regression must not pass."""
    changes = compare(record, baseline, options.tolerance) if baseline is not None else []
    if options.json_file not in (None, "-"):
        text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
        Path(str(options.json_file)).write_text(text, encoding="utf-8")
    if options.markdown_file is not None:
        options.markdown_file.write_text(render_markdown(record), encoding="utf-8")
    if options.plots is not None:
        _write_plots(options.plots, record)
    if options.json_file == "-":
        write_json(record)
    else:
        for section in sections(record):
            _show(section)
    if baseline is not None:
        _show(comparison_section(changes, baseline))
        if options.fail_on_regression and any(change.is_regression for change in changes):
            return Exit.NOTHING
    return Exit.OK if record["races"] or record["figures"] else Exit.NOTHING


def _pythons(given: tuple[str, ...]) -> Mapping[str, str]:
    """NAME=PATH of the option and of the variable. Raises: ConfigurationError."""
    found: dict[str, str] = {}
    for entry in (*filter(None, os.environ.get(PYTHONS_VARIABLE, "").split(",")), *given):
        name, equals, path = entry.partition("=")
        if not equals or not Path(path).exists():
            raise ConfigurationError(
                f"--peer-python (or {PYTHONS_VARIABLE}) {entry!r}: write NAME=PATH, the path of a Python in which this "
                "peer and the packages that Toolscout needs are installed"
            )
        found[name] = path
    return found


def _baseline(file: Path | None) -> Mapping[str, Any] | None:
    """Raises: ConfigurationError."""
    if file is None:
        return None
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        record["races"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"--baseline {file} cannot be read ({error}); give a file that `toolscout bench speed --json` wrote"
        ) from error
    return record


@contextmanager
def _progress() -> Generator[Progress]:
    """One bar a stage on stderr, or where nobody watches a line when it is done."""
    from rich.progress import TaskID

    with progress_bars(redirect_stdout=False) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if not bars.console.is_terminal:
                if total and done >= total:
                    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {stage}\n")
                return
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield advance


def _show(section: Section) -> None:
    out = console()
    if not out.is_terminal:
        out.width = _PIPE_WIDTH
    out.print(f"\n{section.title}", markup=False, style="bold")
    if section.columns:
        grid = table(*section.columns, right=section.right)
        for row in section.rows:
            grid.add_row(*row)
        out.print(grid)
    for line in section.lines:
        out.print(line, markup=False)


def _write_plots(folder: Path, record: Mapping[str, Any]) -> None:
    from gateway.bench.speed.plots import render_plots

    try:
        plots = render_plots(record)
    except ImportError:
        write_error(f"no plots in {folder}: matplotlib is not installed; run `pip install 'toolscout[bench]'`")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in plots.items():
        (folder / f"speed-{name}.svg").write_text(text, encoding="utf-8")
