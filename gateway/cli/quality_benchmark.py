"""`toolscout bench quality`: runs the benchmark with a progress bar for each set, and writes its outputs."""

import json
import sys
from pathlib import Path

from gateway.bench.peers import ALL_PEERS
from gateway.bench.quality import run_quality
from gateway.bench.quality_figures import report_to_record
from gateway.bench.quality_report import render_markdown
from gateway.bench.retrieval_sets import RetrievalSetError, Split
from gateway.cli.exits import Exit
from gateway.cli.output import write_error, write_json
from gateway.cli.output_files import require_writable
from indexer import IndexerSettings


def measure_quality(
    data: Path | None, split: Split, *, encoder: str | None = None, peers: bool = False, json_file: str | None = None
) -> Exit:
    """`toolscout bench quality`; `json_file` "-" prints JSON in place of the report."""
    if data is None:
        write_error("where are the test sets? Give their folder with --data, or set TOOLSCOUT_DATA")
        return Exit.USAGE
    require_writable({"--json": json_file})
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True)) as progress:
        tasks: dict[str, TaskID] = {}

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total)
            progress.update(tasks[name], completed=done, total=total)

        try:
            report = run_quality(
                data,
                encoder=encoder or IndexerSettings.from_environment().encoder,
                split=split,
                peers=ALL_PEERS if peers else (),
                progress=advance,
            )
        except RetrievalSetError as error:
            write_error(str(error))
            return Exit.FAILED
    if json_file == "-":
        write_json(report_to_record(report))
        return Exit.OK
    if json_file is not None:
        text = json.dumps(report_to_record(report), ensure_ascii=False, indent=2) + "\n"
        Path(json_file).write_text(text, encoding="utf-8")
    sys.stdout.write(render_markdown(report))
    return Exit.OK
