"""`toolscout bench`: what each of its commands takes, and nothing of what it does; as in `entry.py`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gateway.cli.bare_json import BareJsonCommand

bench = typer.Typer(help="Measure this installation.", no_args_is_help=True)

Split = Literal["dev", "test", "all"]


@bench.command("quality", cls=BareJsonCommand)
def bench_quality(
    data: Annotated[
        Path | None, typer.Option(help="Folder of retrieval test sets.", envvar="TOOLSCOUT_DATA", show_envvar=True)
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder to search with; without it, TOOLSCOUT_ENCODER or the shipped one.")
    ] = None,
    split: Annotated[Split, typer.Option(help="Which half of the queries: dev is for tuning, test for reporting.")] = (
        "all"
    ),
    peers: Annotated[
        bool, typer.Option("--peers", help="Measure other tool searches beside it, those that are installed.")
    ] = False,
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="[FILE]",
            help="Write all figures to this file; - or no file is stdout, in place of the report.",
        ),
    ] = None,
) -> None:
    """Measure how well search finds the right tools on test sets."""
    from gateway.cli.quality_benchmark import measure_quality

    raise typer.Exit(measure_quality(data, split, encoder=encoder, peers=peers, json_file=json_file))


@bench.command("tokens")
def bench_tokens(
    catalog: Annotated[
        list[str] | None,
        typer.Option(help="A source of tools, as for `toolscout index`; may be repeated. Default: AWS, Google, MCP."),
    ] = None,
    conversations: Annotated[
        Path | None, typer.Option(help="A file or folder of conversations (JSONL). Default: benchmarks/conversations.")
    ] = None,
    model: Annotated[str, typer.Option(help="Whose vocabulary, tool layout and price to count with.")] = "",
    prices: Annotated[
        Path | None, typer.Option(help="A JSON price table that takes the place of the built-in one.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all figures to this file; - is stdout.")
    ] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a self-contained report with plots.")] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this file.")] = None,
    svg_file: Annotated[Path | None, typer.Option("--svg", help="Write the plot of tokens against tools.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Under a minute: up to 1,000 tools, a few conversations.")
    ] = False,
    live: Annotated[bool, typer.Option("--live", help="Also run conversations on TOOLSCOUT_UPSTREAM_URL.")] = False,
    seeds: Annotated[int, typer.Option(min=1, max=20, help="Repeats, each with other distractors.")] = 3,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Tools a search.")] = 5,
    sizes: Annotated[list[int] | None, typer.Option("--size", min=1, help="A catalog size; may be repeated.")] = None,
) -> None:
    """Measure what tool search saves in prompt tokens, what it costs and what it loses, on your own catalog."""
    from gateway.cli.token_benchmark import TokenBenchmarkOptions, measure_tokens

    options = TokenBenchmarkOptions(
        catalog=tuple(catalog or ()),
        conversations=conversations,
        model=model,
        prices=prices,
        json_file=json_file,
        html_file=html_file,
        markdown_file=markdown_file,
        svg_file=svg_file,
        quick=quick,
        live=live,
        seeds=seeds,
        k=k,
        sizes=tuple(sizes or ()),
    )
    raise typer.Exit(measure_tokens(options))


@bench.command("speed", cls=BareJsonCommand)
def bench_speed(
    quick: Annotated[
        bool, typer.Option("--quick", help="Under a minute: the hot path at 100,000 rows, a search over 10,000 tools.")
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also other libraries and tool searches, those that are installed.")
    ] = False,
    peer_pythons: Annotated[
        list[str] | None,
        typer.Option(
            "--peer-python",
            metavar="NAME=PATH",
            help="The Python of an environment that has this peer, where it cannot live in this one; may be repeated. "
            "TOOLSCOUT_PEER_PYTHONS names several, parted by commas.",
        ),
    ] = None,
    million: Annotated[
        bool, typer.Option("--million", help="Also a whole catalog of a million tools: 20 minutes and 12 GB more.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only rows whose key holds this: dense-100k-384, search, http; may be repeated."),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="[FILE]",
            help="Write all figures to this file; - or no file is stdout, in place of the tables.",
        ),
    ] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this file.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Write plots (SVG) into this folder; needs matplotlib.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Compare the ratios with those of an earlier run's JSON file.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="What share of a lead may be lost before it is a regression.")
    ] = 0.25,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 if anything regressed against the baseline.")
    ] = False,
) -> None:
    """Measure how fast search is, against others on the same data, with the results checked beside each time."""
    from gateway.cli.speed_benchmark import SpeedOptions, measure_speed

    options = SpeedOptions(
        quick=quick,
        peers=peers,
        peer_pythons=tuple(peer_pythons or ()),
        million=million,
        only=tuple(only or ()),
        json_file=json_file,
        markdown_file=markdown_file,
        plots=plots,
        baseline=baseline,
        tolerance=tolerance,
        fail_on_regression=fail_on_regression,
    )
    raise typer.Exit(measure_speed(options))
