"""`toolscout bench tokens`: reads the catalog and the conversations, runs the benchmark, and writes its outputs."""

import gc
import importlib
import shutil
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import anyio

from gateway.bench.checkout import CONVERSATIONS
from gateway.bench.progress import Progress
from gateway.bench.tokens.catalog import BenchCatalog, build_catalog
from gateway.bench.tokens.conversations import Conversation, load_conversations, within
from gateway.bench.tokens.counting import counting_for
from gateway.bench.tokens.delivery import DeliveryMaker
from gateway.bench.tokens.drawn import draw_conversations
from gateway.bench.tokens.meter import RequestMeter
from gateway.bench.tokens.prices import PRICES, ModelPrice, load_prices
from gateway.bench.tokens.report import BenchmarkSettings, Record, run_benchmark
from gateway.bench.tokens.sweep import SIZES, SweepSettings
from gateway.cli.exits import Exit
from gateway.cli.output import progress_bars, write_error
from gateway.cli.output_files import require_writable
from gateway.demo.catalog import require_packages
from gateway.errors import ConfigurationError
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, RejectedTool, SourceError, ToolDefinition, make_embedder
from indexer.sources import SourceOptions, open_source

_QUICK_SIZES: Final = tuple(size for size in SIZES if size <= 1_000)
_QUICK_CONVERSATIONS: Final = 12
_LIVE_TOOLS: Final = 1_000
_MCP_SERVERS: Final = {
    "mcp-server-everything": "stdio",
    "mcp-server-filesystem": ".",
    "mcp-server-memory": "",
    "mcp-server-sequential-thinking": "",
    "mcp-server-git": "",
    "mcp-server-time": "--local-timezone UTC",
    "mcp-server-fetch": "",
}
"""Public MCP servers that need no account, with their arguments; those on the PATH are part of the default catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBenchmarkOptions:
    """What the command line said."""

    catalog: tuple[str, ...] = ()
    conversations: Path | None = None
    model: str = ""
    prices: Path | None = None
    json_file: Path | None = None
    html_file: Path | None = None
    markdown_file: Path | None = None
    svg_file: Path | None = None
    quick: bool = False
    live: bool = False
    seeds: int = 3
    k: int = 5
    sizes: tuple[int, ...] = ()


def measure_tokens(options: TokenBenchmarkOptions) -> Exit:
    """`toolscout bench tokens`."""
    started = time.perf_counter()
    files = {"--json": options.json_file, "--html": options.html_file, "--markdown": options.markdown_file}
    require_writable({**files, "--svg": options.svg_file})
    if options.live and GatewaySettings.from_environment().upstream_url is None:
        raise ConfigurationError("--live needs a model: set TOOLSCOUT_UPSTREAM_URL (and TOOLSCOUT_UPSTREAM_KEY)")
    counting = counting_for(options.model)
    given = _conversations(options)
    specs = options.catalog or _default_catalog(given, quick=options.quick)
    baselines, baselines_note = _baselines()
    settings = BenchmarkSettings(
        sweep=_sweep(options),
        prices=_prices(options),
        sources=specs,
        counting=f"{options.model or 'OpenAI models'}: {counting.label}",
        baselines_note=baselines_note,
    )
    with _progress() as heard:
        record = anyio.run(
            _run, options, RequestMeter(counting.encoding, counting.layout), given, settings, baselines, heard
        )
    sys.stderr.write(f"measured in {time.perf_counter() - started:.0f} s\n")
    _write(options, record)
    return Exit.OK if record["groups"] else Exit.NOTHING


async def _run(
    options: TokenBenchmarkOptions,
    meter: RequestMeter,
    given: Sequence[Conversation],
    settings: BenchmarkSettings,
    baselines: Sequence[DeliveryMaker],
    heard: Progress,
) -> Record:
    embedder = make_embedder(IndexerSettings.from_environment().encoder)
    errors: list[SourceError] = []
    # What is made here stays to the end: looking through millions of objects of schemas again and again takes minutes.
    gc.disable()
    try:
        catalog = await build_catalog(_entries(settings.sources, errors), embedder, meter, heard)
        gc.freeze()
    finally:
        gc.enable()
    if errors and not catalog.tools:
        await catalog.index.aclose()
        raise errors[0]
    for error in errors:
        write_error(str(error))
    try:
        conversations: Sequence[Conversation] = given
        if options.conversations is None and not within(given, catalog.rows):
            conversations = draw_conversations(catalog.tools)
            settings = replace(settings, drawn=True)
        if options.quick:
            conversations = _some(within(conversations, catalog.rows))
        record = await run_benchmark(catalog, conversations, baselines, settings, heard)
        if options.live:
            record["live"] = await _live(options, catalog, conversations, heard)
        return record
    finally:
        await catalog.index.aclose()


async def _live(
    options: TokenBenchmarkOptions, catalog: BenchCatalog, conversations: Sequence[Conversation], heard: Progress
) -> dict[str, Any]:
    from gateway.bench.tokens.live import run_live
    from gateway.models.openai_compatible import OpenAICompatibleChatModel

    settings = GatewaySettings.from_environment()
    assert settings.upstream_url is not None, "looked at before the run"
    model = OpenAICompatibleChatModel(
        settings.upstream_url,
        settings.upstream_key,
        timeout_seconds=settings.upstream_timeout_seconds,
        default_model=settings.upstream_model,
    )
    try:
        return await run_live(
            catalog,
            conversations,
            model,
            name=options.model or settings.upstream_model,
            tools=min(_LIVE_TOOLS, len(catalog.tools)),
            k=options.k,
            progress=heard,
        )
    finally:
        await model.aclose()


def _entries(specs: Sequence[str], errors: list[SourceError]) -> Iterator[ToolDefinition | RejectedTool]:
    """Everything that can be read; a source that cannot is named, and the others go on."""
    for spec in specs:
        try:
            yield from open_source(spec, SourceOptions()).entries()
        except SourceError as error:
            errors.append(error)


def _default_catalog(conversations: Sequence[Conversation], *, quick: bool) -> tuple[str, ...]:
    """AWS, Google and the public MCP servers that are installed; in a quick run only the services that are needed."""
    require_packages()
    if not quick:
        servers = [f"mcp:{name} {said}".strip() for name, said in _MCP_SERVERS.items() if shutil.which(name)]
        return ("aws", "google", *servers)
    namespaces = {tool.partition("/")[0] for one in _some(conversations) for tool in one.tools}
    services = sorted(name.removeprefix("aws.") for name in namespaces if name.startswith("aws."))
    apis = sorted(name.removeprefix("google.") for name in namespaces if name.startswith("google."))
    chosen = (("aws", services), ("google", apis))
    return tuple(f"{provider}:{','.join(names)}" for provider, names in chosen if names) or ("aws:ec2,s3,iam",)


def _some(conversations: Sequence[Conversation]) -> list[Conversation]:
    """A few of each length and language, the same each time."""
    groups: dict[tuple[int, str], list[Conversation]] = {}
    for one in conversations:
        groups.setdefault((len(one.turns), one.lang), []).append(one)
    each = max(1, _QUICK_CONVERSATIONS // max(1, len(groups)))
    return [one for group in groups.values() for one in group[:each]]


def _conversations(options: TokenBenchmarkOptions) -> list[Conversation]:
    if options.conversations is not None:
        return load_conversations(options.conversations)
    return load_conversations(CONVERSATIONS) if any(CONVERSATIONS.glob("*.jsonl")) else []


def _baselines() -> tuple[Sequence[DeliveryMaker], str]:
    """The baselines of the checkout, or why there are none: the installed product ships no imitation of others."""
    try:
        module: Any = importlib.import_module("benchmarks.baselines")
    except ModuleNotFoundError:
        return (
            (),
            "Baselines were not run: they live in benchmarks/baselines of a checkout, which is not installed here.",
        )
    return cast("Sequence[DeliveryMaker]", module.BASELINES), ""


def _sweep(options: TokenBenchmarkOptions) -> SweepSettings:
    sizes = options.sizes or (_QUICK_SIZES if options.quick else SIZES)
    seeds = 1 if options.quick else options.seeds
    return SweepSettings(sizes=sizes, seeds=tuple(range(1, seeds + 1)), k=options.k)


def _prices(options: TokenBenchmarkOptions) -> tuple[ModelPrice, ...]:
    """The table, the price of the named model first."""
    prices = load_prices(options.prices) if options.prices is not None else PRICES
    return tuple(sorted(prices, key=lambda price: price.model != options.model))


@contextmanager
def _progress() -> Generator[Progress]:
    """A bar for each stage, on stderr."""
    from rich.progress import TaskID

    with progress_bars() as bars:
        tasks: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done)

        yield advance


def _write(options: TokenBenchmarkOptions, record: Record) -> None:
    import json

    from gateway.bench.tokens.text_report import render_text

    if options.json_file is not None:
        text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
        if str(options.json_file) == "-":
            sys.stdout.write(text)
        else:
            options.json_file.write_text(text, encoding="utf-8")
    if options.markdown_file is not None:
        options.markdown_file.write_text(render_text(record), encoding="utf-8")
    if options.html_file is not None:
        from gateway.bench.tokens.html_report import render_html

        options.html_file.write_text(render_html(record), encoding="utf-8")
    if options.svg_file is not None:
        _write_plot(options.svg_file, record)
    if str(options.json_file) != "-":
        sys.stdout.write(render_text(record))


def _write_plot(file: Path, record: Record) -> None:
    from gateway.bench.tokens.plots import headline_plot
    from gateway.bench.tokens.text_report import headline_group

    group = headline_group(record)
    if group is None:
        return
    try:
        file.write_text(headline_plot(group, record["break_even"][0]["tools"][0]), encoding="utf-8")
    except ImportError:
        write_error(f"{file} was not written: matplotlib is not installed; run `pip install 'toolscout[bench]'`")
