"""The command line: what each command takes, and nothing of what it does.

Every command imports its work when it runs: `toolscout search` must answer before a web framework has been imported.
"""

import atexit
import gc
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from gateway.cli.bare_json import BareJsonCommand
from gateway.cli.exits import EXIT_CODES_HELP, run_or_exit

app = typer.Typer(
    name="toolscout",
    help="Search thousands of LLM tools, and serve them to agents a few at a time.",
    epilog=EXIT_CODES_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bench = typer.Typer(help="Measure this installation.", no_args_is_help=True)
app.add_typer(bench, name="bench")

Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace; may be repeated.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Only tools with this tag; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Split = Literal["dev", "test", "all"]
ToolName = Annotated[str, typer.Argument(help="NAMESPACE/NAME, the model-facing alias, or a name that is unique.")]


def main() -> None:
    """Run the command line of this process."""
    # Read once, when numpy is imported: threads of its own cost a single search more than they give it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The default of 700 new objects makes the imports of one search collect garbage hundreds of times, and find none.
    gc.set_threshold(100_000, 20, 20)
    # The interpreter's last collections walk through everything that is about to go anyway: a fifth of a search.
    atexit.register(gc.freeze)
    run_or_exit(app)


@app.command()
def index(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="PATH.jsonl, PATH.json or PATH.yaml (tools, or an OpenAPI document), openapi:URL, python:MODULE, "
            "'mcp:COMMAND ARGUMENTS', mcp:https://HOST/mcp, aws (aws:ec2,s3), google (google:drive), demo (both)."
        ),
    ],
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            help="For tools whose source names none; for aws and google, what stands before the first dot.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Add the tools of one or more sources to the catalog; what has not changed is not embedded again."""
    from gateway.cli.indexing import index_sources

    raise typer.Exit(index_sources(sources, namespace, as_json=as_json))


@app.command()
def lint(
    sources: Annotated[list[str], typer.Argument(help="What `toolscout index` takes; nothing is registered.")],
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count like errors for the exit code.")] = False,
    as_json: Json = False,
) -> None:
    """Check whether tools tell a model enough: when to use them, when to stop, what to pass; exit code 1 if not."""
    from gateway.cli.linting import lint_sources

    raise typer.Exit(lint_sources(sources, strict=strict, as_json=as_json))


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="What the tool should do.")],
    also: Annotated[
        list[str] | None, typer.Option("--also", "-a", help="A further need; up to five share the places.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many tools at most.")] = 5,
    namespaces: Namespaces = None,
    tags: Tags = None,
    as_json: Json = False,
) -> None:
    """Find the tools that fit a need, in any language."""
    from gateway.cli.catalog_commands import search_catalog

    raise typer.Exit(search_catalog([" ".join(words), *(also or [])], k, namespaces or [], tags or [], as_json=as_json))


@app.command("list")
def list_(
    namespaces: Namespaces = None,
    tags: Tags = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many tools at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    quarantined: Annotated[bool, typer.Option("--quarantined", help="Only tools in quarantine, and why.")] = False,
    as_json: Json = False,
) -> None:
    """List tools in order of namespace and name."""
    from gateway.cli.catalog_commands import list_catalog

    raise typer.Exit(
        list_catalog(namespaces or [], tags or [], offset, limit, quarantined=quarantined, as_json=as_json)
    )


@app.command()
def show(name: ToolName, as_json: Json = False) -> None:
    """Show everything about one tool."""
    from gateway.cli.catalog_commands import show_named

    raise typer.Exit(show_named(name, as_json=as_json))


@app.command()
def delete(
    names: Annotated[list[str], typer.Argument(help="NAMESPACE/NAME, alias or unique name of each tool.")],
    as_json: Json = False,
) -> None:
    """Delete tools from the catalog."""
    from gateway.cli.catalog_commands import delete_named

    raise typer.Exit(delete_named(names, as_json=as_json))


@app.command()
def stats(as_json: Json = False) -> None:
    """Show what the catalog holds and what that costs."""
    from gateway.cli.catalog_commands import show_catalog_stats

    raise typer.Exit(show_catalog_stats(as_json=as_json))


@app.command()
def migrate(
    encoder: Annotated[
        str | None, typer.Option(help="The encoder to move to, as in TOOLSCOUT_ENCODER, which is the default.")
    ] = None,
    keep_old: Annotated[
        bool, typer.Option("--keep-old/--drop-old", help="Keep the catalog as it was, for a move back.")
    ] = True,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Back to what the last move kept, with what came since.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move the catalog to another encoder: embed its tools again beside it, then switch."""
    from gateway.cli.migrating import migrate_catalog

    raise typer.Exit(migrate_catalog(encoder, keep_old=keep_old, rollback=rollback, as_json=as_json))


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (TOOLSCOUT_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on (TOOLSCOUT_PORT).")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; more than one needs TOOLSCOUT_QDRANT_URL.")] = 1,
    with_demo_catalog: Annotated[
        bool, typer.Option("--with-demo-catalog", help="Index the AWS and Google APIs first, if that was not done.")
    ] = False,
) -> None:
    """Start the gateway: HTTP interface, chat completions and MCP."""
    from gateway.cli.serving import serve_gateway

    raise typer.Exit(serve_gateway(host, port, workers, with_demo_catalog=with_demo_catalog))


@app.command()
def chat(
    message: Annotated[str | None, typer.Argument(help="What to say; without it, a conversation.")] = None,
    model: Annotated[str, typer.Option(help="Which model of the upstream.")] = "",
) -> None:
    """Talk to the model, with the catalog's tools at its hand."""
    from gateway.cli.chatting import chat_with_catalog

    raise typer.Exit(chat_with_catalog(message, model))


@app.command()
def demo(as_json: Json = False) -> None:
    """Watch eight requests find their tools among thousands, and what that saved in prompt tokens."""
    from gateway.cli.demonstration import demonstrate

    raise typer.Exit(demonstrate(as_json=as_json))


@app.command()
def mcp() -> None:
    """Serve the catalog to an MCP client on stdin and stdout."""
    from gateway.cli.serving import serve_mcp

    raise typer.Exit(serve_mcp())


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check that everything this installation needs is in place."""
    from gateway.cli.diagnosis import diagnose

    raise typer.Exit(diagnose(as_json=as_json))


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
    from gateway.cli.benchmarks import measure_quality

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


@app.callback(invoke_without_command=True)
def _version(  # pyright: ignore[reportUnusedFunction] - Typer calls it
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        sys.stdout.write(f"toolscout {installed('toolscout')}\n")
        raise typer.Exit
