"""The command line: what each command takes, and nothing of what it does; `bench` is in `bench_entry.py`.

Every command imports its work when it runs: `toolscout search` must answer before a web framework has been imported.
"""

import atexit
import gc
import io
import os
import sys
from typing import Annotated

import typer

from gateway.cli.bench_entry import bench
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
app.add_typer(bench, name="bench")

Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace; may be repeated.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Only tools with this tag; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ToolName = Annotated[str, typer.Argument(help="NAMESPACE/NAME, the model-facing alias, or a name that is unique.")]


def main() -> None:
    """Run the command line of this process."""
    # Read once, when numpy is imported: threads of its own cost a single search more than they give it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The default of 700 new objects makes the imports of one search collect garbage hundreds of times, and find none.
    gc.set_threshold(100_000, 20, 20)
    # The interpreter's last collections walk through everything that is about to go anyway: a fifth of a search.
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):  # a terminal that is no UTF-8 shows what it can of a tool's texts
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
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


@app.callback(invoke_without_command=True)
def _version(  # pyright: ignore[reportUnusedFunction] - Typer calls it
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        sys.stdout.write(f"toolscout {installed('toolscout')}\n")
        raise typer.Exit
