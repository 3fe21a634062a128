"""`toolscout demo`: makes sure that the real catalog is there, and shows what tool search does with it."""

import sys
from functools import reduce
from operator import add
from typing import Final

from gateway.chat.tokens import TokenCounter
from gateway.cli.catalog import Catalog, open_catalog
from gateway.cli.exits import Exit
from gateway.cli.indexing import progress_bar, register_sources
from gateway.cli.output import console
from gateway.demo.catalog import DEMO_SOURCES, is_indexed, note_indexed, require_packages
from gateway.demo.requests import DEMO_REQUESTS
from gateway.demo.run import DemoRun, RequestOutcome
from gateway.demo.savings import CatalogTokens, Savings, count_catalog
from gateway.demo.telling import SilentListener, TerminalListener, document, layout_line, model_line, savings_table
from gateway.settings import GatewaySettings
from indexer import IndexerSettings
from indexer.sources import SourceOptions, open_source

_NOTHING: Final = Savings(with_search=0, with_all_tools=0)


def demonstrate(*, as_json: bool) -> Exit:
    """Index if needed, run the requests, and say what was saved."""
    indexer = IndexerSettings.from_environment()
    gateway = GatewaySettings.from_environment()
    with open_catalog(indexer) as catalog:
        if not is_indexed(indexer.home):
            _index(catalog, indexer)
        counter = TokenCounter()
        with progress_bar("counting the tokens of all tools", catalog.stats()["tools"]) as advance:
            counted = catalog.run(count_catalog(catalog.index, counter, home=indexer.home, progress=advance))
        outcomes = (_as_json if as_json else _on_terminal)(catalog, gateway, indexer, counted, counter)
    return Exit.FAILED if any(outcome.error for outcome in outcomes) else Exit.OK


def _index(catalog: Catalog, indexer: IndexerSettings) -> None:
    require_packages()
    sources = [open_source(spec, SourceOptions()) for spec in DEMO_SOURCES]
    run = register_sources(catalog, sources, indexer)
    for error in run.errors:
        raise error
    note_indexed(indexer.home)


def _on_terminal(
    catalog: Catalog, gateway: GatewaySettings, indexer: IndexerSettings, counted: CatalogTokens, counter: TokenCounter
) -> list[RequestOutcome]:
    out = console()
    out.print(model_line(gateway), markup=False)
    listener = TerminalListener(out, len(DEMO_REQUESTS))
    outcomes = catalog.run(DemoRun(catalog.index, gateway, counted, listener, home=indexer.home).run(DEMO_REQUESTS))
    out.print()
    out.print(savings_table(outcomes, _total(outcomes), width=out.width))
    out.print(layout_line(counter, counted), markup=False)
    return outcomes


def _as_json(
    catalog: Catalog, gateway: GatewaySettings, indexer: IndexerSettings, counted: CatalogTokens, counter: TokenCounter
) -> list[RequestOutcome]:
    listener = SilentListener()
    outcomes = catalog.run(DemoRun(catalog.index, gateway, counted, listener, home=indexer.home).run(DEMO_REQUESTS))
    sys.stdout.write(document(listener, _total(outcomes), counted, gateway, counter) + "\n")
    return outcomes


def _total(outcomes: list[RequestOutcome]) -> Savings:
    return reduce(add, (outcome.savings for outcome in outcomes), _NOTHING)
